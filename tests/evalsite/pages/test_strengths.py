"""A chatbot's page: strong and weak categories, and example conversations where the campaign releases them."""

import re
from typing import Any, cast

from django.test import Client
from django.utils import timezone

from evalsite.boards.models import Board, Refit, Slice, Snapshot
from evalsite.boards.rows import BoardRow
from evalsite.campaigns.models import Campaign
from evalsite.chatbots.models import Chatbot, Reply
from evalsite.judgments.models import Annotator
from evalsite.pages.strengths import apart
from evalsite.prompts.models import Prompt
from tests.evalsite.cast import judge, run_jobs
from tests.evalsite.pages.test_pages import HOSTILE, words
from tests.evalsite.presentation.test_ranking import publish, row
from tests.shared import shared


def fitted(board: Board, category: str, rows: list[BoardRow], *, judgments: int = 90) -> None:
    """The category's own board, as the worker leaves it."""
    own = Board.objects.create(
        organisation=board.organisation, name=category, slug=f"own-{category[:20]}", aspect=board.aspect
    )
    Slice.objects.create(board=board, by="category", value=category, own=own, judgments=judgments, chatbots=len(rows))
    for number, shown in enumerate(([row("Bee", 1)], rows), start=1):
        refitted(own, shown, number=number, judgments=judgments)


def refitted(own: Board, rows: list[BoardRow], *, number: int, judgments: int) -> None:
    more: dict[str, Any] = {"engine": "test", "seed": 1, "annotators": 3, "converged": True, "seconds": 0.1}
    snapshot = Snapshot.objects.create(
        board=own, number=number, input_sha256=str(number), judgments=judgments, rows=rows, posterior=b"", **more
    )
    Refit.objects.create(board=own, outcome=Refit.Outcome.PUBLISHED, snapshot=snapshot, started_at=timezone.now())


def bee(ability: float, se: float, **changes: Any) -> BoardRow:
    given = row("Bee", 1, ability=ability, se=se, lower=ability - 2 * se, upper=ability + 2 * se)
    return cast("BoardRow", given | changes)


@shared
def page(campaign: Campaign) -> str:
    """The address of Bee's page on a board with three categories."""
    standing = publish(campaign, [bee(1.0, 0.1), row("Ant", 2)])
    fitted(standing.board, "poems", [bee(2.0, 0.2), row("Ant", 2)])
    fitted(standing.board, "sums", [row("Ant", 2), bee(-0.5, 0.3, rank=2, rank_lower=1, rank_upper=2)])
    fitted(standing.board, "chat", [bee(1.1, 0.2), row("Ant", 2)])
    fitted(standing.board, "without it", [row("Ant", 1)])
    fitted(standing.board, "too few", [bee(9.0, 0.1)], judgments=29)
    return f"/boards/trial/chatbots/{standing.snapshot.rows[0]['chatbot']}/"  # type: ignore[union-attr]


def test_categories_stand_strongest_first_with_rank_interval_and_judgments(page: str, stranger: Client) -> None:
    text = words(stranger.get(page))
    assert "Stronger than on the whole board in poems. Weaker than on the whole board in sums." in text
    table = text[text.index("Strong and weak categories") : text.index("Each category is fitted by itself")]
    names = re.findall(r"(poems|chat|sums) \d", table)
    assert names == ["poems", "chat", "sums"]
    assert "poems 1 of 2 +2.00 +1.60 to +2.40 stronger 100" in table
    assert "chat 1 of 2 +1.10 +0.70 to +1.50 not told apart 100" in table
    assert "sums 2 (1–2) of 2 −0.50 −1.10 to +0.10 weaker 100" in table
    assert "without it" not in table
    assert "too few" not in table


def test_a_category_leads_to_the_board_of_it(page: str, stranger: Client) -> None:
    assert 'href="/boards/trial/?category=poems"' in stranger.get(page).content.decode()


def test_a_fit_of_a_category_that_came_later_is_seen(page: str, campaign: Campaign, stranger: Client) -> None:
    stranger.get(page)
    fitted(Board.objects.get(slug="trial"), "letters", [bee(3.0, 0.2), row("Ant", 2)])
    assert "letters 1 of 2 +3.00" in words(stranger.get(page))


def test_a_later_fit_of_as_many_judgments_is_seen_too(page: str, owner: Client) -> None:
    assert "poems 1 of 2 +2.00" in words(owner.get(page))
    refitted(Board.objects.get(slug="own-poems"), [bee(2.5, 0.2), row("Ant", 2)], number=3, judgments=90)
    assert "poems 1 of 2 +2.50" in words(owner.get(page))


def test_a_board_without_categories_says_nothing_of_them(campaign: Campaign, stranger: Client) -> None:
    standing = publish(campaign, [bee(1.0, 0.1), row("Ant", 2)])
    assert standing.snapshot
    text = words(stranger.get(f"/boards/trial/chatbots/{standing.snapshot.rows[0]['chatbot']}/"))
    assert "Strong and weak categories" not in text


