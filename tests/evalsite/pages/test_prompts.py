"""A board's prompts for its readers: who may read them, what each of them tells."""

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.test import Client

from evalsite.accounts.models import User
from evalsite.boards.chart_data import DIFFERENCES
from evalsite.boards.models import Snapshot
from evalsite.boards.selectors import board_state_get
from evalsite.campaigns.models import Campaign
from evalsite.judgments.models import Annotator, Assignment
from evalsite.judgments.selectors import votes_counted
from evalsite.pages.prompts import FIGURES, PromptInput, prompt_input
from evalsite.prompts.models import Prompt
from evalsite.refits.models import Findings
from tests.evalsite.cast import judge, run_jobs
from tests.evalsite.pages.test_pages import HOSTILE, words
from tests.shared import shared


@shared
def shown(campaign: Campaign, bob: Annotator, dora: Annotator) -> Campaign:
    """The trial campaign after some judgments; its prompts may be read."""
    Campaign.objects.update(shows_prompts=True)
    for _ in range(3):
        judge(campaign, bob)
        judge(campaign, dora, "tie")
        run_jobs()
    campaign.refresh_from_db()
    return campaign


def asked(campaign: Campaign) -> Prompt:
    """A prompt that has been judged."""
    votes = votes_counted([campaign], campaign.default_board.aspect)
    return Prompt.objects.get(pk=votes[0].prompt)


def page(prompt: Prompt, what: str = "") -> str:
    return f"/boards/trial/prompts/{prompt.public_id}/{what}"


def material(campaign: Campaign) -> PromptInput:
    return prompt_input(board_state_get(campaign.default_board), "trial", asked(campaign).public_id)


def test_readers_see_prompts_only_where_the_campaign_shows_them_and_its_members_always(
    shown: Campaign, alice: User, charlie: User, stranger: Client
) -> None:
    prompt = asked(shown)
    paths = ["/boards/trial/prompts/", page(prompt), page(prompt, "meetings.csv"), page(prompt, "information.json")]
    assert [stranger.get(path).status_code for path in paths] == [200] * 4
    assert b"/boards/trial/prompts/" in stranger.get("/boards/trial/").content
    Campaign.objects.update(shows_prompts=False)
    assert [stranger.get(path).status_code for path in paths] == [404] * 4
    assert b"/boards/trial/prompts/" not in stranger.get("/boards/trial/").content
    stranger.force_login(charlie)
    assert stranger.get(paths[1]).status_code == 404
    stranger.force_login(alice)
    assert [stranger.get(path).status_code for path in paths] == [200] * 4
    Campaign.objects.update(shows_prompts=True, visibility="private")
    stranger.force_login(charlie)
    assert [stranger.get(path).status_code for path in paths] == [404] * 4


def test_it_tells_discrimination_with_its_interval_exposure_and_text(shown: Campaign, stranger: Client) -> None:
    prompt = asked(shown)
    text = words(stranger.get(page(prompt)))
    found = next(one for one in Findings.objects.get().prompts if one["prompt"] == prompt.pk)
    assert prompt.turns is not None
    assert prompt.turns[0]["text"] in text
    assert f"Discrimination {found['discrimination']:.2f}" in text
    share = 100 * found["judgments"] / sum(one["judgments"] for one in Findings.objects.get().prompts)
    assert f"Judgments {found['judgments']} {share:.1f} % of all" in text


def test_information_falls_with_the_distance_and_marks_every_chatbot_where_it_stands(shown: Campaign) -> None:
    given = material(shown)
    assert len(given.information) == len(DIFFERENCES)
    assert given.information[0] > given.information[-1] > 0
    assert given.told(-1.1) == given.told(1.1)
    assert given.told(99.0) == given.information[-1]
    between = sorted([given.information[4], given.information[5]])
    assert between[0] <= given.told((DIFFERENCES[4] + DIFFERENCES[5]) / 2) <= between[1]
    figure = FIGURES["information"](given)
    rows = Snapshot.objects.latest().rows
    assert {row[0]: row[2] for row in figure.table.rows} == {row["name"]: row["ability"] for row in rows}
    marks = {mark.name: mark.x for mark in figure.drawing.marks}
    assert sorted(marks, key=lambda name: -marks[name]) == [row["name"] for row in rows]


def test_labels_of_crowded_chatbots_overlap_nothing_on_a_phone(shown: Campaign) -> None:
    given = material(shown)
    abilities = [-2.5, -1.4, -1.35, -0.2, 0.0, 0.05, 0.1, 0.15, 0.9, 1.1, 1.6, 2.6]
    rows: Any = [
        {"name": f"chatbot {at}", "rank": len(abilities) - at, "ability": ability, "group": 1}
        for at, ability in enumerate(abilities)
    ]
    marks = FIGURES["information"](replace(given, rows=rows)).drawing.marks
    labelled = [mark for mark in marks if mark.label]
    tops = [mark.y + 8 if mark.below else mark.y - 21 for mark in labelled]
    widths = [0.021 * 343 * len(mark.label) for mark in labelled]
    labels = [
        (3.43 * mark.x - width / 2, 3.43 * mark.x + width / 2, top, top + 14)
        for mark, top, width in zip(labelled, tops, widths, strict=True)
    ]
    points = [(3.43 * mark.x - 4.5, 3.43 * mark.x + 4.5, mark.y - 4.5, mark.y + 4.5) for mark in marks]
    for label in labels:
        assert 0 <= label[0] < label[1] <= 343
        for other in [*labels, *points]:
            apart = label[1] <= other[0] or other[1] <= label[0] or label[3] <= other[2] or other[3] <= label[2]
            assert apart or other is label
    assert len(labelled) >= 8
    assert {mark.below for mark in labelled} == {False, True}
    assert {mark.label.startswith("chatbot") for mark in labelled} == {False, True}


