"""From a posterior to the queue: how many asks, which, and put in a part at a time; and what is planned behind it."""

import logging
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evalsite.adaptive.models import Snapshot
from evalsite.adaptive.tables import Planner
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import REFIT, refit_request
from evalsite.core import jobs
from evalsite.core.db import write_transaction
from evalsite.core.jobs import Lease
from evalsite.judgments.asks import Origin, PlannedAsk
from evalsite.judgments.models import Assignment
from evalsite.judgments.queue import QueueRest, QueueSeen, queue_go_on, queue_replace
from evalsite.judgments.reserve import reserve_make
from evalsite.judgments.selectors import answers_per_second, budget_left
from scheduler import Ask, CampaignState, Plan, plan

log = logging.getLogger(__name__)
LET_OTHERS_WRITE_S = 0.03  # between two parts of a queue: who has waited for SQLite a while looks every 25 ms
REFITS_AHEAD = 1.5  # the next one may take longer than the last: those who judge have the processors first
MOST_AHEAD = 4_000  # asks, which take a second to plan: a plan must not be what refits wait for
BEHIND = 2_000  # asks behind the queue: 200 people who come at once take a block of ten each


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
    return plan(state, policy=campaign.policy, count=count, seed=_seed(campaign, state), design=planner.design)


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
        _let_others_write()
        with write_transaction():
            lease.confirm()
            now = Campaign.objects.select_for_update(no_key=True).get(pk=rest.campaign.pk)
            rest = queue_go_on(rest) if still_good(planned, now) else None


def reserve_fill(planned: Planned, snapshot: Snapshot | None, lease: Lease) -> None:
    """Plan on behind the queue that was planned, for those who come all at once: not while a refit is due, whose own
    plan will do. Where votes of a pair are counted nothing is kept behind: what is drawn is counted by item alone."""
    count = _behind(planned)
    if count <= 0 or planned.plan is None or planned.planner.options.votes_per_pair or jobs.job_is_due(REFIT):
        return
    made = _plan(planned.planner, _with_pending(planned.state, planned.plan.asks), count)
    asks = planned.planner.asks(made.asks)
    with write_transaction():
        lease.confirm()
        now = Campaign.objects.select_for_update(no_key=True).get(pk=planned.planner.campaign.pk)
        if still_good(planned, now):
            origin, design = _origin(made, snapshot), planned.planner.mark
            reserve_make(campaign=now, asks=asks, origin=origin, design=design, first=len(planned.asks))


def _behind(planned: Planned) -> int:
    """Asks to plan behind a queue: none where it holds all that there is to ask, or that the budget has."""
    if len(planned.asks) < planned.wanted:
        return 0
    left = planned.seen.left
    return BEHIND if left is None else min(BEHIND, left - len(planned.asks))


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


def _let_others_write() -> None:
    threading.Event().wait(LET_OTHERS_WRITE_S)  # sleep() is refused (EINVAL) where libfaketime sets the clock
