"""An annotator who judges honestly but always prefers one chatbot is proposed for exclusion, or excluded."""

from dataclasses import replace

import pytest

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.plans import PlanOptions
from evalsite.campaigns.services import refit_request
from evalsite.core.reasons import reason_text
from evalsite.judgments.models import Annotator, Assignment, Exclusion
from evalsite.judgments.services import annotator_enrol
from tests.evalsite.cast import OPEN, CampaignMaker, by_number, judge_as, run_only_refits
from tests.shared import shared

PLAN = PlanOptions(overlap_share=1.0, overlap_votes=6)
DESIGN = replace(OPEN, batch_size=1000, block_size=12, target_se=None, plan=PLAN)
HONEST, COALITION = 4, 2


def for_the_last(assignment: Assignment) -> str:
    """Prefer the chatbot that joined last, and judge all other pairs like everybody."""
    last = assignment.campaign.entrants.order_by("-pk")[0].pk
    places = [one.entrant_id for one in assignment.candidates.all()]
    return "AB"[places.index(last)] if last in places else by_number(assignment)


@shared
def coalition(make_campaign: CampaignMaker) -> tuple[Campaign, list[Annotator]]:
    """A campaign that waits for its first refit, and who prefer one chatbot in it."""
    campaign = make_campaign(design=DESIGN, chatbots=4, prompts=12)
    shills = [annotator_enrol(campaign=campaign) for _ in range(COALITION)]
    everybody = [(one, for_the_last) for one in shills]
    everybody += [(annotator_enrol(campaign=campaign), by_number) for _ in range(HONEST)]
    for _ in range(4):
        for annotator, choose in everybody:
            judge_as(campaign, annotator, choose)
    campaign.batches.filter(state="open").update(state="closed", closed_at=campaign.created_at)
    return campaign, shills


@pytest.mark.parametrize("screening", [Campaign.Screening.PROPOSE, Campaign.Screening.ACT])
def test_coalition_for_one_chatbot_is_found(
    coalition: tuple[Campaign, list[Annotator]], screening: Campaign.Screening
) -> None:
    campaign, shills = coalition
    Campaign.objects.update(screening=screening)
    refit_request(campaign)
    run_only_refits()
    facts = Exclusion.objects.filter(campaign=campaign, lifted=False)
    assert {fact.annotator_id for fact in facts} == {one.pk for one in shills}
    assert {fact.proposed for fact in facts} == {screening == Campaign.Screening.PROPOSE}
    assert {fact.evidence["preferred"] for fact in facts} == {"trial bot 3"}
    assert all("prefers trial bot 3 without looking" in reason_text(fact.reason, fact.reason_data) for fact in facts)


def against(assignment: Assignment) -> str:
    """Exchange A and B."""
    return {"A": "B", "B": "A"}.get(by_number(assignment), "tie")


@pytest.mark.full
def test_adversary_is_found_without_overlap(make_campaign: CampaignMaker) -> None:
    alone = replace(DESIGN, screening=Campaign.Screening.PROPOSE, plan=PlanOptions(overlap_share=0.0))
    campaign = make_campaign(design=alone, chatbots=4, prompts=40)
    adversary = annotator_enrol(campaign=campaign)
    everybody = [(adversary, against)] + [(annotator_enrol(campaign=campaign), by_number) for _ in range(4)]
    for _ in range(3):
        for annotator, choose in everybody:
            judge_as(campaign, annotator, choose)
    campaign.batches.filter(state="open").update(state="closed", closed_at=campaign.created_at)
    refit_request(campaign)
    run_only_refits()
    facts = Exclusion.objects.filter(campaign=campaign, lifted=False)
    assert {fact.annotator_id for fact in facts} == {adversary.pk}
    assert ["votes against the better reply" in reason_text(fact.reason, fact.reason_data) for fact in facts] == [True]
