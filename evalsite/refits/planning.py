"""Planning of the queue: its size and items, written in parts, and the backlog behind it."""

import logging
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evalsite.boards.models import Snapshot
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import REFIT, refit_request
from evalsite.core import jobs
from evalsite.core.db import write_transaction
from evalsite.core.jobs import Lease
from evalsite.judgments.backlog import backlog_add, backlog_clear, backlog_first, backlog_size
from evalsite.judgments.models import Assignment
from evalsite.judgments.planned_items import Origin, PlannedItem
from evalsite.judgments.queue import QueueState, RemainingPlan, queue_continue, queue_replace
from evalsite.judgments.selectors import answers_per_second, budget_left
from evalsite.refits.mapping import Planner
from scheduler import ALL_POLICIES, Ask, CampaignState, Plan, plan

log = logging.getLogger(__name__)
# Pause between two parts of a queue: after a while, a writer that waits for SQLite retries every 25 ms.
LET_OTHERS_WRITE_S = 0.03
# Factor on the last refit's time. The next refit may take longer, because annotators' requests have priority.
REFITS_AHEAD = 1.5
MOST_AHEAD = 4_000  # Items. Planning them takes a second, and refits must not wait longer for a plan.
BACKLOG_SIZE = 2_000  # Items in the backlog: 200 annotators who arrive at once take a block of ten each.
# Items per part. Planning one takes a third of a second; then the worker checks whether a refit is due.
BACKLOG_PART = 400
STALE = 0.9  # Share of the board's judgments. A backlog that was planned with fewer is planned again.


@dataclass(frozen=True, slots=True)
class Planned:
    """The planned items as rows, and the queue as it was when they were planned: everything that the write needs.

    state: the state that was planned from.
    wanted: number of items requested; fewer are planned if no more are open.
    """

    planner: Planner
    state: CampaignState
    wanted: int
    plan: Plan | None
    asks: list[PlannedItem]
    seen: QueueState


def planned_of(planner: Planner, state: CampaignState, seen: QueueState, count: int) -> Planned:
    """Plan this many items by the campaign's policy; none for a count of zero."""
    made = _plan(planner, state, count) if count else None
    return Planned(planner, state, count, made, planner.asks(made.asks) if made else [], seen)


def _plan(planner: Planner, state: CampaignState, count: int) -> Plan:
    campaign = planner.campaign
    return plan(
        state,
        policy=campaign.policy,
        count=count,
        seed=_seed(campaign, state),
        design=planner.design,
        policies=ALL_POLICIES,  # An older campaign may have chosen a baseline.
    )


def _seed(campaign: Campaign, state: CampaignState) -> int:
    """Return a seed for this plan alone.

    Several plans use one board. With the same seed, they would draw the same pairs again.
    """
    known = state.posterior.judgments if state.posterior else 0
    seen = [campaign.seed, known, state.judgments, len(state.judged), len(state.pending)]
    return int(np.random.SeedSequence(seen).generate_state(1)[0])


def queue_size(campaign: Campaign, refit_s: float) -> int:
    """Return the number of items to plan, at most the remaining budget.

    It is twice the issued assignments plus the larger of two numbers: twice the next batch, and the answers expected
    during 1.5 times this refit's duration. So annotators do not wait for a refit.
    """
    issued = Assignment.objects.filter(campaign=campaign, state=Assignment.State.ISSUED).count()
    meanwhile = answered_in(campaign, REFITS_AHEAD * refit_s)
    wanted = max(2 * campaign.batch_size, meanwhile) + 2 * max(issued, campaign.block_size)
    left = budget_left(campaign)
    return wanted if left is None else min(wanted, left)


def answered_in(campaign: Campaign, seconds: float) -> int:
    """Return the answers expected in this many seconds at the current pace, at most the maximum planned ahead."""
    return min(MOST_AHEAD, math.ceil(answers_per_second(campaign) * max(0.0, seconds)))


