"""Times of votes and results of gold reach the screening, although no comparison is judged twice."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import cycle
from typing import Any

import pytest

from evalsite.campaigns.gold import NewGold, gold_add
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.plans import PlanOptions
from evalsite.campaigns.services import campaign_start, refit_request
from evalsite.core.reasons import reason_text
from evalsite.judgments.models import Annotator, Assignment, Exclusion
from evalsite.judgments.services import annotator_enrol, judgment_record
from tests.evalsite.cast import OPEN, CampaignMaker, assignment_claim, by_number, run_only_refits
from tests.shared import shared

ALONE = replace(
    OPEN,
    gold_share=0.2,
    gold_mark=0.8,
    batch_size=1000,
    block_size=15,
    target_se=None,
    plan=PlanOptions(overlap_share=0.0),
)
GOLD = [
    NewGold(f"g{n}", ("A",), turns=[{"speaker": "user", "text": f"{n}?"}], texts=(f"Right {n}", f"Wrong {n}"))
    for n in range(10)
]
CAREFUL = 4
Choose = Callable[[Assignment], str]


def answer(assignment: Assignment, choose: Choose, *, passes: bool) -> str:
    """Return the choice on a comparison; gold is passed or failed."""
    if assignment.gold is None:
        return choose(assignment)
    labels = {candidate.gold_side: candidate.label for candidate in assignment.candidates.all()}
    return labels["A" if passes else "B"]


def judge_timed(campaign: Campaign, annotator: Annotator, choose: Choose, *, ms: int, passes: bool = True) -> None:
    for one in assignment_claim(campaign=campaign, annotator=annotator):
        choices = {"overall": answer(one, choose, passes=passes)}
        judgment_record(annotator=annotator, assignment_id=one.public_id, choices=choices, client_ms=ms)


def blindly() -> Choose:
    """Return a choice that is right every other time, as if a coin had fallen evenly."""
    right = cycle([True, False])
    return lambda assignment: by_number(assignment) if next(right) else {"A": "B", "B": "A"}[by_number(assignment)]


@shared
def judged(make_campaign: CampaignMaker) -> Campaign:
    campaign = make_campaign(design=ALONE, chatbots=4, prompts=60, start=False)
    gold_add(campaign=campaign, items=GOLD)
    campaign_start(campaign=campaign)
    run_only_refits()
    hasty, failing, *careful = [annotator_enrol(campaign=campaign) for _ in range(2 + CAREFUL)]
    for number in range(3):
        in_haste = number > 0
        judge_timed(campaign, hasty, blindly() if in_haste else by_number, ms=900 if in_haste else 20_000)
        judge_timed(campaign, failing, by_number, ms=20_000, passes=False)
        for annotator in careful:
            judge_timed(campaign, annotator, by_number, ms=20_000)
    campaign.batches.filter(state="open").update(state="closed", closed_at=campaign.created_at)
    refit_request(campaign)
    run_only_refits()
    return campaign


def flags(campaign: Campaign) -> Mapping[int, Any]:
    """Return the reasons and the evidence of proposals, by the place of the annotator in the order of joining."""
    place = {one.annotator_id: number for number, one in enumerate(campaign.enrolments.order_by("pk"))}
    facts = Exclusion.objects.filter(campaign=campaign, proposed=True, lifted=False)
    return {place[one.annotator_id or 0]: (reason_text(one.reason, one.reason_data), one.evidence) for one in facts}


@pytest.mark.full
def test_hasty_annotator_is_flagged_for_haste(judged: Campaign) -> None:
    reason, evidence = flags(judged)[0]
    assert "votes in haste" in reason
    assert evidence["careless_evidence"] > 2


def test_annotator_who_fails_gold_is_flagged_for_gold(judged: Campaign) -> None:
    reason, evidence = flags(judged)[1]
    assert f"passed 0 of {evidence['gold']} gold items" in reason
    assert evidence["gold"] >= 5


def test_careful_annotators_are_not_flagged(judged: Campaign) -> None:
    assert flags(judged).keys() == {0, 1}
