"""Gold: placed by the campaign's share, never twice, like everything else to who judges, and unseen by the fit."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from evalsite.accounts.models import User
from evalsite.api.responses.assignments import BlockSerializer, JudgmentReceiptSerializer, block_of
from evalsite.boards.models import Board, Snapshot
from evalsite.campaigns.drafts import draft_prompt_set, draft_questions_set
from evalsite.campaigns.gold import NewGold, gold_add, gold_withdraw, similar_key
from evalsite.campaigns.limits import Limits
from evalsite.campaigns.models import Campaign, GoldItem
from evalsite.campaigns.selectors import gold_in_use
from evalsite.campaigns.services import (
    NewAspect,
    campaign_extend,
    campaign_start,
    campaign_stop,
    entrant_withdraw,
    prompt_retire,
)
from evalsite.chatbots.models import Reply
from evalsite.console.review import review_context
from evalsite.core.deletion_guard import deletion_permitted
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.judgments.leases import assignment_skip, assignments_return
from evalsite.judgments.models import Annotator, Answer, Assignment, Candidate, Judgment
from evalsite.judgments.queue import QueueLength
from evalsite.judgments.selectors import accounting, budget_left, progress_get
from evalsite.judgments.services import annotator_enrol, judgment_record
from evalsite.prompts.services import NewPrompt, prompt_set_create
from evalsite.refits.mapping import fit_input
from irt_engine import read_warm_start
from scheduler.estimator import estimate_with_warm_start
from tests.evalsite.cast import OPEN, CampaignMaker, assignment_claim, run_only_refits
from tests.shared import shared

ASKED = [{"speaker": "user", "text": "What is two and two?"}]
SHARE = replace(OPEN, gold_share=0.25, block_size=4, batch_size=60)


def of_texts(count: int) -> list[NewGold]:
    return [
        NewGold(f"gold {n}", ("A",), turns=[{"speaker": "user", "text": f"Known {n}?"}], texts=(f"Yes {n}", f"No {n}"))
        for n in range(count)
    ]


@shared
def checked(make_campaign: CampaignMaker) -> Campaign:
    campaign = make_campaign(design=SHARE, chatbots=4, prompts=12, start=False)
    gold_add(campaign=campaign, items=of_texts(8))
    return opened(campaign)


def opened(campaign: Campaign) -> Campaign:
    campaign_start(campaign=campaign)
    run_only_refits()
    campaign.refresh_from_db()
    return campaign


def answer(annotator: Annotator, block: Sequence[Assignment], choice: str = "A") -> None:
    for assignment in block:
        judgment_record(annotator=annotator, assignment_id=assignment.public_id, choices={"overall": choice})


def blocks(campaign: Campaign, annotator: Annotator, count: int) -> list[list[Assignment]]:
    claimed = []
    for _ in range(count):
        claimed.append(assignment_claim(campaign=campaign, annotator=annotator))
        answer(annotator, claimed[-1])
        run_only_refits()
    return claimed


@pytest.mark.database
def test_gold_share_is_exact_to_within_one_assignment(checked: Campaign) -> None:
    for annotator in [annotator_enrol(campaign=checked) for _ in range(2)]:
        given = [one.purpose == "gold" for block in blocks(checked, annotator, 4) for one in block]
        assert len(given) == 16
        for count in range(4, 17, 4):
            assert abs(sum(given[:count]) - 0.25 * count) <= 1


def test_who_claims_one_at_a_time_is_given_gold_by_the_share_too(checked: Campaign) -> None:
    annotator = annotator_enrol(campaign=checked)
    given = []
    for count in range(1, 17):
        (one,) = assignment_claim(campaign=checked, annotator=annotator, count=1)
        answer(annotator, [one])
        run_only_refits()
        given.append(one.purpose == "gold")
        assert abs(sum(given) - 0.25 * count) <= 1
    assert 3 <= sum(given) <= 5


def test_empty_queue_gives_no_gold_to_single_claims(
    checked: Campaign,
) -> None:
    Campaign.objects.update(gold_share=0.5)
    Assignment.objects.filter(state="queued").delete()
    for annotator in [annotator_enrol(campaign=checked) for _ in range(8)]:
        assert assignment_claim(campaign=checked, annotator=annotator, count=1) == []


def test_gold_with_a_withdrawn_reply_frees_its_seat_for_an_item(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=replace(SHARE, gold_share=0.5), chatbots=3, prompts=6, start=False)
    (item,) = gold_add(campaign=campaign, items=[of_chatbots(campaign)])
    assert item.entrant_a is not None
    with deletion_permitted():
        Reply.objects.filter(prompt=item.prompt, version=item.entrant_a.version).delete()
    annotator = annotator_enrol(campaign=opened(campaign))
    for _ in range(4):
        claimed = assignment_claim(campaign=campaign, annotator=annotator, count=1)
        assert [one.purpose != "gold" for one in claimed] == [True]
        answer(annotator, claimed)


def test_the_place_of_gold_in_a_block_and_the_side_of_its_replies_are_drawn_each_time(checked: Campaign) -> None:
    places = set()
    for annotator in [annotator_enrol(campaign=checked) for _ in range(7)]:
        for block in blocks(checked, annotator, 2):
            places |= {position for position, one in enumerate(block) if one.purpose == "gold"}
    assert len(places) >= 3
    first = Candidate.objects.filter(position=0).exclude(gold_side="")
    assert set(first.values_list("gold_side", flat=True)) == {"A", "B"}


@pytest.mark.database
def test_annotator_never_gets_the_same_gold_twice(checked: Campaign, bob: Annotator) -> None:
    for _ in range(10):
        assignment_claim(campaign=checked, annotator=bob)
        assignments_return(campaign=checked, annotator=bob)
        run_only_refits()
    shown = list(Assignment.objects.filter(annotator=bob, purpose="gold").values_list("gold", flat=True))
    assert len(shown) == len(set(shown)) >= 3


@shared
def bob(checked: Campaign) -> Annotator:
    return annotator_enrol(campaign=checked)


def test_to_who_judges_gold_has_the_shape_of_all_the_others(checked: Campaign, bob: Annotator) -> None:
    shapes, keys = set(), set()
    for block in blocks(checked, bob, 3):
        assert len({one.issued_at for one in block}) == len({one.lease_until for one in block}) == 1
        answer = BlockSerializer.render(block_of(block, checked))
        for one, seen in zip(block, answer["assignments"], strict=True):
            shapes.add((tuple(seen), tuple(seen["context"]), tuple(map(tuple, seen["candidates"])), len(seen["id"])))
            keys.add((one.purpose, seen["context"]["category"], seen["context"]["prompt"][0]))
    assert len(shapes) == 1
    assert {(category, first) for _, category, first in keys} == {("general", "p")}
    assert {purpose for purpose, _, _ in keys} >= {"gold", "measure"}


def test_judging_page_and_response_do_not_reveal_gold(checked: Campaign) -> None:
    client = Client()
    client.post(f"/judge/{checked.slug}/begin/", follow=True)
    annotator = Annotator.objects.latest("pk")
    gold_seen = False
    for _ in range(4):
        for one in assignment_claim(campaign=checked, annotator=annotator):
            page = client.get(f"/judge/{checked.slug}/").content.decode()
            current = Assignment.objects.filter(annotator=annotator, state="issued").order_by("block_position")[0]
            gold_seen |= current.purpose == "gold"
            assert all(text in page for text in [candidate.text or "?" for candidate in current.candidates.all()])
            assert "gold" not in page.lower()
            recorded = judgment_record(
                annotator=annotator, assignment_id=current.public_id, choices={"overall": "tie"}
            ).judgment
            receipt = JudgmentReceiptSerializer.render(recorded)
            assert set(receipt) == {"judgment", "supersedes", "late", "counts", "paid", "answered_at"}
            assert (receipt["late"], receipt["counts"], receipt["paid"]) == (False, True, False)
            assert one.block
        run_only_refits()
    assert gold_seen


def test_gold_is_a_fact_that_is_paid_and_no_fit_or_budget_counts(checked: Campaign, bob: Annotator) -> None:
    Campaign.objects.update(pay_rate="0.1", batch_size=6)
    checked.refresh_from_db()
    checked.stopping.budget = 100
    checked.stopping.save()
    blocks(checked, bob, 4)
    gold = Judgment.objects.filter(assignment__purpose="gold")
    assert gold.count() == 4
    assert str(progress_get(campaign=checked, annotator=bob).pay["USD"]) == "1.6000"
    assert budget_left(checked) == 100 - 12
    votes = fit_input(Board.objects.get(default_of=checked)).votes
    assert len(votes) == 12
    found = accounting([checked])
    assert (found.recorded, found.checks + found.waiting, found.counted) == (16, 4, 12)


def test_what_ends_unanswered_is_not_asked_of_others(checked: Campaign, bob: Annotator) -> None:
    block = assignment_claim(campaign=checked, annotator=bob)
    gold = [one for one in block if one.purpose == "gold"] or blocks_until_gold(checked, bob)
    assignment_skip(annotator=bob, assignment_id=gold[0].public_id, reason="broken")
    assert not Assignment.objects.filter(purpose="gold", state="queued").exists()
    run_only_refits()
    assert not Assignment.objects.filter(purpose="gold", state="queued").exists()


def blocks_until_gold(campaign: Campaign, annotator: Annotator) -> list[Assignment]:
    while True:
        answer(annotator, list(Assignment.objects.filter(annotator=annotator, state="issued")))
        run_only_refits()
        gold = [one for one in assignment_claim(campaign=campaign, annotator=annotator) if one.purpose == "gold"]
        if gold:
            return gold


def of_chatbots(campaign: Campaign, **more: object) -> NewGold:
    return NewGold(
        "pair",
        ("B", "tie"),
        prompt="p3",
        chatbots=(f"{campaign.slug} bot 2", f"{campaign.slug} bot 0"),
        **more,  # type: ignore[arg-type]
    )


def test_gold_pair_shows_replies_and_is_not_a_ranking_item(
    make_campaign: CampaignMaker,
) -> None:
    campaign = make_campaign(design=replace(SHARE, gold_share=0.5), chatbots=3, prompts=6, start=False)
    gold_add(campaign=campaign, items=[of_chatbots(campaign)])
    annotator = annotator_enrol(campaign=opened(campaign))
    blocks(campaign, annotator, 6)
    gold = Assignment.objects.get(purpose="gold")
    sides = {one.gold_side: (one.entrant.name if one.entrant else "", one.text) for one in gold.candidates.all()}
    assert sides == {"A": ("trial bot 2", "Bot 2 on p3."), "B": ("trial bot 0", "Bot 0 on p3.")}
    assert Assignment.objects.filter(annotator=annotator, item=gold.item).count() == 1


def test_withdrawn_or_retired_gold_is_not_shown(
    make_campaign: CampaignMaker,
) -> None:
    campaign = make_campaign(design=replace(SHARE, gold_share=0.5), chatbots=3, prompts=6, start=False)
    known = NewGold("known prompt", ("A",), prompt="p1", texts=("Good", "Bad"))
    text, pair, retired = gold_add(campaign=campaign, items=[*of_texts(1), of_chatbots(campaign), known])
    opened(campaign)
    gold_withdraw(campaign=campaign, item=text, reason="its answer is wrong")
    entrant_withdraw(campaign=campaign, entrant=campaign.entrants.all()[0], reason="gone")
    prompt_retire(campaign=campaign, prompt=retired.prompt, reason="a wrong premise")
    run_only_refits()
    assert list(gold_in_use(campaign)) == [pair, retired]
    blocks(campaign, annotator_enrol(campaign=campaign), 3)
    assert not Assignment.objects.filter(purpose="gold").exists()
    with pytest.raises(Conflict):
        gold_withdraw(campaign=campaign, item=text, reason="again")


def test_stopped_campaign_refuses_gold_until_it_resumes(checked: Campaign) -> None:
    more = [replace(one, key=f"more {one.key}") for one in of_texts(2)]
    campaign_stop(campaign=checked, reason="enough")
    with pytest.raises(Conflict) as refused:
        gold_add(campaign=checked, items=more)
    assert (refused.value.code, refused.value.status) == ("stopped", 409)
    assert refused.value.hint
    assert GoldItem.objects.count() == 8
    campaign_extend(campaign=checked, limits=Limits(budget=500))
    assert len(gold_add(campaign=checked, items=more)) == 2


def test_a_share_without_gold_does_not_start(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=SHARE, start=False)
    with pytest.raises(Conflict, match="no gold items"):
        campaign_start(campaign=campaign)


def test_gold_unusable_for_a_changed_question_blocks_the_start(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=SHARE, start=False)
    tie, either = (replace(one, right=right) for one, right in zip(of_texts(2), [("tie",), ("A", "B")], strict=True))
    rows = gold_add(campaign=campaign, items=[replace(tie, key="even"), either])
    draft_questions_set(
        campaign=campaign, aspect=NewAspect("overall", "Which one?", allow_tie=False, allow_both_bad=False)
    )
    for row in rows:
        said = f"Gold item '{row.key}' is passed by no answer to the question, or by every one."
        assert said.replace("'", "") in [text for _, text in review_context(campaign)["missing"]]
        with pytest.raises(Conflict) as caught:
            campaign_start(campaign=campaign)
        assert caught.value.message == said
        gold_withdraw(campaign=campaign, item=row, reason="for another question")
    gold_add(campaign=campaign, items=[replace(tie, key="anew", right=("A",))])
    assert review_context(campaign)["ready"]
    campaign_start(campaign=campaign)


def test_gold_on_prompts_of_the_old_set_blocks_the_start(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=SHARE, prompts=2, start=False)
    gold_add(campaign=campaign, items=[NewGold("known prompt", ("A",), prompt="p1", texts=("Yes", "No")), *of_texts(1)])
    asked = [NewPrompt("q1", ASKED)]
    others = prompt_set_create(organisation=campaign.organisation, name="Others", prompts=asked)
    draft_prompt_set(campaign=campaign, prompt_set=others)
    said = "Gold item known prompt is on a prompt that the campaign does not have."
    assert [text for _, text in review_context(campaign)["missing"]] == [said]
    with pytest.raises(Conflict, match="Gold item 'known prompt' is on a prompt"):
        campaign_start(campaign=campaign)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"right": ("C",)}, "right must be of"),
        ({"right": ()}, "right must be of"),
        ({"right": ("A", "tie", "B", "both_bad")}, "every answer would pass"),
        ({"texts": ("same", "same")}, "both replies are the same"),
        ({"texts": ("one", " ")}, "a reply has 1 to"),
        ({"turns": None}, "needs a prompt_id"),
        ({"turns": None, "prompt": "p99"}, "has no prompt 'p99'"),
        ({"texts": None}, "needs reply_a and reply_b"),
        ({"texts": None, "chatbots": ("trial bot 0", "nobody")}, "no chatbot 'nobody'"),
        ({"texts": None, "chatbots": ("trial bot 0", "trial bot 0")}, "both chatbots are the same"),
        ({"texts": None, "chatbots": ("trial bot 0", "trial bot 1")}, "give a prompt_id"),
    ],
)
def test_what_cannot_be_gold_is_refused_and_nothing_is_kept(
    make_campaign: CampaignMaker, wrong: dict[str, object], said: str
) -> None:
    campaign = make_campaign(chatbots=2, prompts=2, start=False)
    good = of_texts(1)[0]
    bad = replace(NewGold("bad", ("A",), turns=ASKED, texts=("Four", "Five")), **wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=said):
        gold_add(campaign=campaign, items=[good, bad])
    assert not GoldItem.objects.exists()


def test_gold_cannot_be_changed(checked: Campaign, alice: User) -> None:
    with pytest.raises(IntegrityError, match="immutable"), transaction.atomic():
        GoldItem.objects.update(explanation="better")
    with pytest.raises(InvalidInput, match="id already"):
        gold_add(campaign=checked, items=of_texts(1), by=alice)


def test_gold_changes_neither_refit_times_nor_the_board(
    make_campaign: CampaignMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same is judged in two campaigns, refit after refit, and one of them has gold beside it."""
    # Everything waits in both: their plans draw by seeds of their own, and need not begin with the same comparisons.
    monkeypatch.setattr("evalsite.refits.refit.queue_length", lambda *_: QueueLength(1000, 1000))
    with_gold, without = (
        make_campaign(slug=slug, design=replace(OPEN, batch_size=6, block_size=8, gold_share=0.5 if gold else 0.0),
                      chatbots=3, prompts=10, start=False)
        for slug, gold in (("gilded", True), ("plain", False))
    )  # fmt: skip
    gold_add(campaign=with_gold, items=of_texts(20))
    gilded, plain = opened(with_gold), opened(without)
    people = [(annotator_enrol(campaign=gilded), annotator_enrol(campaign=plain)) for _ in range(3)]
    for first, second in people:
        asked = assignment_claim(campaign=gilded, annotator=first)
        ranked = [one for one in asked if one.purpose != "gold"]
        assert len(ranked) < len(asked)
        for one in asked:
            answer(first, [one], "A" if one.purpose == "gold" else said(one))
        repeat(plain, second, ranked)
        run_only_refits()
    (first_numbers, numbers), (first_same, same) = board_numbers(gilded), board_numbers(plain)
    assert first_numbers == first_same, "refits came after the same judgments"
    assert len(numbers) >= 8
    assert numbers == pytest.approx(same, abs=1e-9), "but for the rounding that ids of other lengths bring"
    assert Judgment.objects.filter(assignment__purpose="gold").count() >= 8


