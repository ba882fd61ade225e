"""What annotators have to do while a board is refitted: where the queue would not last, more is planned, before the fit
and during it, from the board that stands."""

import logging
import time
from dataclasses import dataclass
from datetime import datetime

from django.db import DatabaseError

from evalsite.boards.models import Board, Refit, Snapshot
from evalsite.campaigns.models import Campaign
from evalsite.core.db import write_transaction
from evalsite.core.jobs import Lease
from evalsite.judgments.backlog import reserve_size
from evalsite.judgments.models import Assignment
from evalsite.judgments.queue import queue_look
from evalsite.judgments.selectors import budget_left, judgments_spent
from evalsite.refits import planning
from evalsite.refits.mapping import ENGINE, Planner
from evalsite.refits.planning import Planned
from irt_engine import Posterior

log = logging.getLogger(__name__)
LASTS = 1.25  # refits: what is planned after a fit is not part of how long it took. Less than what is planned ahead
SHORT_S = 1.0  # a refit that is over so soon plans soon enough
LOOKS_EVERY_S = 0.5  # during a fit
GAVE_LESS_S = 30.0  # until it is looked again where there was less to ask than wanted, or the database refused
RUNS_DRY_S = 4.0  # what waits is gone sooner: a plan takes one or two, and so does what follows a fit


@dataclass(frozen=True, slots=True)
class _Standing:
    """The board that stands: its snapshot, when its refit began, and how long the last one took that was fitted."""

    snapshot: Snapshot  # without its posterior, which is read to plan
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
        self.standing = _standing(board)  # None, too, once it gave no plan
        self.began = time.monotonic()
        self.next_look = self.began + LOOKS_EVERY_S

    def before(self) -> None:
        """Plan first, where the queue would not last for the refit that begins now."""
        if self.standing and self.standing.took_s >= SHORT_S:
            self._keep(self.standing, LASTS * self.standing.took_s)

    def during(self, _done: int, _most: int) -> None:
        """Plan now, where the queue is about to run dry: a fit's `progress`. It fails of nothing but a lost lease."""
        if self.standing is None or time.monotonic() < self.next_look:
            return
        try:
            gave_all = self._keep(self.standing, RUNS_DRY_S)
        except DatabaseError:  # such as a queue that is locked for too long: the fit goes on, and writes by itself
            log.warning("campaign %s: nothing planned during a fit", self.campaign_id, exc_info=True)
            gave_all = False
        self.next_look = time.monotonic() + (LOOKS_EVERY_S if gave_all else GAVE_LESS_S)

    def _keep(self, standing: _Standing, seconds: float) -> bool:
        """See to it that what waits lasts for so long at the pace of the answers, or is all that the budget has.
        Whether there was as much to ask as was wanted."""
        campaign = Campaign.objects.select_related("stopping").get(pk=self.campaign_id)
        if not campaign.collecting or _lasts(campaign, seconds):
            return True
        takes_s = max(standing.took_s, time.monotonic() - self.began, RUNS_DRY_S)
        count = planning.queue_size(campaign, takes_s)
        planned = _planned(campaign, standing, count)
        if planned is None:
            self.standing = None
        if planned is None or not planned.asks:
            return False
        with write_transaction():
            self.lease.confirm()
            now = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
            rest = planning.queue_begin(now, planned, standing.snapshot) if planning.still_good(planned, now) else None
        planning.queue_finish(planned, rest, self.lease)
        return len(planned.asks) >= count


def _standing(board: Board) -> _Standing | None:
    done = Refit.objects.filter(board=board).order_by("-pk")
    last = done.filter(outcome=Refit.Outcome.PUBLISHED).values_list("started_at", "finished_at").first()
    stands = done.filter(snapshot__engine=ENGINE).values_list("snapshot", "started_at").first()
    if last is None or stands is None:
        return None
    snapshot = Snapshot.objects.only("public_id").get(pk=stands[0])
    return _Standing(snapshot, stands[1], (last[1] - last[0]).total_seconds())


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
    """Whether the queue holds what is answered in so many seconds, or all that the budget has, with what waits behind
    it."""
    waiting = Assignment.objects.filter(campaign=campaign, state=Assignment.State.QUEUED).count()
    waiting += reserve_size(campaign)
    if waiting >= planning.answered_in(campaign, seconds):
        return True
    left = budget_left(campaign)
    return left is not None and waiting >= left
