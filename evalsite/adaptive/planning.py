"""From a posterior to the queue: how many asks, which, and put in a part at a time."""

import logging
import math
import threading
from dataclasses import dataclass

import numpy as np

from evalsite.adaptive.models import Snapshot
from evalsite.adaptive.tables import Planner
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import refit_request
from evalsite.core.db import write_transaction
from evalsite.core.jobs import Lease
from evalsite.judgments.models import Assignment
from evalsite.judgments.queue import Origin, PlannedAsk, QueueRest, QueueSeen, queue_go_on, queue_replace
from evalsite.judgments.selectors import answers_per_second, budget_left
from scheduler import CampaignState, Plan, plan

log = logging.getLogger(__name__)
LET_OTHERS_WRITE_S = 0.03  # between two parts of a queue: who has waited for SQLite a while looks every 25 ms
REFITS_AHEAD = 1.5  # the next one may take longer than the last: those who judge have the processors first
MOST_AHEAD = 4_000  # asks, which take a second to plan: a plan must not be what refits wait for


@dataclass(frozen=True, slots=True)
class Planned:
    """What is asked next, as rows, and the queue as it was seen when it was planned: all that the write needs."""

    planner: Planner
    plan: Plan | None
    asks: list[PlannedAsk]
    seen: QueueSeen


def planned_of(planner: Planner, state: CampaignState, seen: QueueSeen, count: int) -> Planned:
    """So many asks by the campaign's policy; none where none are wanted."""
    campaign = planner.campaign
    made = None
    if count:
        made = plan(state, policy=campaign.policy, count=count, seed=_seed(campaign, state), design=planner.design)
    return Planned(planner, made, planner.asks(made.asks) if made else [], seen)


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
        origin=Origin(made.policy, snapshot.public_id if snapshot else None, made.seed) if made else Origin(),
        seen=planned.seen,
        votes_per_pair=planned.planner.options.votes_per_pair,
    )


def queue_finish(planned: Planned, rest: QueueRest | None, lease: Lease) -> None:
    """The rest of a queue, each part in a transaction of its own, unless its plan has lost its worth meanwhile."""
    while rest:
        _let_others_write()
        with write_transaction():
            lease.confirm()
            now = Campaign.objects.select_for_update(no_key=True).get(pk=rest.campaign.pk)
            rest = queue_go_on(rest) if still_good(planned, now) else None


def still_good(planned: Planned, now: Campaign) -> bool:
    """Whether the campaign, locked, still wants what was planned; where its design is another by now, a refit plans."""
    if now.collecting and planned.planner.is_outdated(now):
        refit_request(now)
        return False
    return now.collecting


def _let_others_write() -> None:
    threading.Event().wait(LET_OTHERS_WRITE_S)  # sleep() is refused (EINVAL) where libfaketime sets the clock
