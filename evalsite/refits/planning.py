"""From a posterior to the queue: how many asks, which, and put in a part at a time; and what is planned behind it."""

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
from evalsite.judgments.backlog import reserve_add, reserve_drop, reserve_first, reserve_size
from evalsite.judgments.models import Assignment
from evalsite.judgments.planned_items import Origin, PlannedAsk
from evalsite.judgments.queue import QueueRest, QueueSeen, queue_go_on, queue_replace
from evalsite.judgments.selectors import answers_per_second, budget_left
from evalsite.refits.mapping import Planner
from scheduler import ALL_POLICIES, Ask, CampaignState, Plan, plan

log = logging.getLogger(__name__)
LET_OTHERS_WRITE_S = 0.03  # between two parts of a queue: who has waited for SQLite a while looks every 25 ms
REFITS_AHEAD = 1.5  # the next one may take longer than the last: those who judge have the processors first
MOST_AHEAD = 4_000  # asks, which take a second to plan: a plan must not be what refits wait for
BEHIND = 2_000  # asks behind the queue: 200 people who come at once take a block of ten each
BEHIND_AT_ONCE = 400  # of them, for a third of a second, before it is looked again whether a refit is due
STALE = 0.9  # of a board's judgments: what was planned by fewer is planned anew


@dataclass(frozen=True, slots=True)
class Planned:
    """What is asked next, as rows, and the queue as it was seen when it was planned: all that the write needs.

    state: what it was planned from. wanted: asks; fewer were planned where there is no more to ask.
    """

    planner: Planner
    state: CampaignState
    wanted: int
    plan: Plan | None
    asks: list[PlannedAsk]
    seen: QueueSeen


def planned_of(planner: Planner, state: CampaignState, seen: QueueSeen, count: int) -> Planned:
    """So many asks by the campaign's policy; none where none are wanted."""
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
        policies=ALL_POLICIES,  # an older campaign may have chosen a baseline
    )


def _seed(campaign: Campaign, state: CampaignState) -> int:
    """Of this plan alone: several are made from one board, and with one seed each would draw the same pairs again."""
    known = state.posterior.judgments if state.posterior else 0
    seen = [campaign.seed, known, state.judgments, len(state.judged), len(state.pending)]
    return int(np.random.SeedSequence(seen).generate_state(1)[0])


def queue_size(campaign: Campaign, refit_s: float) -> int:
    """Asks to plan: twice what is issued, and the next batch twice over, or what will be answered during a refit that
    takes half as long again as this one, if that is more: nobody should wait for it. Never more than the budget has.
    """
    issued = Assignment.objects.filter(campaign=campaign, state=Assignment.State.ISSUED).count()
    meanwhile = answered_in(campaign, REFITS_AHEAD * refit_s)
    wanted = max(2 * campaign.batch_size, meanwhile) + 2 * max(issued, campaign.block_size)
    left = budget_left(campaign)
    return wanted if left is None else min(wanted, left)


def answered_in(campaign: Campaign, seconds: float) -> int:
    """Asks that are answered in so many seconds, as fast as people judge; no more than are ever planned ahead."""
    return min(MOST_AHEAD, math.ceil(answers_per_second(campaign) * max(0.0, seconds)))


def queue_begin(campaign: Campaign, planned: Planned, snapshot: Snapshot | None) -> QueueRest:
    """Make the queue what was planned; the rest of it is for `queue_finish`."""
    made = planned.plan
    if made is not None and not made.asks:
        log.warning("campaign %s: nothing planned: %s", campaign.slug, made.reason)
    return queue_replace(
        campaign=campaign,
        asks=planned.asks,
        origin=_origin(made, snapshot) if made else Origin(),
        seen=planned.seen,
        votes_per_pair=planned.planner.options.votes_per_pair,
    )


def _origin(made: Plan, snapshot: Snapshot | None) -> Origin:
    return Origin(made.policy, snapshot.public_id if snapshot else None, made.seed)


def queue_finish(planned: Planned, rest: QueueRest | None, lease: Lease) -> None:
    """The rest of a queue, each part in a transaction of its own, unless its plan has lost its worth meanwhile."""
    while rest:
        let_others_write()
        with write_transaction():
            lease.confirm()
            now = Campaign.objects.select_for_update(no_key=True).get(pk=rest.campaign.pk)
            rest = queue_go_on(rest) if still_good(planned, now) else None


def reserve_fill(planned: Planned, snapshot: Snapshot | None, lease: Lease) -> None:
    """Plan on behind the queue that was planned, for those who come all at once; a part at a time, while no refit is
    due. Of the campaign's own, which under a rush is due as soon as the last one has ended, one part is planned before.
    """
    count, state, made = _behind(planned), planned.state, planned.plan
    if made is None or not _is_poor(planned, snapshot):
        return
    if count == 0:
        with write_transaction():
            lease.confirm()
            reserve_drop(planned.planner.campaign)
    for begin in range(0, count, BEHIND_AT_ONCE):
        if jobs.job_is_due(REFIT) or (begin and jobs.job_is_asked_again(lease)):
            return
        state = _with_pending(state, made.asks)
        made = _plan(planned.planner, state, min(count - begin, BEHIND_AT_ONCE))
        asks = planned.planner.asks(made.asks)
        with write_transaction():
            lease.confirm()
            now = Campaign.objects.select_for_update(no_key=True).get(pk=planned.planner.campaign.pk)
            if begin == 0:
                reserve_drop(now)
            if not asks or not still_good(planned, now):
                return
            reserve_add(campaign=now, asks=asks, origin=_origin(made, snapshot), design=planned.planner.mark)


def _behind(planned: Planned) -> int:
    """Asks to plan behind a queue: none where it holds all that there is to ask, or that the budget has; nor where
    votes of a pair are limited, since what is drawn is counted by item alone."""
    if len(planned.asks) < planned.wanted or planned.planner.options.votes_per_pair:
        return 0
    left = planned.seen.left
    return BEHIND if left is None else max(0, min(BEHIND, left - len(planned.asks)))


def _is_poor(planned: Planned, snapshot: Snapshot | None) -> bool:
    """Whether what waits behind the queue is to be planned anew: half of it was drawn, or it was planned for another
    design, or before the board had a tenth of its judgments; or it is to go."""
    campaign = planned.planner.campaign
    first, wanted = reserve_first(campaign), _behind(planned)
    if first is None:
        return wanted > 0
    if wanted == 0 or first.design != planned.planner.mark or reserve_size(campaign) < wanted / 2:
        return True
    by = Snapshot.objects.filter(public_id=first.snapshot) if first.snapshot else Snapshot.objects.none()
    known = by.values_list("judgments", flat=True).first() or 0
    return snapshot is not None and known < STALE * snapshot.judgments


def _with_pending(state: CampaignState, asks: Sequence[Ask]) -> CampaignState:
    """The state in which these asks are under way, too."""
    more = np.array([(ask.a, ask.b, ask.prompt) for ask in asks], np.int64).reshape(-1, 3)
    return replace(state, pending=np.concatenate([state.pending, more]))


def still_good(planned: Planned, now: Campaign) -> bool:
    """Whether the campaign, locked, still wants what was planned; where its design is another by now, a refit plans."""
    if now.collecting and planned.planner.is_outdated(now):
        refit_request(now)
        return False
    return now.collecting


def let_others_write() -> None:
    threading.Event().wait(LET_OTHERS_WRITE_S)  # sleep() is refused (EINVAL) where libfaketime sets the clock