@pytest.mark.full
def test_board_is_identical_without_gold(checked: Campaign) -> None:
    Campaign.objects.update(batch_size=6)
    for annotator in [annotator_enrol(campaign=checked) for _ in range(2)]:
        blocks(checked, annotator, 4)
    board = Board.objects.get(default_of=checked)
    before, last = board.snapshots.order_by("number")[board.snapshots.count() - 2 :]
    gold = Assignment.objects.filter(purpose="gold")
    assert gold.count() == 8
    with deletion_permitted():
        Answer.objects.filter(judgment__assignment__in=gold).delete()
        Judgment.objects.filter(assignment__in=gold).delete()
        Candidate.objects.filter(assignment__in=gold).delete()
    gold.delete()
    given = fit_input(board)
    assert given.sha256 == last.input_sha256
    again = estimate_with_warm_start(given.table(), read_warm_start(bytes(before.posterior)), given.seed)
    assert again.posterior.to_bytes(again.warm_start) == bytes(last.posterior)


def said(assignment: Assignment) -> str:
    first, second = assignment.candidates.all()
    return "A" if str(first.text) < str(second.text) else "B"


def repeat(campaign: Campaign, annotator: Annotator, blocks_rows: Sequence[Assignment]) -> None:
    """Judge in this campaign what was judged in the other: the same chatbots on the same sides, prompts, order."""
    for row in blocks_rows:
        sides = [str(one.text) for one in row.candidates.all()]
        twin = twin_of(campaign, row)
        queued = Assignment.objects.filter(campaign=campaign, item=twin, state="queued").first()
        assert queued is not None, "in both, everything waits"
        now = row.issued_at
        queued.state, queued.annotator, queued.issued_at, queued.lease_until = "issued", annotator, now, row.lease_until
        queued.save()
        entrants = {f"Bot {number} on": one for number, one in enumerate(campaign.entrants.order_by("pk"))}
        for position, text in enumerate(sides):
            entrant = next(one for start, one in entrants.items() if text.startswith(start))
            prompt = campaign.prompt_set.prompts.get(key=row.place.prompt.key)
            reply = entrant.version.replies.get(prompt=prompt)
            Candidate.objects.create(assignment=queued, position=position, entrant=entrant, reply=reply)
        judgment_record(annotator=annotator, assignment_id=queued.public_id, choices={"overall": said(queued)})


