"""From a posterior to the queue: how many asks, which, and put in a part at a time; before a refit, too, where the
queue would not last for it."""

import logging
import math
import threading
from dataclasses import dataclass

from django.db import DatabaseError

from evalsite.adaptive.models import Board, Refit, Snapshot
from evalsite.adaptive.tables import ENGINE, Planner
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import refit_request
from evalsite.core.db import write_transaction
from evalsite.core.jobs import Lease
from evalsite.judgments.models import Assignment
from evalsite.judgments.queue import Origin, PlannedAsk, QueueRest, QueueSeen, queue_go_on, queue_look, queue_replace
from evalsite.judgments.selectors import answers_per_second, budget_left, judgments_spent
from irt_engine import Posterior
from scheduler import CampaignState, Plan, plan

log = logging.getLogger(__name__)
LET_OTHERS_WRITE_S = 0.03  # between two parts of a queue: who has waited for SQLite a while looks every 25 ms
REFITS_AHEAD = 1.5  # the next one may take longer than the last: those who judge have the processors first
LASTS = 1.25  # refits: what is planned after a fit is not part of how long it took. Less than what is planned ahead
SHORT_S = 1.0  # a refit that is over so soon plans soon enough
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
    seed = campaign.seed * 1_000_003 + (state.posterior.judgments if state.posterior else 0)
    made = plan(state, policy=campaign.policy, count=count, seed=seed, design=planner.design) if count else None
    return Planned(planner, made, planner.asks(made.asks) if made else [], seen)


def queue_size(campaign: Campaign, refit_s: float) -> int:
    """Asks to plan: twice what is issued, and the next batch twice over, or what will be answered during a refit that
    takes half as long again as this one, if that is more: nobody should wait for it. Never more than the budget has.
    """
    issued = Assignment.objects.filter(campaign=campaign, state=Assignment.State.ISSUED).count()
    wanted = max(2 * campaign.batch_size, _answered(campaign, REFITS_AHEAD * refit_s)) + 2 * max(issued, campaign.block_size)
    left = budget_left(campaign)
    return wanted if left is None else min(wanted, left)


def _answered(campaign: Campaign, seconds: float) -> int:
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
            rest = queue_go_on(rest) if _still_good(planned, now) else None


def _still_good(planned: Planned, now: Campaign) -> bool:
    if now.collecting and planned.planner.is_outdated(now):
        refit_request(now)
        return False
    return now.collecting


def _let_others_write() -> None:
    threading.Event().wait(LET_OTHERS_WRITE_S)  # sleep() is refused (EINVAL) where libfaketime sets the clock


def plan_before_refit(board: Board, campaign: Campaign, lease: Lease) -> None:
    """Where the queue would not last for the refit that begins now, plan first, from the board that stands.

    What was answered since that board's refit began is on its way: it counts as pending, as the board does not know it.
    What keeps this plan from being made, keeps nobody from a refit, whose own plan will tell.
    """
    published = Refit.objects.filter(board=board, outcome=Refit.Outcome.PUBLISHED).order_by("-pk").first()
    if published is None or not campaign.collecting or _lasts_for(campaign, published):
        return
    stands = Refit.objects.filter(board=board, snapshot__engine=ENGINE).order_by("-pk").first()
    if stands is None or stands.snapshot is None:
        return
    try:
        planned = _planned_by(campaign, stands, _seconds(published))
    except DatabaseError:
        raise
    except Exception:  # whatever it is, the next try would meet it again: the board must not wait for it
        log.warning("%s has no plan before its refit", campaign.slug, exc_info=True)
        return
    if not planned.asks:
        return
    with write_transaction():
        lease.confirm()
        now = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        rest = queue_begin(now, planned, stands.snapshot) if _still_good(planned, now) else None
    queue_finish(planned, rest, lease)


def _planned_by(campaign: Campaign, stands: Refit, refit_s: float) -> Planned:
    """A plan by the board that stands since this refit."""
    assert stands.snapshot is not None  # noqa: S101 - it stands
    posterior = Posterior.from_bytes(bytes(stands.snapshot.posterior))
    planner, seen = Planner(campaign), queue_look(campaign, unseen_since=stands.started_at)
    state = planner.state(posterior, judgments_spent(campaign), seen.counts)
    return planned_of(planner, state, seen, queue_size(campaign, refit_s))


def _lasts_for(campaign: Campaign, last: Refit) -> bool:
    """Whether the queue holds what a refit's time will take, going by the last one, or all that the budget has."""
    if _seconds(last) < SHORT_S:
        return True
    waiting = Assignment.objects.filter(campaign=campaign, state=Assignment.State.QUEUED).count()
    if waiting >= _answered(campaign, LASTS * _seconds(last)):
        return True
    left = budget_left(campaign)
    return left is not None and waiting >= left


def _seconds(refit: Refit) -> float:
    return (refit.finished_at - refit.started_at).total_seconds()