def test_only_a_difference_beyond_chance_among_so_many_categories_is_told() -> None:
    whole = bee(0.0, 0.1)
    assert apart(whole, bee(0.5, 0.2), categories=1) == 1, "2.9 standard errors"
    assert apart(whole, bee(0.5, 0.2), categories=60) == 0, "of sixty categories one is so far off by chance"
    assert apart(whole, bee(-0.9, 0.2), categories=60) == -1
    assert apart(whole, bee(0.5, 0.1), categories=1) == 0, "all its votes are the board's: nothing to compare"


def test_a_category_with_a_hostile_name_is_text(campaign: Campaign, stranger: Client) -> None:
    standing = publish(campaign, [bee(1.0, 0.1), row("Ant", 2)])
    fitted(standing.board, HOSTILE[:60], [bee(9.0, 0.2), row("Ant", 2)])
    assert standing.snapshot
    body = stranger.get(f"/boards/trial/chatbots/{standing.snapshot.rows[0]['chatbot']}/").content.decode()
    assert "<script>alert" not in body
    assert "<img src=x" not in body


@shared
def talked(campaign: Campaign, bob: Annotator, dora: Annotator) -> str:
    """The page of the chatbot that stands first after some judgments; nothing is released."""
    for choice in ("A", "B", "tie"):
        judge(campaign, bob, choice, blocks=2)
        judge(campaign, dora, choice)
    run_jobs()
    Campaign.objects.update(shows_prompts=True)
    return f"/boards/trial/chatbots/{Snapshot.objects.latest().rows[0]['chatbot']}/"


def replies(page: str, client: Client) -> list[str]:
    return re.findall(r"Bot \d on p\d\.", words(client.get(page)))


def test_replies_are_shown_where_the_campaign_releases_them_and_prompts_may_be_read(
    talked: str, stranger: Client
) -> None:
    assert replies(talked, stranger) == []
    Campaign.objects.update(shows_replies=True, state="stopped", stopped_at=timezone.now())
    shown = replies(talked, stranger)
    assert len(shown) == len(set(shown)) == 3
    name = Snapshot.objects.latest().rows[0]["name"]
    assert {reply.split(" on ")[0] for reply in shown} == {f"Bot {name[-1]}"}, "its own replies, and no other's"
    text = words(stranger.get(talked))
    for prompt in (reply.split(" on p")[1][0] for reply in shown):
        assert f"Question {prompt}?" in text, "each below what was asked"
    Campaign.objects.update(shows_prompts=False)
    assert replies(talked, stranger) == []


def test_a_corrected_reply_is_shown_as_it_was_corrected_and_a_hostile_one_is_text(
    talked: str, stranger: Client
) -> None:
    Campaign.objects.update(shows_replies=True, state="stopped", stopped_at=timezone.now())
    bot = Chatbot.objects.get(public_id=talked.split("/")[-2])
    for reply in Reply.objects.filter(version__chatbot=bot):
        Reply.objects.create(
            version=reply.version,
            prompt=reply.prompt,
            revision=2,
            corrects=reply,
            text=HOSTILE,
            sha256="0",
            origin="file",
        )
    body = stranger.get(talked).content.decode()
    assert replies(talked, stranger) == []
    assert "&lt;script&gt;alert(1)" in body
    assert "<script>alert" not in body
    assert "<img src=x" not in body


def test_what_is_corrected_while_the_page_is_kept_is_public_no_more(talked: str, owner: Client) -> None:
    """For whoever is logged in at once; for anybody when the whole page is made anew, after a minute."""
    Campaign.objects.update(shows_replies=True, state="stopped", stopped_at=timezone.now())
    wrong, misasked, *_ = replies(talked, owner)
    reply = Reply.objects.get(text=wrong)
    given = {"version": reply.version, "prompt": reply.prompt, "revision": 2, "corrects": reply, "origin": "file"}
    Reply.objects.create(**given, text="As it should be.", sha256="0")
    assert wrong not in words(owner.get(talked))
    asked = Reply.objects.get(text=misasked).prompt
    assert asked.turns
    named = {"prompt_set": asked.prompt_set, "key": asked.key, "origin": asked.origin}
    Prompt.objects.create(**named, revision=2, corrects=asked, turns=[{"speaker": "user", "text": "Another?"}])
    text = words(owner.get(talked))
    assert misasked not in text
    assert asked.turns[0]["text"] not in text


def test_examples_of_a_running_campaign_wait_for_its_end(talked: str, stranger: Client) -> None:
    Campaign.objects.update(shows_replies=True)
    assert replies(talked, stranger) == []
    assert "appear here when the campaign has stopped" in words(stranger.get(talked))
    Campaign.objects.update(state="stopped", stopped_at=timezone.now())
    assert len(replies(talked, stranger)) == 3
    assert "when the campaign has stopped" not in words(stranger.get(talked))


def test_what_is_released_no_more_is_gone_at_once(talked: str, stranger: Client) -> None:
    Campaign.objects.update(shows_replies=True, state="stopped", stopped_at=timezone.now())
    assert replies(talked, stranger)
    Campaign.objects.update(shows_replies=False)
    assert replies(talked, stranger) == []
