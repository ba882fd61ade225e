"""Planning of the queue: which items to ask next, written in parts."""

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from evalsite.boards.models import Snapshot
from evalsite.campaigns.models import Campaign, PlanSpec
from evalsite.campaigns.services import refit_request
from evalsite.core.db import write_transaction
from evalsite.core.jobs import Lease
from evalsite.dialogues.chatbot_sets import planned_sets_replace
from evalsite.judgments.planned_items import Origin, PlannedItem, QueuePlan
from evalsite.judgments.queue import QueueLength, QueueState, RemainingPlan, queue_continue, queue_replace
from evalsite.refits.mapping import NEXT_CONVERSATIONS, Planner
from scheduler import ALL_POLICIES, CampaignState, Plan, plan

log = logging.getLogger(__name__)
# Pause between two parts of a queue: after a while, a writer that waits for SQLite retries every 25 ms.
LET_OTHERS_WRITE_S = 0.03
STALE = 0.5  # Share of the board's judgments. Items stay queued if they were planned from at least as many.


@dataclass(frozen=True, slots=True)
class Planned:
    """The planned items as rows, and the queue as it was when they were planned: everything that the write needs.

    kept: the queued assignments that may stay behind the plan, see `QueuePlan`.
    """

    planner: Planner
    length: QueueLength
    plan: Plan | None
    asks: list[PlannedItem]
    kept: Mapping[int, int]
    seen: QueueState


def planned_of(planner: Planner, state: CampaignState, seen: QueueState, length: QueueLength | None) -> Planned:
    """Plan the head of the queue by the campaign's policy; without a length, plan nothing.

    The tail stays, if the head leaves more than half of it. Otherwise it is planned, too.
    """
    if length is None:
        return Planned(planner, QueueLength(0, 0), None, [], {}, seen)
    if planner.campaign.is_live:
        return Planned(planner, length, _plan_sets(planner, state), [], {}, seen)
    kept = _kept(planner, state, seen)
    made = _plan(planner, state, length.head if len(kept) >= length.least else length.whole)
    return Planned(planner, length, made, planner.asks(made.asks), kept, seen)


def _kept(planner: Planner, state: CampaignState, seen: QueueState) -> Mapping[int, int]:
    """Return the queued assignments that may stay in the queue.

    They were planned for the present design, their items are still open, and the board has not doubled since.
    """
    if planner.campaign.plan.queued_design != planner.mark:
        return {}
    known = state.posterior.judgments if state.posterior else 0
    snapshots = Snapshot.objects.filter(public_id__in={one.snapshot for one in seen.waiting.values()})
    judgments: dict[UUID | None, int] = dict(snapshots.values_list("public_id", "judgments"))
    fresh = {key: one for key, one in seen.waiting.items() if judgments.get(one.snapshot, 0) >= STALE * known}
    return planner.still_open(state, fresh)


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


def _plan_sets(planner: Planner, state: CampaignState) -> Plan | None:
    """Plan the pairs of the next conversations; None where one conversation has another number of chatbots."""
    if planner.campaign.live.chatbots_per_conversation != 2:
        return None
    return _plan(planner, state, NEXT_CONVERSATIONS)


def _seed(campaign: Campaign, state: CampaignState) -> int:
    """Return a seed for this plan alone.

    Several plans use one board. With the same seed, they would draw the same pairs again.
    """
    known = state.posterior.judgments if state.posterior else 0
    seen = [campaign.seed, known, state.judgments, len(state.judged), len(state.pending)]
    return int(np.random.SeedSequence(seen).generate_state(1)[0])


def queue_begin(campaign: Campaign, planned: Planned, snapshot: Snapshot | None) -> RemainingPlan:
    """Replace the queue with the plan, and return the rest for `queue_finish`."""
    made = planned.plan
    if made is not None and not made.asks:
        log.warning("campaign %s: empty plan: %s", campaign.slug, made.reason)
    with write_transaction():
        PlanSpec.objects.filter(campaign=campaign).exclude(queued_design=planned.planner.mark).update(
            queued_design=planned.planner.mark
        )
        if campaign.is_live:
            sets = planned.planner.live_sets(made, snapshot.public_id if snapshot else None) if made else []
            planned_sets_replace(campaign, sets)
            return RemainingPlan(campaign, Origin(), [])
        return queue_replace(
            campaign=campaign,
            plan=QueuePlan(
                planned.asks,
                _origin(made, snapshot) if made else Origin(),
                head=planned.length.head,
                kept=planned.kept,
                length=planned.length.whole,
                votes_per_pair=planned.planner.options.votes_per_pair,
            ),
            seen=planned.seen,
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


def plan_is_current(planned: Planned, now: Campaign) -> bool:
    """Return whether the locked campaign still needs this plan. If its design has changed, request a refit instead."""
    if now.collecting and planned.planner.is_outdated(now):
        refit_request(now)
        return False
    return now.collecting


def let_others_write() -> None:
    threading.Event().wait(LET_OTHERS_WRITE_S)  # sleep() is refused (EINVAL) where libfaketime sets the clock.
