"""A whole campaign without a browser: twenty-four annotators, three of them bad, judge eight chatbots until it stops.

What they are to be paid is reckoned from what they wrote down themselves, and not from the rows that it checks.
"""

import csv
import io
import random
import uuid
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from evalsite.api.responses.assignments import BlockSerializer, block_of
from evalsite.boards.selectors import board_state_get, snapshot_current
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.plans import PlanOptions
from evalsite.demo.annotators import AnnotatorKind, SimulatedAnnotator
from evalsite.demo.services import DESIGN, demonstration_load
from evalsite.demo.truth import QUALITY, SimulatedTruth, load_prompts
from evalsite.judgments.leases import assignment_skip, assignments_expire
from evalsite.judgments.models import Annotator, Assignment, Exclusion, Judgment
from evalsite.judgments.payments import payment_file
from evalsite.judgments.selectors import progress_get, standings
from evalsite.judgments.services import RecordedJudgment, annotator_enrol, judgment_record
from tests.evalsite.cast import assignment_claim, run_jobs

RATE = Decimal("0.05")
CROWD = [AnnotatorKind.CARELESS] * 2 + [AnnotatorKind.ADVERSARIAL] * 1 + [AnnotatorKind.CAREFUL] * 21
SEED = 3
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)

People = dict[Annotator, SimulatedAnnotator]


@pytest.fixture
def campaign(db: None) -> Campaign:
    """The demonstration, with every item for three annotators and exclusions by rule; its seeds are given."""
    design = replace(
        DESIGN,
        batch_size=500,
        batch_age_s=3600,
        block_size=20,
        target_se=0.2,
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
    truth = SimulatedTruth.of(load_prompts())
    kinds = random.Random(SEED).sample(CROWD, len(CROWD))
    found: People = {}
    for number, kind in enumerate(kinds):
        annotator = Annotator.objects.create(public_id=uuid.UUID(int=100 + number), kind=Annotator.Kind.SIMULATED)
        annotator_enrol(campaign=campaign, annotator=annotator)
        found[annotator] = SimulatedAnnotator(f"{kind} {number}", kind, truth)
    return found


@dataclass
class Diary:
    """What one annotator wrote down themselves: which answers were acknowledged, by assignment, and what else they did.

    late: left lying until their time was over, to be answered after the next round.
    """

    answered: set[uuid.UUID] = field(default_factory=set)
    did: Counter[str] = field(default_factory=Counter)
    late: list[tuple[Assignment, str]] = field(default_factory=list)

    def note(self, recorded: RecordedJudgment) -> None:
        assert recorded.created
        self.answered.add(recorded.judgment.assignment.public_id)


Diaries = dict[Annotator, Diary]


def judge_block(
    campaign: Campaign, annotator: Annotator, person: SimulatedAnnotator, diary: Diary, rngs: "Rngs"
) -> int:
    """Judge a round as people do: now and then one is skipped, one is taken back, and one is left lying."""
    block = assignment_claim(campaign=campaign, annotator=annotator)
    overdue, diary.late = diary.late, []
    answer = BlockSerializer.render(block_of(block, campaign))
    for row, shown in zip(block, answer["assignments"], strict=True):
        choice, doing = person.judge(shown, rngs.answers), rngs.doings.random()
        if doing < 0.01:
            assignment_skip(annotator=annotator, assignment_id=row.public_id, reason="cannot_judge")
            diary.did["skipped"] += 1
        elif doing < 0.02:
            diary.late.append((row, choice))
        else:
            slips = doing < 0.04
            first = say(annotator, row, "tie" if slips and choice != "tie" else choice, diary)
            if slips:
                say(annotator, row, choice, diary, supersedes=first.public_id)
                diary.did["taken back"] += 1
    if diary.late:
        Assignment.objects.filter(pk__in=[row.pk for row, _ in diary.late]).update(lease_until=LONG_AGO)
        assignments_expire()
        if rngs.doings.random() < 0.5:  # before anybody has taken the place
            overdue, diary.late = overdue + diary.late, []
    for row, choice in overdue:
        given = say(annotator, row, choice, diary)
        assert given.late
        diary.did["late" if given.counts else "late, after somebody else"] += 1
    return len(block) + len(overdue)


def say(
    annotator: Annotator, row: Assignment, choice: str, diary: Diary, supersedes: uuid.UUID | None = None
) -> Judgment:
    recorded = judgment_record(
        annotator=annotator, assignment_id=row.public_id, choices={"overall": choice}, supersedes=supersedes
    )
    diary.note(recorded)
    return recorded.judgment


@dataclass(frozen=True)
class Rngs:
    """What is answered is drawn by itself: it stays as it is whatever else people do."""

    answers: random.Random
    doings: random.Random


def judge_until_it_stops(campaign: Campaign, people: People) -> Diaries:
    rngs = Rngs(random.Random(SEED), random.Random(SEED + 1))
    diaries = {annotator: Diary() for annotator in people}
    while sum(judge_block(campaign, one, person, diaries[one], rngs) for one, person in people.items()):
        run_jobs()
    return diaries


def test_it_ends_by_its_rule_with_the_right_ranking_without_the_bad_and_everybody_paid(
    campaign: Campaign, people: People
) -> None:
    diaries = judge_until_it_stops(campaign, people)

    state = board_state_get(campaign.default_board)
    campaign.refresh_from_db()
    assert campaign.state == Campaign.State.STOPPED
    assert state.decision is not None
    assert campaign.stop_reason == state.decision.reason
    assert "has reached the target 0.2" in campaign.stop_reason

    snapshot = snapshot_current(campaign.default_board)
    assert snapshot is not None
    assert [row["name"].lower() for row in snapshot.rows] == sorted(QUALITY, key=lambda bot: -QUALITY[bot])

    out = Counter(people[annotator].kind for annotator in people if is_out(campaign, annotator))
    assert (out[AnnotatorKind.ADVERSARIAL], out[AnnotatorKind.CARELESS]) == (1, 2)
    assert out[AnnotatorKind.CAREFUL] <= 2, "of twenty-one, screened after each refit"
    assert all(fact.reason and fact.evidence for fact in Exclusion.objects.all())

    did = sum((diary.did for diary in diaries.values()), Counter[str]())
    assert set(did) == {"skipped", "taken back", "late", "late, after somebody else"}, "each has happened"
    paid = {one: progress_get(campaign=campaign, annotator=one).pay for one in people}
    wanted = {one: {"EUR": RATE * len(diary.answered)} for one, diary in diaries.items()}
    assert paid == wanted, "each for what they answered, once: the excluded, late and left out ones too, no skip"
    owed = {row["annotator"]: row["owed"] for row in csv.DictReader(io.StringIO("".join(payment_file(campaign))))}
    assert owed == {str(one.public_id): f"{RATE * len(diary.answered):.4f}" for one, diary in diaries.items()}
    assert sum(len(diary.answered) for diary in diaries.values()) + did["taken back"] == Judgment.objects.count()


def is_out(campaign: Campaign, annotator: Annotator) -> bool:
    known = standings(campaign).get(annotator.pk)
    return known is not None and known.out
