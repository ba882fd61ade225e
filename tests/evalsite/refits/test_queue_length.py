"""The queue is as long as annotators need until the next refit."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import time_machine
from django.utils import timezone

from evalsite.boards.models import Snapshot
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import refit_request
from evalsite.judgments import queue
from evalsite.judgments.models import Assignment, Batch, Judgment
from evalsite.judgments.queue import QueueLength, queue_length
from evalsite.judgments.selectors import IDLE_AFTER, answers_per_second
from evalsite.judgments.services import annotator_enrol
from tests.evalsite.cast import OPEN, CampaignMaker, assignment_claim, judge, run_only_refits

pytestmark = pytest.mark.usefixtures("no_tail")
QUEUED = Assignment.objects.filter(state=Assignment.State.QUEUED)
FAST = 9  # answers in a second


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(timezone.now(), tick=False) as traveller:
        yield traveller


@pytest.fixture
def fast(make_campaign: CampaignMaker, clock: time_machine.Traveller) -> Campaign:
    """It has a board; then FAST answers came within a second, and a refit is due."""
    campaign = make_campaign(design=replace(OPEN, batch_size=FAST), chatbots=5, prompts=30)
    judge_fast(campaign)
    clock.shift(1)
    run_only_refits()
    clock.shift(60)
    judge_fast(campaign)
    return campaign


def judge_fast(campaign: Campaign) -> None:
    assert judge(campaign, annotator_enrol(campaign=campaign), blocks=3) == FAST


def test_the_pace_is_that_of_the_second_up_to_the_last_answer_while_anybody_judges(
    campaign: Campaign, clock: time_machine.Traveller
) -> None:
    assert answers_per_second(campaign) == 0
    bob, dora = annotator_enrol(campaign=campaign), annotator_enrol(campaign=campaign)
    judge(campaign, bob)
    clock.shift(1.5)
    judge(campaign, bob)
    clock.shift(0.5)
    judge(campaign, dora)
    assert answers_per_second(campaign) == 6, "those of the second before are not of it, in whatever batch"
    assert Batch.objects.count() == 2
    clock.shift(IDLE_AFTER)
    assert answers_per_second(campaign) == 6
    clock.shift(1)
    assert answers_per_second(campaign) == 0, "something waits, and nobody wants it"
    QUEUED.update(state=Assignment.State.WITHDRAWN)
    assert answers_per_second(campaign) == 6, "nobody could have it"


def test_what_was_imported_tells_nothing_of_the_pace(campaign: Campaign) -> None:
    judge(campaign, annotator_enrol(campaign=campaign))
    Assignment.objects.filter(state=Assignment.State.ANSWERED).update(source=Assignment.Source.IMPORT)
    assert Judgment.objects.count() == 3
    assert answers_per_second(campaign) == 0


def test_a_queue_is_planned_for_what_is_answered_in_half_as_long_again_as_a_refit_takes_and_a_block_for_each_of_500(
    fast: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    issued = 2 * fast.block_size
    assert queue_length(fast, 10) == QueueLength(135 + issued, 135 + issued)
    least = QueueLength(2 * fast.batch_size + issued, 2 * fast.batch_size + issued)
    assert queue_length(fast, 0.1) == least, "the next batch, twice over"
    assert queue_length(fast, -5) == least, "a clock was set back"
    assert queue_length(fast, 1e9).head == queue.MOST_AHEAD + issued, "a clock was set"
    monkeypatch.undo()
    length = queue_length(fast, 0.0)
    assert length.whole - length.head == 500 * fast.block_size
    assert length.least == length.head + 250 * fast.block_size


def test_plans_from_one_board_do_not_draw_the_same_again(fast: Campaign) -> None:
    run_only_refits()
    before = set(QUEUED.values_list("plan_seed", flat=True))
    assignment_claim(campaign=fast, annotator=annotator_enrol(campaign=fast))
    refit_request(fast)
    run_only_refits()
    after = set(QUEUED.values_list("plan_seed", flat=True))
    assert len(before) == len(after) == 1
    assert Snapshot.objects.count() == 2
    assert before != after


def test_what_is_gold_is_no_part_of_the_pace(campaign: Campaign) -> None:
    judge(campaign, annotator_enrol(campaign=campaign))
    assert answers_per_second(campaign) == 3
    first = Assignment.objects.filter(state=Assignment.State.ANSWERED).order_by("pk")[0]
    Assignment.objects.filter(pk=first.pk).update(purpose=Assignment.Purpose.GOLD)
    assert answers_per_second(campaign) == 2


def test_a_change_of_mind_is_no_part_of_the_pace(campaign: Campaign) -> None:
    judge(campaign, annotator_enrol(campaign=campaign))
    first = Judgment.objects.order_by("pk")[0]
    Judgment.objects.create(
        assignment=first.assignment,
        batch=first.batch,
        annotator=first.annotator,
        supersedes=first,
        answered_at=timezone.now(),
    )
    assert Judgment.objects.count() == 4
    assert answers_per_second(campaign) == 3
