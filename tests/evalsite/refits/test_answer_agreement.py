"""Screening of annotators who label replies: who agrees with the others, and what the console says."""

from dataclasses import replace

from django.test import Client

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.judgments.models import Annotator, Assignment, Exclusion
from evalsite.judgments.services import annotator_enrol, judgment_record
from evalsite.refits.models import Findings
from tests.evalsite.cast import CampaignMaker, assignment_claim, run_jobs, run_only_refits
from tests.evalsite.single import LABELS, SINGLE, label_all
from tests.shared import shared

EVERY = replace(SINGLE, votes_per_item=4, batch_size=160, block_size=100)


def judged(campaign: Campaign, annotator: Annotator, *, careful: bool) -> None:
    """Label everything: the careful call a third of the replies incorrect, the others say the labels in turn."""
    block = assignment_claim(campaign=campaign, annotator=annotator, count=40)
    for number, one in enumerate(block):
        prompt = one.place.prompt_id
        label = ("incorrect" if prompt % 3 == 0 else "correct") if careful else ("correct", "incorrect")[number % 2]
        judgment_record(annotator=annotator, assignment_id=one.public_id, choices={"error": [label]}, client_ms=4000)


@shared
def labelled(make_campaign: CampaignMaker, alice: User) -> Campaign:
    """Three careful annotators and one who labels in turn, on 40 replies; no refit has seen them."""
    campaign = make_campaign(design=EVERY, organisation=alice.personal_organisation, chatbots=1, prompts=40)
    for number in range(4):
        judged(campaign, annotator_enrol(campaign=campaign), careful=number < 3)
    return campaign


@shared
def crowd(labelled: Campaign) -> Campaign:
    run_jobs()
    return labelled


def test_annotator_who_agrees_with_nobody_is_proposed_for_exclusion(crowd: Campaign) -> None:
    (proposal,) = Exclusion.objects.filter(campaign=crowd, proposed=True)
    assert proposal.annotator == Annotator.objects.order_by("pk").last()
    assert "kappa" in proposal.reason


def test_findings_hold_the_agreement_of_each_annotator(crowd: Campaign) -> None:
    found = Findings.objects.get(campaign=crowd).annotators
    assert [one["decision"] for one in found] == ["keep"] * 3 + ["exclude"]
    assert [one["shared"] for one in found] == [40] * 4
    assert min(one["agreement"] for one in found[:3]) > 0.5
    assert found[0]["seconds"] == 4.0


def test_console_shows_agreement_in_place_of_pairs(crowd: Campaign, owner: Client) -> None:
    page = owner.get(f"/console/{crowd.public_id}/annotators/").content.decode()
    assert "kappa" in page
    assert "Chose the first shown" not in page
    overview = owner.get(f"/console/{crowd.public_id}/").content.decode()
    assert "To the target" not in overview
    assert "Agreement (alpha)" in overview


def test_several_labels_of_a_reply_have_no_agreement(make_campaign: CampaignMaker, owner: Client) -> None:
    several = replace(LABELS, one_label=False)
    campaign = make_campaign(design=replace(SINGLE, aspects=(several,), votes_per_item=2), chatbots=1, prompts=2)
    for _ in range(2):
        label_all(campaign, annotator_enrol(campaign=campaign), "incorrect", blocks=1)
    assert Findings.objects.get(campaign=campaign).annotators == []
    page = owner.get(f"/console/{campaign.public_id}/annotators/").content.decode()
    assert "Agreement does not apply" in page


def test_replies_of_an_excluded_annotator_are_judged_again(labelled: Campaign) -> None:
    Campaign.objects.update(screening=Campaign.Screening.ACT)
    run_only_refits()
    labelled.refresh_from_db()
    excluded = Exclusion.objects.filter(campaign=labelled, lifted=False)
    assert [one.annotator for one in excluded] == [Annotator.objects.order_by("pk").last()]
    assert labelled.state == Campaign.State.RUNNING, "the replies of the excluded annotator are judged again"
    assert Assignment.objects.filter(campaign=labelled, state="queued").count() == 40
