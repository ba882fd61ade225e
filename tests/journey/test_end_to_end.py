"""A whole campaign without a browser: fifty annotators, seven of them bad, judge eight chatbots until it stops."""

import random
import uuid
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import pytest

from evalsite.adaptive.selectors import board_state_get, snapshot_current
from evalsite.api import presenters
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.plans import PlanOptions
from evalsite.demo.annotators import Kind, SimulatedAnnotator
from evalsite.demo.services import DESIGN, demonstration_load
from evalsite.demo.truth import QUALITY, Truth, load_prompts
from evalsite.judgments.models import Annotator, Exclusion, Judgment
from evalsite.judgments.selectors import progress_get, standings
from evalsite.judgments.services import annotator_enrol, assignment_claim, judgment_record
from tests.evalsite.cast import run_jobs

RATE = Decimal("0.05")
CROWD = [Kind.CARELESS] * 5 + [Kind.ADVERSARIAL] * 2 + [Kind.CAREFUL] * 43
SEED = 3

People = dict[Annotator, SimulatedAnnotator]


@pytest.fixture
def campaign(db: None) -> Campaign:
    """The demonstration, with every item for three annotators and exclusions by rule; its seeds are given."""
    design = replace(
        DESIGN,
        batch_size=500,
        batch_age_s=3600,
        block_size=20,
        target_se=0.15,
        screening=Campaign.Screening.ACT,
        plan=PlanOptions(target="precision", overlap_share=1.0, overlap_votes=3),
    )
    board = demonstration_load(design=design)
    Campaign.objects.update(pay_rate=RATE, currency="EUR", public_id=uuid.UUID(int=1))
    run_jobs()
    found: Campaign = Campaign.objects.get(default_board=board)
    return found


@pytest.fixture
def people(campaign: Campaign) -> People:
    truth = Truth.of(load_prompts())
    kinds = random.Random(SEED).sample(CROWD, len(CROWD))
    found: People = {}
    for number, kind in enumerate(kinds):
        annotator = Annotator.objects.create(public_id=uuid.UUID(int=100 + number), kind=Annotator.Kind.SIMULATED)
        annotator_enrol(campaign=campaign, annotator=annotator)
        found[annotator] = SimulatedAnnotator(f"{kind} {number}", kind, truth)
    return found


def judge_block(campaign: Campaign, annotator: Annotator, person: SimulatedAnnotator, rng: random.Random) -> int:
    block = assignment_claim(campaign=campaign, annotator=annotator)
    for row, shown in zip(block, presenters.block(block, campaign)["assignments"], strict=True):
        choice = person.judge(shown, rng)
        judgment_record(annotator=annotator, assignment_id=row.public_id, choices={"overall": choice})
    return len(block)


def judge_until_it_stops(campaign: Campaign, people: People) -> None:
    rng = random.Random(SEED)
    while sum(judge_block(campaign, annotator, person, rng) for annotator, person in people.items()):
        run_jobs()


def test_it_ends_by_its_rule_with_the_right_ranking_without_the_bad_and_everybody_paid(
    campaign: Campaign, people: People
) -> None:
    judge_until_it_stops(campaign, people)

    state = board_state_get(campaign.default_board)
    campaign.refresh_from_db()
    assert campaign.state == Campaign.State.STOPPED
    assert state.decision is not None
    assert campaign.stop_reason == state.decision.reason
    assert "has reached the target 0.15" in campaign.stop_reason

    snapshot = snapshot_current(campaign.default_board)
    assert snapshot is not None
    assert [row["name"].lower() for row in snapshot.rows] == sorted(QUALITY, key=lambda bot: -QUALITY[bot])

    out = Counter(people[annotator].kind for annotator in people if is_out(campaign, annotator))
    assert (out[Kind.ADVERSARIAL], out[Kind.CARELESS]) == (2, 5)
    assert out[Kind.CAREFUL] <= 2, "of forty-three, screened after each refit"
    assert all(fact.reason and fact.evidence for fact in Exclusion.objects.all())

    given = Counter(Judgment.objects.values_list("annotator", flat=True))
    paid = {one.pk: progress_get(campaign=campaign, annotator=one).pay for one in people}
    assert paid == {number: {"EUR": RATE * count} for number, count in given.items()}, "the excluded ones too"


def is_out(campaign: Campaign, annotator: Annotator) -> bool:
    known = standings(campaign).get(annotator.pk)
    return known is not None and known.out
