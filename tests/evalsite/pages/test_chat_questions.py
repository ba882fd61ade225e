"""Further questions about the replies of a turn on the chat page, as a browser without scripts gets them."""

from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from evalsite.accounts.models import Organisation
from evalsite.campaigns.models import Campaign
from evalsite.judgments.models import Answer, Judgment
from tests.evalsite.dialogues.steps import BEST, FINE, live_campaign_make
from tests.evalsite.dialogues.test_turn_questions import ERROR, FUN, WHOLE
from tests.evalsite.pages.test_chat import Guest, loopback, state
from tests.evalsite.pages.test_pages import HOSTILE, words
from tests.shared import shared

_ = loopback  # the fixture runs for each test of this module, too
GOOD = {"answer.error.A": "correct", "answer.error.B": "incorrect", "answer.fun.B": "5", "answer.turn": "1"}


@shared
def asking(organisation: Organisation) -> Campaign:
    return live_campaign_make(
        organisation=organisation, slug="asking", chatbots=2, aspects=(BEST, ERROR, FUN, WHOLE), minimum_turns=1
    )


@pytest.fixture
def guest(asking: Campaign, stranger: Client) -> Guest:
    guest = Guest(stranger, "asking")
    guest.act("begin", key="k")
    guest.turn()
    return guest


def test_each_reply_has_its_fields(guest: Guest) -> None:
    page = guest.page().content.decode()
    for name in ("answer.error.A", "answer.error.B", "answer.fun.A", "answer.fun.B", "answer.turn"):
        assert f'name="{name}"' in page
    assert page.count("data-of-selected") == 2
    assert "Is it correct?" in page


def test_answers_are_saved_with_the_selection(guest: Guest) -> None:
    assert state(guest.select("B", **GOOD)) == ""
    assert state(guest.page()) == "write"
    found = Answer.objects.order_by("pk").values_list("aspect__key", "candidate__position", "value")
    assert list(found) == [
        ("best", 1, "chosen"),
        ("error", 0, "correct"),
        ("error", 1, "incorrect"),
        ("fun", 1, "5"),
        ("turn", None, "1"),
    ]


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("answer.error.B", "Answer this question for reply B, too: Is it correct?"),
        ("answer.fun.B", "Answer this question for reply B, too: How engaging is it?"),
        ("answer.turn", "Answer this question, too: How did the turn go?"),
    ],
)
def test_missing_answer_is_named_and_the_others_stay(guest: Guest, missing: str, said: str) -> None:
    page = guest.select("B", **{name: value for name, value in GOOD.items() if name != missing})
    assert said in words(page)
    assert not Judgment.objects.exists()
    kept = page.content.decode()
    assert 'name="selected" value="B" aria-keyshortcuts="2" checked' in kept
    assert 'name="answer.error.A" value="correct" checked' in kept


def test_rating_of_a_reply_that_is_not_selected_is_not_taken(guest: Guest) -> None:
    guest.select("B", **GOOD, **{"answer.fun.A": "1"})
    assert Answer.objects.filter(aspect__key="fun").count() == 1


def test_forged_value_is_refused(guest: Guest) -> None:
    page = guest.select("B", **{**GOOD, "answer.turn": "3"})
    assert "is not a choice" in words(page)
    assert not Judgment.objects.exists()


def test_nothing_selected_still_needs_the_labels(organisation: Organisation, stranger: Client) -> None:
    live_campaign_make(
        organisation=organisation, slug="sata", chatbots=2, selection="sata", aspects=(FINE, ERROR), minimum_turns=1
    )
    guest = Guest(stranger, "sata")
    guest.act("begin", key="k")
    guest.turn()
    given = {"answer.error.A": "incorrect", "answer.error.B": "incorrect"}
    assert "You selected none of the replies." in words(guest.select(**given))
    assert "for reply A" in words(guest.select(none="yes"))
    guest.select(none="yes", **given)
    assert Judgment.objects.count() == 1


def test_hostile_question_is_text(organisation: Organisation, stranger: Client) -> None:
    hostile = replace(ERROR, question=HOSTILE[:200], labels=("<b>x</b>", "y"))
    live_campaign_make(organisation=organisation, slug="odd", chatbots=2, aspects=(BEST, hostile))
    guest = Guest(stranger, "odd")
    guest.act("begin", key="k")
    guest.turn()
    page: Any = guest.page().content.decode()
    assert "<script>alert" not in page
    assert "<b>x" not in page