def twin_of(campaign: Campaign, row: Assignment) -> str:
    prompt, pair = row.item.split(":")
    there = list(row.campaign.entrants.order_by("pk").values_list("pk", flat=True))
    here = list(campaign.entrants.order_by("pk").values_list("pk", flat=True))
    key = row.campaign.prompt_set.prompts.get(pk=prompt).key
    entrants = "-".join(str(here[there.index(int(one))]) for one in pair.split("-"))
    return f"{campaign.prompt_set.prompts.get(key=key).pk}:{entrants}"


def board_numbers(campaign: Campaign) -> tuple[list[int], list[float]]:
    """Of all snapshots: of how many judgments each is, and every ability and SE."""
    found = Snapshot.objects.filter(board__default_of=campaign).order_by("number")
    rows = [row for one in found for row in sorted(one.rows, key=lambda row: str(row["name"])[-1])]
    return [one.judgments for one in found], [number for row in rows for number in (row["ability"], row["se"])]


def test_a_key_looks_like_the_others_and_is_none_of_them() -> None:
    keys = [f"mt-{n:03}" for n in range(900)]
    made = {similar_key(keys, set(keys), random.Random(seed)) for seed in range(20)}
    assert all(key.startswith("mt-") and len(key) == 6 for key in made)
    assert not made & set(keys)
    words = similar_key(["kindness", "poetry"], {"kindness", "poetry"}, random.Random(1))
    assert words.isalpha()
    assert len(words) in {6, 8}
    assert similar_key([], {"p000"}, random.Random(1)) != "p000"