def test_the_pairs_on_it_add_up_to_its_votes(shown: Campaign, stranger: Client) -> None:
    prompt = asked(shown)
    rows = list(csv.DictReader(io.StringIO(stranger.get(page(prompt, "meetings.csv")).content.decode())))
    votes = votes_counted([shown], shown.default_board.aspect, prompt=prompt.pk)
    assert votes
    assert {vote.prompt for vote in votes} == {prompt.pk}
    assert sum(int(row["won"]) + int(row["tied"]) + int(row["lost"]) for row in rows) == len(votes)
    names = [row["name"] for row in Snapshot.objects.latest().rows]
    assert all(names.index(row["higher"]) < names.index(row["lower"]) for row in rows)


def test_prompts_that_say_the_same_are_named_with_links(shown: Campaign, stranger: Client) -> None:
    one, other = Prompt.objects.order_by("pk")[:2]
    found = Findings.objects.get()
    found.prompts = [{**each, "like": [other.pk] if each["prompt"] == one.pk else []} for each in found.prompts]
    found.save()
    body = stranger.get(page(one)).content.decode()
    assert page(other) in body[body.index("Redundant prompts") :]


def test_a_prompt_that_nobody_has_judged_and_one_of_another_set(
    shown: Campaign, stranger: Client, make_campaign: Callable[..., Campaign]
) -> None:
    Findings.objects.update(prompts=[])
    text = words(stranger.get(page(asked(shown))))
    assert "not known yet" in text
    assert "appears with the first update of the board" in text
    other = make_campaign(slug="other", start=False).prompt_set.prompts.all()[0]
    assert stranger.get(page(other)).status_code == 404
    assert stranger.get(page(asked(shown), "pie.csv")).status_code == 404


def test_the_list_puts_those_first_that_tell_most(shown: Campaign, stranger: Client) -> None:
    text = words(stranger.get("/boards/trial/prompts/"))
    found = {one["prompt"]: one["discrimination"] for one in Findings.objects.get().prompts}
    order = sorted(Prompt.objects.filter(pk__in=found), key=lambda prompt: -found[prompt.pk])
    places = [text.index(f" {prompt.key} ") for prompt in order]
    assert places == sorted(places)
    for start in ("1", "3", "999", "x", "0"):
        assert stranger.get("/boards/trial/prompts/", {"from": start}).status_code == 200


def test_a_chatbots_page_leads_to_where_it_wins_and_loses(shown: Campaign, stranger: Client) -> None:
    for row in Snapshot.objects.latest().rows:
        body = stranger.get(f"/boards/trial/chatbots/{row['chatbot']}/").content.decode()
        won = round(row["win_rate"] * 2 * row["judgments"]) - row["judgments"]  # wins minus losses
        assert ("Prompts where it wins and loses" in body) is True
        assert won <= 0 or "<h3>Wins</h3>" in body
        assert won >= 0 or "<h3>Loses</h3>" in body
    Campaign.objects.update(shows_prompts=False)
    row = Snapshot.objects.latest().rows[0]
    assert b"where it wins" not in stranger.get(f"/boards/trial/chatbots/{row['chatbot']}/").content


def test_a_hostile_prompt_is_harmless(shown: Campaign, stranger: Client) -> None:
    hostile = Prompt.objects.create(
        prompt_set=shown.prompt_set,
        key=HOSTILE,
        category=HOSTILE[:90],
        turns=[{"speaker": "user", "text": HOSTILE * 2000}],
        origin="authored",
    )
    for path in (page(hostile), "/boards/trial/prompts/"):
        body = stranger.get(path).content.decode()
        assert "<script>alert" not in body
        assert "<img src=x" not in body
        assert "\u202e" not in body


def test_its_pages_cost_a_bounded_number_of_queries(
    shown: Campaign, stranger: Client, django_assert_max_num_queries: Any
) -> None:
    new = [Prompt(prompt_set=shown.prompt_set, key=f"more {n}", turns=None, origin="import") for n in range(300)]
    Prompt.objects.bulk_create(new)
    assert Assignment.objects.exists()
    for path in ("/boards/trial/prompts/", page(asked(shown))):
        stranger.get(path)
        with django_assert_max_num_queries(16):
            response = stranger.get(path)
        assert len(response.content) < 60_000
