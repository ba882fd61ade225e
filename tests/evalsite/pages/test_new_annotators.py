"""What pages say of annotators whose votes are provisional."""

from dataclasses import replace

import pytest
from django.test import Client
from django.utils.translation import override

from evalsite.campaigns.models import Campaign
from evalsite.console.review import review_context
from evalsite.judgments.annotator_statistics import votes_median
from evalsite.judgments.models import Annotator, Exclusion
from evalsite.judgments.selectors import is_newcomer, progress_get
from evalsite.judgments.services import annotator_enrol
from tests.evalsite.cast import OPEN, CampaignMaker, judge, run_jobs
from tests.evalsite.pages.reading import Page, Visitor
from tests.shared import shared

VETTING = replace(OPEN, vetting_votes=6, batch_size=3)
TOLD = "Your answers count on the board once you have given 6"


@shared
def open_campaign(make_campaign: CampaignMaker) -> Campaign:
    return make_campaign(design=VETTING)


def words(client: Client, url: str, **extra: str) -> str:
    return Page(client.get(url, **extra)).words  # type: ignore[arg-type]


def test_strangers_read_when_their_answers_count(open_campaign: Campaign, stranger: Client) -> None:
    assert TOLD in words(stranger, "/judge/trial/")
    german = words(stranger, "/judge/trial/", HTTP_ACCEPT_LANGUAGE="de")
    assert "zählen auf dem Board, sobald es 6 sind" in german


def test_members_read_nothing_of_vetting(open_campaign: Campaign, owner: Client) -> None:
    assert TOLD not in words(owner, "/judge/trial/")


@pytest.mark.usefixtures("campaign")
def test_nothing_is_said_where_every_answer_counts(stranger: Client) -> None:
    assert "no check speaks against" not in words(stranger, "/judge/trial/")


def test_round_ends_with_the_rule_for_newcomers(open_campaign: Campaign, stranger: Client) -> None:
    visitor = Visitor(stranger, "/judge/trial/")
    visitor.begin()
    for _ in range(3):
        visitor.answer("A")
    assert TOLD in visitor.page.words
    assert "yours are added" not in visitor.page.words


def test_method_page_has_the_rule_and_the_count(open_campaign: Campaign, stranger: Client) -> None:
    first, second = (annotator_enrol(campaign=open_campaign) for _ in range(2))
    judge(open_campaign, first, blocks=2)
    judge(open_campaign, second)
    run_jobs()
    text = words(stranger, "/boards/trial/method/")
    assert "votes of a new annotator are provisional" in text
    assert "Provisional: by new annotators −3" in text
    assert "Counted 6" in text


def test_owner_sees_and_admits_a_new_annotator(open_campaign: Campaign, owner: Client) -> None:
    newcomer = annotator_enrol(campaign=open_campaign)
    judge(open_campaign, newcomer)
    assert progress_get(campaign=open_campaign, annotator=newcomer).provisional
    seen = words(owner, "/console/trial/annotators/")
    assert "new: votes do not count yet" in seen
    assert "Admit" in seen
    given = {"annotator": str(newcomer.public_id), "reason": "a colleague"}
    owner.post("/console/trial/act/readmit/", given)
    assert not is_newcomer(campaign=open_campaign, annotator=newcomer)
    assert Exclusion.objects.get(lifted=True).provisional


@pytest.mark.parametrize(("quota", "warned"), [(5, True), (6, False), (None, False)])
def test_review_warns_if_nobody_can_be_vetted(make_campaign: CampaignMaker, quota: int | None, warned: bool) -> None:
    campaign = make_campaign(design=replace(VETTING, quota=quota), start=False)
    notes = review_context(campaign)["notes"]
    assert any("No vote of a new annotator would count" in note for note in notes) is warned


def test_owner_is_warned_of_annotators_with_few_votes(open_campaign: Campaign, owner: Client) -> None:
    note = "Half of the annotators gave 3 votes or fewer"
    assert votes_median(open_campaign) is None
    people = [annotator_enrol(campaign=open_campaign) for _ in range(3)]
    for annotator, blocks in zip(people, (1, 1, 2), strict=True):
        judge(open_campaign, annotator, blocks=blocks)
    assert votes_median(open_campaign) == 3
    assert note in words(owner, "/console/trial/annotators/")
    with override("de"):
        assert "Die Hälfte der Bewertenden gab höchstens 3 Stimmen ab" in review_context(open_campaign)["notes"][0]
    Campaign.objects.update(vetting_votes=3)
    assert note not in words(owner, "/console/trial/annotators/")
    assert Annotator.objects.filter(enrolments__campaign=open_campaign).count() == 3