def queue_begin(campaign: Campaign, planned: Planned, snapshot: Snapshot | None) -> RemainingPlan:
    """Replace the queue with the plan, and return the rest for `queue_finish`."""
    made = planned.plan
    if made is not None and not made.asks:
        log.warning("campaign %s: empty plan: %s", campaign.slug, made.reason)
    return queue_replace(
        campaign=campaign,
        asks=planned.asks,
        origin=_origin(made, snapshot) if made else Origin(),
        seen=planned.seen,
        votes_per_pair=planned.planner.options.votes_per_pair,
    )


def _origin(made: Plan, snapshot: Snapshot | None) -> Origin:
    return Origin(made.policy, snapshot.public_id if snapshot else None, made.seed)


def queue_finish(planned: Planned, rest: RemainingPlan | None, lease: Lease) -> None:
    """Write the rest of a queue, each part in its own transaction, until the plan is outdated."""
    while rest:
        let_others_write()
        with write_transaction():
            lease.confirm()
            now = Campaign.objects.select_for_update(no_key=True).get(pk=rest.campaign.pk)
            rest = queue_continue(rest) if plan_is_current(planned, now) else None


def backlog_fill(planned: Planned, snapshot: Snapshot | None, lease: Lease) -> None:
    """Plan a backlog behind the queue, for many annotators who arrive at once.

    It is planned in parts, while no refit is due. A refit of the same campaign is the exception: in a rush it is due
    when the last one ends, so one part is planned before it.
    """
    count, state, made = _backlog_size(planned), planned.state, planned.plan
    if made is None or not _backlog_is_stale(planned, snapshot):
        return
    if count == 0:
        with write_transaction():
            lease.confirm()
            backlog_clear(planned.planner.campaign)
    for begin in range(0, count, BACKLOG_PART):
        if jobs.job_is_due(REFIT) or (begin and jobs.job_is_requested_again(lease)):
            return
        state = _with_pending(state, made.asks)
        made = _plan(planned.planner, state, min(count - begin, BACKLOG_PART))
        asks = planned.planner.asks(made.asks)
        with write_transaction():
            lease.confirm()
            now = Campaign.objects.select_for_update(no_key=True).get(pk=planned.planner.campaign.pk)
            if begin == 0:
                backlog_clear(now)
            if not asks or not plan_is_current(planned, now):
                return
            backlog_add(campaign=now, asks=asks, origin=_origin(made, snapshot), design=planned.planner.mark)


def _backlog_size(planned: Planned) -> int:
    """Return the number of items for the backlog.

    It is zero if the queue holds all open items or the remaining budget. It is also zero if the votes per pair are
    limited, because claims from the backlog are counted by item only.
    """
    if len(planned.asks) < planned.wanted or planned.planner.options.votes_per_pair:
        return 0
    left = planned.seen.left
    return BACKLOG_SIZE if left is None else max(0, min(BACKLOG_SIZE, left - len(planned.asks)))


def _backlog_is_stale(planned: Planned, snapshot: Snapshot | None) -> bool:
    """Return whether the backlog must be replaced or dropped.

    It is replaced if half of it is used or if its design has changed. It is also replaced if the board has since
    gained a tenth of its judgments.
    """
    campaign = planned.planner.campaign
    first, wanted = backlog_first(campaign), _backlog_size(planned)
    if first is None:
        return wanted > 0
    if wanted == 0 or first.design != planned.planner.mark or backlog_size(campaign) < wanted / 2:
        return True
    by = Snapshot.objects.filter(public_id=first.snapshot) if first.snapshot else Snapshot.objects.none()
    known = by.values_list("judgments", flat=True).first() or 0
    return snapshot is not None and known < STALE * snapshot.judgments


def _with_pending(state: CampaignState, asks: Sequence[Ask]) -> CampaignState:
    """Return the state with these items counted as pending."""
    more = np.array([(ask.a, ask.b, ask.prompt) for ask in asks], np.int64).reshape(-1, 3)
    return replace(state, pending=np.concatenate([state.pending, more]))


def plan_is_current(planned: Planned, now: Campaign) -> bool:
    """Return whether the locked campaign still needs this plan. If its design has changed, request a refit instead."""
    if now.collecting and planned.planner.is_outdated(now):
        refit_request(now)
        return False
    return now.collecting


def let_others_write() -> None:
    threading.Event().wait(LET_OTHERS_WRITE_S)  # sleep() is refused (EINVAL) where libfaketime sets the clock.
