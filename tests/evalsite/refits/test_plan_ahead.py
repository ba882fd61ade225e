"""Where annotators are fast, the queue lasts for a refit: it is as long as they need, and made anew before the fit or
during it."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, TypedDict
from uuid import UUID

import numpy as np
import pytest
import time_machine
from django.db import OperationalError
from django.db.models import F
from django.utils import timezone

from evalsite.boards.models import Board, Refit, Snapshot
from evalsite.campaigns.models import Campaign, StoppingSpec
from evalsite.campaigns.services import campaign_stop
from evalsite.core.models import Job
from evalsite.judgments import queue
from evalsite.judgments.models import Assignment, Batch, Judgment
from evalsite.judgments.queue import RemainingPlan
from evalsite.judgments.selectors import IDLE_AFTER, answers_per_second, item_counts
from evalsite.judgments.services import annotator_enrol
from evalsite.refits import planning, queue_top_up, refit
from evalsite.refits.models import Alarm
from evalsite.refits.planning import Planned, planned_of, queue_begin, queue_size
from evalsite.refits.refit import Fitted
from irt_engine import FitResult
from scheduler import CampaignState, Plan, SchedulerError, plan
from scheduler.estimator import estimate_with_warm_start
from tests.evalsite.cast import OPEN, CampaignMaker, judge, run_jobs

pytestmark = pytest.mark.usefixtures("no_reserve")
QUEUED = Assignment.objects.filter(state=Assignment.State.QUEUED)
FAST = 9  # answers in a second
REFIT_S = 5.0


class Waiting(TypedDict):
    item: str
    place: int
    snapshot: UUID | None


def waiting_now() -> list[Waiting]:
    rows = QUEUED.all().values_list("item", "place_id", "snapshot")
    return [Waiting(item=item, place=place, snapshot=snapshot) for item, place, snapshot in rows]


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(timezone.now(), tick=False) as traveller:
        yield traveller


def made_fast(make_campaign: CampaignMaker, clock: time_machine.Traveller, budget: int | None = None) -> Campaign:
    """It has a board, whose refit took REFIT_S; then FAST answers came within a second, and a refit is due."""
    campaign = make_campaign(design=replace(OPEN, batch_size=FAST, budget=budget), chatbots=5, prompts=30)
    judge_fast(campaign)
    clock.shift(1)
    run_jobs()
    Refit.objects.update(finished_at=F("started_at") + timedelta(seconds=REFIT_S))
    clock.shift(60)
    judge_fast(campaign)
    return campaign


@pytest.fixture
def fast(make_campaign: CampaignMaker, clock: time_machine.Traveller) -> Campaign:
    return made_fast(make_campaign, clock)


def judge_fast(campaign: Campaign) -> None:
    assert judge(campaign, annotator_enrol(campaign=campaign), blocks=3) == FAST


@pytest.fixture
def at_the_fit(monkeypatch: pytest.MonkeyPatch) -> list[list[Waiting]]:
    """What waited in the queue as each fit began."""
    waiting: list[list[Waiting]] = []

    def fits(*args: object, **options: object) -> FitResult:
        waiting.append(waiting_now())
        return estimate_with_warm_start(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(refit, "estimate_with_warm_start", fits)
    return waiting


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


def test_a_queue_is_planned_for_what_is_answered_in_half_as_long_again_as_a_refit_takes(fast: Campaign) -> None:
    issued = 2 * fast.block_size
    assert queue_size(fast, refit_s=10) == 1.5 * FAST * 10 + issued
    assert queue_size(fast, refit_s=0.1) == 2 * fast.batch_size + issued, "the next batch, twice over"
    assert queue_size(fast, refit_s=-5) == 2 * fast.batch_size + issued, "a clock was set back"
    assert queue_size(fast, refit_s=1e9) == planning.MOST_AHEAD + issued, "a clock was set"


def test_where_the_queue_would_not_last_for_a_refit_it_is_planned_before_the_fit_by_the_board_that_stands(
    fast: Campaign, at_the_fit: list[list[Waiting]]
) -> None:
    board = Snapshot.objects.get()
    assert QUEUED.all().count() < FAST * REFIT_S
    run_jobs()
    (waiting,) = at_the_fit
    assert len(waiting) == queue_size(fast, REFIT_S) > 1.5 * FAST * REFIT_S
    assert {one["snapshot"] for one in waiting} == {board.public_id}
    asked = Counter(Assignment.objects.exclude(state=Assignment.State.WITHDRAWN).values_list("item", flat=True))
    assert max(asked.values()) == 1, "nor is anything asked twice"
    assert Snapshot.objects.count() == 2
    assert set(QUEUED.all().values_list("snapshot", flat=True)) == {Snapshot.objects.latest("pk").public_id}


def test_what_the_board_has_not_seen_is_on_its_way_for_who_plans_by_it(fast: Campaign) -> None:
    since = Refit.objects.get().started_at
    counts, then = item_counts(fast), item_counts(fast, unseen_since=since + timedelta(seconds=REFIT_S + 1))
    assert (sum(counts.judged.values()), sum(counts.pending.values())) == (2 * FAST, 0)
    assert (sum(then.judged.values()), sum(then.pending.values())) == (FAST, FAST)


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch, at_the_fit: list[list[Waiting]]) -> list[CampaignState]:
    """What each plan before a fit was made from."""
    states: list[CampaignState] = []

    def plans(state: CampaignState, **options: Any) -> Plan:
        if not at_the_fit:
            states.append(state)
        return plan(state, **options)

    monkeypatch.setattr(planning, "plan", plans)
    return states


def test_the_plan_before_a_fit_takes_what_its_board_has_not_seen_for_pending(
    fast: Campaign, planned: list[CampaignState]
) -> None:
    run_jobs()
    (state,) = planned
    assert state.posterior is not None
    assert state.posterior.judgments == FAST == len(state.judged)
    assert len(state.pending) == FAST, "what has come since"


@pytest.mark.parametrize(
    "why", ["it lasts", "a short refit", "a stop", "nobody judges", "no more is left to ask", "by little"]
)
def test_otherwise_the_fit_comes_first(
    fast: Campaign,
    clock: time_machine.Traveller,
    planned: list[CampaignState],
    at_the_fit: list[list[Waiting]],
    why: str,
) -> None:
    if why == "it lasts":
        Refit.objects.update(finished_at=F("started_at") + timedelta(seconds=2))
        clock.shift(10)
        judge(fast, annotator_enrol(campaign=fast))  # three in a second: the others are no longer the pace
    elif why == "a short refit":
        Refit.objects.update(finished_at=F("started_at") + timedelta(seconds=queue_top_up.SHORT_S / 2))
    elif why == "a stop":
        campaign_stop(campaign=fast, reason="enough")
    elif why == "nobody judges":
        clock.shift(60)
    elif why == "by little":  # less than would be planned, or every refit would plan twice
        lasts_s = QUEUED.all().count() / (1.4 * FAST)
        Refit.objects.update(finished_at=F("started_at") + timedelta(seconds=lasts_s))
        assert lasts_s > queue_top_up.SHORT_S
    else:
        spent = Judgment.objects.count()
        StoppingSpec.objects.filter(campaign=fast).update(budget=spent + QUEUED.all().count())
    before = {(one["item"], one["place"]) for one in waiting_now()}
    run_jobs()
    assert [{(one["item"], one["place"]) for one in waiting} for waiting in at_the_fit] == [before]
    assert not planned


def test_a_plan_before_the_fit_keeps_to_the_budget(
    make_campaign: CampaignMaker, clock: time_machine.Traveller, at_the_fit: list[list[Waiting]]
) -> None:
    left = 30
    made_fast(make_campaign, clock, budget=2 * FAST + left)
    assert QUEUED.all().count() < left < 1.5 * FAST * REFIT_S
    run_jobs()
    assert len(at_the_fit[-1]) == left


@pytest.mark.parametrize(
    "error", [SchedulerError("no plan", code="bad", hint="look at the design"), np.linalg.LinAlgError("singular")]
)
def test_a_plan_that_cannot_be_made_keeps_nobody_from_a_refit(
    fast: Campaign, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails(*args: object, **options: object) -> Plan:
        raise error

    monkeypatch.setattr(planning, "plan", fails)
    run_jobs()
    assert Snapshot.objects.count() == 2
    assert Alarm.objects.filter(cleared_at=None).count() == 1, "of the plan after it"


def test_a_stop_between_two_parts_of_a_plan_before_the_fit_ends_it(
    fast: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = Snapshot.objects.get()
    asked = Assignment.objects.filter(snapshot=board.public_id)
    already = asked.count()
    monkeypatch.setattr(queue, "PUT_AT_ONCE", 3)
    monkeypatch.setattr(planning, "let_others_write", lambda: campaign_stop(campaign=fast, reason="enough"))
    run_jobs()
    fast.refresh_from_db()
    assert fast.state == Campaign.State.STOPPED
    assert asked.count() <= already + 3, "its first part"
    assert not QUEUED.exists()


@dataclass
class DuringTheFit:
    """What happens in the next fit, round after round, and the queue after each."""

    rounds: list[Callable[[], object]] = field(default_factory=list)
    waiting: list[list[Waiting]] = field(default_factory=list)

    def fits(self, *args: object, progress: Callable[[int, int], None], **options: object) -> FitResult:
        rounds, self.rounds = self.rounds, []
        for happens in rounds:
            happens()
            progress(1, 100)
            self.waiting.append(waiting_now())
        return estimate_with_warm_start(*args, **options)  # type: ignore[arg-type]


@pytest.fixture
def during(fast: Campaign, monkeypatch: pytest.MonkeyPatch) -> DuringTheFit:
    """The last refit was short: nothing was planned before this one, which takes longer than anyone could know."""
    Refit.objects.update(finished_at=F("started_at") + timedelta(seconds=queue_top_up.SHORT_S / 2))
    found = DuringTheFit()
    monkeypatch.setattr(queue_top_up, "CHECK_EVERY_S", 0.0)
    monkeypatch.setattr(refit, "estimate_with_warm_start", found.fits)
    return found


def test_a_queue_that_runs_dry_during_a_fit_is_planned_anew_by_the_board_that_stands(
    fast: Campaign, during: DuringTheFit, clock: time_machine.Traveller
) -> None:
    board, asked = Snapshot.objects.get(), Assignment.objects.all().count()
    assert QUEUED.all().count() < FAST * queue_top_up.RUNS_DRY_S
    during.rounds = [lambda: judge_fast(fast), lambda: clock.shift(2), lambda: judge_fast(fast)]
    run_jobs()
    first, second, third = during.waiting
    assert len(first) >= 1.5 * FAST * queue_top_up.RUNS_DRY_S
    assert {one["snapshot"] for one in first} == {board.public_id}
    assert second == first, "it lasts"
    assert len(third) == len(first) - FAST, "it still does"
    given = Counter(Assignment.objects.exclude(state=Assignment.State.WITHDRAWN).values_list("item", flat=True))
    assert max(given.values()) == 1, "nor is anything asked twice"
    assert Assignment.objects.all().count() > asked
    assert list(Snapshot.objects.order_by("pk").values_list("judgments", flat=True)) == [FAST, 2 * FAST, 4 * FAST]


@pytest.mark.parametrize("why", ["it was looked at just now", "a stop", "nobody judges", "no more is left to ask"])
def test_otherwise_the_queue_stays_as_it_is_during_a_fit(
    fast: Campaign,
    during: DuringTheFit,
    clock: time_machine.Traveller,
    monkeypatch: pytest.MonkeyPatch,
    why: str,
) -> None:
    def happens() -> None:
        if why == "a stop":
            campaign_stop(campaign=fast, reason="enough")
        elif why == "nobody judges":
            clock.shift(60)
        elif why == "no more is left to ask":
            spent = Judgment.objects.count()
            StoppingSpec.objects.filter(campaign=fast).update(budget=spent + QUEUED.all().count())

    if why == "it was looked at just now":
        monkeypatch.setattr(queue_top_up, "CHECK_EVERY_S", 1e9)
    monkeypatch.setattr(queue_top_up, "_plan_from", lambda *_: pytest.fail("it was planned"))
    before = waiting_now()
    assert before
    during.rounds = [happens]
    run_jobs()
    assert during.waiting == [before]


@pytest.mark.parametrize(("later", "plans_made"), [(queue_top_up.RETRY_AFTER_S, 1), (0.0, 3)])
def test_a_board_that_can_give_no_more_is_asked_once_during_a_fit_and_again_after_a_while(
    during: DuringTheFit, monkeypatch: pytest.MonkeyPatch, later: float, plans_made: int
) -> None:
    plans: list[Planned] = []
    monkeypatch.setattr(queue_top_up, "RETRY_AFTER_S", later)

    def few(*args: Any) -> Planned:
        made = planned_of(*args)
        plans.append(replace(made, asks=made.asks[:3]))
        return plans[-1]

    monkeypatch.setattr(planning, "planned_of", few)
    during.rounds = [lambda: None] * 3
    run_jobs()
    assert len(plans) == plans_made
    assert [len(waiting) for waiting in during.waiting] == [3, 3, 3]


def test_while_a_campaigns_other_boards_are_fitted_more_is_planned_by_its_own_new_one(
    fast: Campaign, during: DuringTheFit, clock: time_machine.Traveller, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = fast.default_board
    other = Board.objects.create(organisation=own.organisation, name="All", slug="all", aspect=own.aspect)
    other.campaigns.add(fast)
    whose: list[Board] = []
    fitted_of = refit.fitted_of

    def nearly_empties() -> None:
        while QUEUED.all().count() >= 2 * FAST:
            judge_fast(fast)

    def fitted(board: Board, *args: Any, **options: Any) -> Fitted:
        whose.append(board)
        if board == other and not during.waiting:
            during.rounds = [lambda: clock.shift(60), nearly_empties]
        return fitted_of(board, *args, **options)

    monkeypatch.setattr(refit, "fitted_of", fitted)
    run_jobs()
    assert whose[:2] == [own, other]
    nobody_judges, judged_again = during.waiting
    by_own = Snapshot.objects.filter(board=own).order_by("number")[1].public_id
    assert {one["snapshot"] for one in nobody_judges} == {by_own}, "its refit planned"
    assert judged_again != nobody_judges
    assert len(judged_again) >= 1.5 * FAST * queue_top_up.RUNS_DRY_S
    assert {one["snapshot"] for one in judged_again} == {by_own}


def test_a_plan_that_cannot_be_made_during_a_fit_does_it_no_harm(
    during: DuringTheFit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: object, **options: object) -> Plan:
        raise np.linalg.LinAlgError("singular")

    monkeypatch.setattr(planning, "plan", fails)
    before = waiting_now()
    during.rounds = [lambda: None]
    run_jobs()
    assert during.waiting == [before]
    assert Snapshot.objects.count() == 2


def test_a_queue_that_cannot_be_written_during_a_fit_does_it_no_harm(
    during: DuringTheFit, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed: list[int] = []

    def locked(*args: Any) -> RemainingPlan:
        if not failed:
            failed.append(1)
            raise OperationalError("database is locked")
        return queue_begin(*args)

    monkeypatch.setattr(planning, "queue_begin", locked)
    before = waiting_now()
    during.rounds = [lambda: None, lambda: None]
    run_jobs()
    assert failed
    assert during.waiting == [before, before], "it is left alone for a while"
    assert Snapshot.objects.count() == 2
    assert not Alarm.objects.filter(cleared_at=None).exists()


def test_plans_from_one_board_do_not_draw_the_same_again(fast: Campaign, during: DuringTheFit) -> None:
    board = Snapshot.objects.get()
    of_board = Assignment.objects.filter(snapshot=board.public_id)
    before = set(of_board.values_list("plan_seed", flat=True))
    during.rounds = [lambda: judge_fast(fast)]
    run_jobs()
    seeds = set(of_board.values_list("plan_seed", flat=True))
    assert len(before) == 1
    assert len(seeds) == 2


def test_a_worker_that_lost_its_lease_during_a_fit_plans_nothing_and_publishes_nothing(during: DuringTheFit) -> None:
    before = waiting_now()
    during.rounds = [lambda: Job.objects.filter(state=Job.State.RUNNING).update(lease_owner="another")]
    run_jobs()
    assert not during.waiting, "the fit ended there"
    assert waiting_now() == before
    assert Snapshot.objects.count() == 1


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
