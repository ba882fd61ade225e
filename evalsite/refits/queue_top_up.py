"""Queue top-up around a refit.

If the queue would run out, more items are planned from the current board, before the fit and during it.
"""

import logging
import time
from dataclasses import dataclass
from datetime import datetime

from django.db import DatabaseError

from evalsite.boards.models import Board, Refit, Snapshot
from evalsite.campaigns.models import Campaign
from evalsite.core.db import write_transaction
from evalsite.core.jobs import Lease
from evalsite.judgments.backlog import backlog_size
from evalsite.judgments.models import Assignment
from evalsite.judgments.queue import queue_state_read
from evalsite.judgments.selectors import budget_left, judgments_spent
from evalsite.refits import planning
from evalsite.refits.mapping import ENGINE, Planner
from evalsite.refits.planning import Planned
from irt_engine import Posterior

log = logging.getLogger(__name__)
# In refits. The time of a refit does not include planning after the fit. Must be less than the planned margin.
LAST_REFITS = 1.25
SHORT_S = 1.0  # After shorter refits, the regular plan comes soon enough.
CHECK_EVERY_S = 0.5  # During a fit.
RETRY_AFTER_S = 30.0  # Pause after a plan that found too few items, or after a database error.
# Planning takes one or two seconds, and so does the work after a fit. A queue below this time would run out meanwhile.
RUNS_DRY_S = 4.0


@dataclass(frozen=True, slots=True)
class _CurrentBoard:
    """The current board: its snapshot, when its refit began, and the duration of the last refit with a fit."""

    snapshot: Snapshot  # Loaded without the posterior, which is read only to plan.
    since: datetime
    took_s: float


class QueueTopUp:
    """Keeps the queue of one campaign filled during one refit of its board.

    The duration of a refit is estimated from the last one. It takes longer if others need the processors, so the queue
    is checked again during the fit. Answers since the refit of the current board began count as pending, because that
    board does not include them. A failed top-up does not prevent the refit, whose own plan reports the problem.
    """

    def __init__(self, board: Board, campaign: Campaign, lease: Lease) -> None:
        self.campaign_id, self.lease = campaign.pk, lease
        self.current = _current_board(board)  # Also None after a failed plan.
        self.began = time.monotonic()
        self.next_look = self.began + CHECK_EVERY_S

    def before(self) -> None:
        """Plan before the fit if the queue would run out during the refit."""
        if self.current and self.current.took_s >= SHORT_S:
            self._top_up(self.current, LAST_REFITS * self.current.took_s)

    def during(self, _done: int, _most: int) -> None:
        """Plan during the fit if the queue is about to run out.

        This is the fit's `progress` callback. It raises nothing but the loss of the lease.
        """
        if self.current is None or time.monotonic() < self.next_look:
            return
        try:
            enough = self._top_up(self.current, RUNS_DRY_S)
        # For example a queue that is locked for too long. The fit continues and writes on its own.
        except DatabaseError:
            log.warning("campaign %s: queue top-up during a fit failed", self.campaign_id, exc_info=True)
            enough = False
        self.next_look = time.monotonic() + (CHECK_EVERY_S if enough else RETRY_AFTER_S)

    def _top_up(self, current: _CurrentBoard, seconds: float) -> bool:
        """Ensure that the queue lasts this long at the current pace, or holds the remaining budget.

        Returns whether there were as many items as wanted.
        """
        campaign = Campaign.objects.select_related("stopping").get(pk=self.campaign_id)
        if not campaign.collecting or _queue_lasts(campaign, seconds):
            return True
        refit_s = max(current.took_s, time.monotonic() - self.began, RUNS_DRY_S)
        count = planning.queue_size(campaign, refit_s)
        planned = _plan_from(campaign, current, count)
        if planned is None:
            self.current = None
        if planned is None or not planned.asks:
            return False
        with write_transaction():
            self.lease.confirm()
            now = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
            rest = (
                planning.queue_begin(now, planned, current.snapshot) if planning.plan_is_current(planned, now) else None
            )
        planning.queue_finish(planned, rest, self.lease)
        return len(planned.asks) >= count


def _current_board(board: Board) -> _CurrentBoard | None:
    done = Refit.objects.filter(board=board).order_by("-pk")
    last = done.filter(outcome=Refit.Outcome.PUBLISHED).values_list("started_at", "finished_at").first()
    stands = done.filter(snapshot__engine=ENGINE).values_list("snapshot", "started_at").first()
    if last is None or stands is None:
        return None
    snapshot = Snapshot.objects.only("public_id").get(pk=stands[0])
    return _CurrentBoard(snapshot, stands[1], (last[1] - last[0]).total_seconds())


def _plan_from(campaign: Campaign, current: _CurrentBoard, count: int) -> Planned | None:
    """Plan this many items from the current board; return None if planning fails."""
    try:
        posterior = Posterior.from_bytes(bytes(current.snapshot.posterior))
        planner, seen = Planner(campaign), queue_state_read(campaign, unseen_since=current.since)
        state = planner.state(posterior, judgments_spent(campaign), seen.counts)
        return planning.planned_of(planner, state, seen, count)
    except DatabaseError:
        raise
    except Exception:  # The next try would fail in the same way, and the board must not wait for it.
        log.warning("campaign %s: no queue top-up for this refit", campaign.slug, exc_info=True)
        return None


def _queue_lasts(campaign: Campaign, seconds: float) -> bool:
    """Return whether queue and backlog hold the answers of this many seconds, or the remaining budget."""
    waiting = Assignment.objects.filter(campaign=campaign, state=Assignment.State.QUEUED).count()
    waiting += backlog_size(campaign)
    if waiting >= planning.answered_in(campaign, seconds):
        return True
    left = budget_left(campaign)
    return left is not None and waiting >= left
