"""An annotator is noted about, paused and let go on; their pace is drawn; and each of these acts stands in the log."""

import pytest
from django.test import Client

from evalsite.campaigns.models import Campaign
from evalsite.console.tables import sparkline
from evalsite.core.errors import InvalidInput
from evalsite.core.models import AuditEntry
from evalsite.judgments.annotator_actions import annotator_note
from evalsite.judgments.models import Annotator, AnnotatorNote, Enrolment
from evalsite.judgments.person_erasure import person_erase
from evalsite.judgments.services import judgment_record
from evalsite.refits.findings import pace
from evalsite.refits.models import Findings
from tests.evalsite.cast import assignment_claim
from tests.evalsite.pages.test_pages import HOSTILE, words

PAGE = "/console/trial/annotators/"


def act(owner: Client, name: str, annotator: Annotator, **more: str) -> int:
    answer = owner.post(f"/console/trial/act/{name}/", {"annotator": str(annotator.public_id), **more})
    return int(answer.status_code)


def test_a_paused_annotator_finishes_what_is_open_and_is_given_nothing_new(
    owner: Client, campaign: Campaign, bob: Annotator
) -> None:
    block = assignment_claim(campaign=campaign, annotator=bob)
    assert act(owner, "pause_annotator", bob, reason="on holiday") == 302
    assert " paused " in words(owner.get(PAGE))
    assert assignment_claim(campaign=campaign, annotator=bob) == block
    for one in block:
        judgment_record(annotator=bob, assignment_id=one.public_id, choices={"overall": "A"})
    assert assignment_claim(campaign=campaign, annotator=bob) == []
    assert act(owner, "pause_annotator", bob) == 409, "twice is once"
    assert act(owner, "resume_annotator", bob) == 302
    assert assignment_claim(campaign=campaign, annotator=bob)
    log = AuditEntry.objects.filter(target=str(bob.public_id)).order_by("pk")
    assert list(log.values_list("act", "reason")) == [("pause_annotator", "on holiday"), ("resume_annotator", "")]


def test_the_newest_note_stands_beside_its_annotator_and_is_erased_with_them(
    owner: Client, campaign: Campaign, bob: Annotator
) -> None:
    for text in ("asked about pay", HOSTILE):
        assert act(owner, "note", bob, reason=text) == 302
    page = owner.get(PAGE).content.decode()
    assert "asked about pay" not in page
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page
    person_erase(user=None, parts=Enrolment.objects.filter(annotator=bob))
    assert not AnnotatorNote.objects.exists()
    assert {entry.reason for entry in AuditEntry.objects.filter(act="note")} == {""}, "the log keeps no words of it"


@pytest.mark.parametrize("text", [" ", "x" * 501, "a\0b"])
def test_a_note_that_cannot_be_kept_is_refused(campaign: Campaign, bob: Annotator, text: str) -> None:
    with pytest.raises(InvalidInput):
        annotator_note(campaign=campaign, annotator=bob, text=text)
    assert not AuditEntry.objects.filter(act="note").exists()


def test_pace_is_drawn_from_the_first_judgments_to_the_last(owner: Client, campaign: Campaign, bob: Annotator) -> None:
    found = {"annotator": bob.pk, "decision": "keep", "reason": "", "seconds": 4.0, "pace": [9.0, 3.0, 1.0]}
    Findings.objects.create(campaign=campaign, annotators=[found], prompts=[])
    assert '<polyline points="0.0,1.0 30.0,10.3 60.0,13.4"/>' in owner.get(PAGE).content.decode()
    assert sparkline([3.0]) == sparkline([0.0, 0.0]) == ""


def test_pace_is_the_median_of_equal_parts() -> None:
    assert pace([9, 8, 100, 1, 2, 1]) == (9, 1)
    assert len(pace(range(100))) == 12
    assert pace([1.0] * 5) == ()
