"""Caller: claims requests, calls endpoints in threads, and records what they reply.

One loop reads and writes the database; threads only call. Each endpoint has a share of the threads, so that slow
endpoints delay nobody else's calls. Results that cannot be recorded now are kept and recorded later.
"""

import logging
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, close_old_connections
from django.utils import timezone

from evalsite.endpoints.call import CallOutcome, endpoint_call
from evalsite.endpoints.failures import ErrorClass, Failure
from evalsite.endpoints.queue import PlannedCall, calls_claim, endpoints_with_work
from evalsite.endpoints.recording import CallResult, calls_record, lost_calls_requeue

log = logging.getLogger(__name__)

POLL_S, LOST_EVERY_S, REFUSED_FOR_S, STOP_S = 0.1, 1.0, 0.3, 8.0
KEPT_FREE = 0.25  # share of the threads that only endpoints with few calls in progress may use
FEW = 4
BATCH = 200  # results of one transaction
LEAST_STEP_S = 0.05  # between two rounds: more results share a transaction, and its statements


class Caller:
    """A process that calls endpoints. `owner` is "host:pid"; `slots` is the most calls at once."""

    def __init__(self, *, owner: str, slots: int = settings.CALLER_SLOTS) -> None:
        self.owner = owner
        self.slots = slots
        self._plans: queue.SimpleQueue[PlannedCall | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[CallResult] = queue.SimpleQueue()
        self._unrecorded: list[CallResult] = []
        self._in_progress: Counter[int] = Counter()
        self._refused: dict[int, float] = {}
        self._threads = 0
        self._lost_due = 0.0
        self._last_step = 0.0

    def run_until(self, stop: threading.Event, *, idle: Callable[[], bool] = lambda: False) -> None:
        """Work until `stop` is set or `idle` returns true while nothing is in progress.

        At the stop, calls in progress have a few seconds to end. Others are taken over by the next caller.
        """
        while not stop.is_set():
            if not self._step(claim=True) and not self._busy and idle():
                break
        deadline = time.monotonic() + STOP_S
        while self._busy and time.monotonic() < deadline:
            self._step(claim=False)
        for _ in range(self._threads):
            self._plans.put(None)

    @property
    def _busy(self) -> bool:
        return bool(self._in_progress.total() or self._unrecorded)

    def _step(self, *, claim: bool) -> bool:
        """Record what has come, and begin further calls. Return whether there was anything to do."""
        time.sleep(max(0.0, self._last_step + LEAST_STEP_S - time.monotonic()))
        self._last_step = time.monotonic()
        try:
            recorded = self._record()
            begun = self._begin() if claim else 0
        except DatabaseError:
            log.exception("the database did not answer; trying again")
            close_old_connections()
            time.sleep(1.0)
            return False
        if not begun and not recorded:
            self._collect(wait_s=POLL_S)
        return bool(begun or recorded or self._unrecorded)

    def _collect(self, *, wait_s: float = 0.0) -> None:
        """Move results from the threads to those that are recorded next; wait for the first one."""
        try:
            while len(self._unrecorded) < BATCH:
                result = self._results.get(timeout=wait_s) if wait_s else self._results.get_nowait()
                self._unrecorded.append(result)
                self._in_progress[result.planned.endpoint_id] -= 1
                wait_s = 0.0
        except queue.Empty:
            return

    def _record(self) -> int:
        self._collect()
        results_record(self._unrecorded)
        count, self._unrecorded = len(self._unrecorded), []
        if time.monotonic() >= self._lost_due:
            self._lost_due = time.monotonic() + LOST_EVERY_S
            lost_calls_requeue()
        return count

    def _begin(self) -> int:
        """Claim and begin calls within the room of each endpoint. Return their number."""
        now = time.monotonic()
        waiting = [one for one in endpoints_with_work() if self._refused.get(one, 0.0) <= now]
        room = rooms(waiting, self._in_progress, self.slots)
        plans = calls_claim(owner=self.owner, room=room)
        got = Counter(plan.endpoint_id for plan in plans)
        self._refused = {one: now + REFUSED_FOR_S for one in room if not got[one]} | {
            one: until for one, until in self._refused.items() if until > now
        }
        for plan in plans:
            self._in_progress[plan.endpoint_id] += 1
            self._plans.put(plan)
        self._start_threads()
        return len(plans)

    def _start_threads(self) -> None:
        while self._threads < min(self.slots, self._in_progress.total()):
            self._threads += 1
            threading.Thread(target=self._call_forever, name=f"call-{self._threads}", daemon=True).start()

    def _call_forever(self) -> None:
        while (plan := self._plans.get()) is not None:
            self._results.put(call_make(plan))


def call_make(plan: PlannedCall) -> CallResult:
    """Call the endpoint. An error of our own is an outcome, too: a thread must not end by it."""
    started = timezone.now()
    try:
        outcome = endpoint_call(plan.adapter, plan.options, plan.messages, timeout_s=plan.timeout_s)
    except Exception as error:  # noqa: BLE001  its text may contain the secret, so only its type is logged
        log.error("a call of endpoint %s failed by %s", plan.endpoint_id, type(error).__name__)
        failure = Failure(ErrorClass.INTERNAL, detail=type(error).__name__)
        outcome = CallOutcome(None, failure, None, started, None, timezone.now())
    return CallResult(plan, outcome)


def results_record(results: Sequence[CallResult]) -> None:
    """Record results together. If one of them cannot be stored, record each one alone, and drop that one.

    Its lease ends later, and the request counts as lost. Raises errors of an absent database.
    """
    try:
        calls_record(results)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        log.exception("%s results could not be recorded together", len(results))
        if len(results) > 1:
            for result in results:
                results_record([result])


def rooms(waiting: Sequence[int], in_progress: Mapping[int, int], slots: int) -> dict[int, int]:
    """Return how many further calls of each endpoint may begin here.

    Endpoints share the slots. A quarter is kept for endpoints with few calls in progress, so that an endpoint that
    begins now does not wait for slow ones.
    """
    active = {one for one, count in in_progress.items() if count} | set(waiting)
    free = slots - sum(in_progress.values())
    kept = int(slots * KEPT_FREE)
    share = max(FEW, (slots - kept) // max(1, len(active)))
    found: dict[int, int] = {}
    for one in sorted(waiting, key=lambda number: in_progress.get(number, 0)):
        held = in_progress.get(one, 0)
        usable = free if held < FEW else free - kept
        most = share - held if held >= FEW or free > kept else FEW - held
        if (room := min(most, usable)) > 0:
            found[one] = room
            free -= room
    return found


def calls_run(endpoint_id: int, *, owner: str, until: float) -> int:
    """Call one endpoint until it has no due request, or until this time (monotonic). Return the number of calls.

    This is the work of one Celery thread. The number of threads is limited by the endpoint, not here.
    """
    count = 0
    while time.monotonic() < until:
        plans = calls_claim(owner=owner, room={endpoint_id: 1})
        if not plans:
            break
        calls_record([call_make(plans[0])])
        count += 1
    return count
