"""What annotators have to do while a board is refitted: where the queue would not last, more is planned, before the fit
and during it, from the board that stands."""

import logging
import time
from dataclasses import dataclass
from datetime import datetime

from django.db import DatabaseError

from evalsite.adaptive import planning
from evalsite.adaptive.models import Board, Refit, Snapshot
from evalsite.adaptive.planning import Planned
from evalsite.adaptive.tables import ENGINE, Planner
from evalsite.campaigns.models import Campaign
from evalsite.core.db import write_transaction
from evalsite.core.jobs import Lease
from evalsite.judgments.models import Assignment
from evalsite.judgments.queue import queue_look
from evalsite.judgments.selectors import budget_left, judgments_spent
from irt_engine import Posterior

log = logging.getLogger(__name__)
LASTS = 1.25  # refits: what is planned after a fit is not part of how long it took. Less than what is planned ahead
SHORT_S = 1.0  # a refit that is over so soon plans soon enough
LOOKS_EVERY_S = 0.5  # during a fit
RUNS_DRY_S = 4.0  # what waits is gone sooner: a plan takes one or two, and so does what follows a fit


@dataclass(frozen=True, slots=True)
class _Standing:
    """The board that stands: its snapshot, when its refit began, and how long the last one took that was fitted."""

    snapshot: Snapshot
    since: datetime
    took_s: float


class Supply:
    """Keeps the queue of one campaign from running dry during one refit of its board.

    How long a refit will take is guessed from the last one; where others want the processors it takes longer, which
    only looking at the queue again tells. What was answered since the standing board's refit began counts as pending,
    as that board does not know it. What keeps such a plan from being made keeps nobody from a refit, whose own plan
    will tell.
    """

    def __init__(self, board: Board, campaign: Campaign, lease: Lease) -> None:
        self.campaign_id, self.lease = campaign.pk, lease
        self.standing = _standing(board)  # None, too, once it can give no more
        self.began = self.looked = time.monotonic()

    def before(self) -> None:
        """Plan first, where the queue would not last for the refit that begins now."""
        if self.standing and self.standing.took_s >= SHORT_S:
            self._keep(self.standing, LASTS * self.standing.took_s)

    def during(self, _done: int, _most: int) -> None:
        """Plan now, where the queue is about to run dry: a fit's `progress`."""
        if self.standing and time.monotonic() - self.looked >= LOOKS_EVERY_S:
            self._keep(self.standing, RUNS_DRY_S)
            self.looked = time.monotonic()

    def _keep(self, standing: _Standing, seconds: float) -> None:
        """See to it that what waits lasts for so long at the pace of the answers, or is all that the budget has."""
        campaign = Campaign.objects.select_related("stopping").get(pk=self.campaign_id)
        if not campaign.collecting or _lasts(campaign, seconds):
            return
        takes_s = max(standing.took_s, time.monotonic() - self.began, RUNS_DRY_S)
        count = planning.queue_size(campaign, takes_s)
        planned = _planned(campaign, standing, count)
        if planned is None or len(planned.asks) < count:
            self.standing = None
        if planned is None or not planned.asks:
            return
        with write_transaction():
            self.lease.confirm()
            now = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
            rest = planning.queue_begin(now, planned, standing.snapshot) if planning.still_good(planned, now) else None
        planning.queue_finish(planned, rest, self.lease)


def _standing(board: Board) -> _Standing | None:
    done = Refit.objects.filter(board=board).select_related("snapshot").order_by("-pk")
    last, stands = done.filter(outcome=Refit.Outcome.PUBLISHED).first(), done.filter(snapshot__engine=ENGINE).first()
    if last is None or stands is None or stands.snapshot is None:
        return None
    return _Standing(stands.snapshot, stands.started_at, (last.finished_at - last.started_at).total_seconds())


def _planned(campaign: Campaign, standing: _Standing, count: int) -> Planned | None:
    """So many asks by the board that stands; None where they cannot be planned."""
    try:
        posterior = Posterior.from_bytes(bytes(standing.snapshot.posterior))
        planner, seen = Planner(campaign), queue_look(campaign, unseen_since=standing.since)
        state = planner.state(posterior, judgments_spent(campaign), seen.counts)
        return planning.planned_of(planner, state, seen, count)
    except DatabaseError:
        raise
    except Exception:  # whatever it is, the next try would meet it again: the board must not wait for it
        log.warning("%s has no plan while it is refitted", campaign.slug, exc_info=True)
        return None


def _lasts(campaign: Campaign, seconds: float) -> bool:
    """Whether the queue holds what is answered in so many seconds, or all that the budget has."""
    waiting = Assignment.objects.filter(campaign=campaign, state=Assignment.State.QUEUED).count()
    if waiting >= planning.answered_in(campaign, seconds):
        return True
    left = budget_left(campaign)
    return left is not None and waiting >= left
