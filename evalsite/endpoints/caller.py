"""Caller: claims requests, calls endpoints in threads, and records what they reply.

One loop reads and writes the database; threads only call. Each endpoint has a share of the threads, so that slow
endpoints delay nobody else's calls. Results that cannot be recorded now are kept and recorded later.
"""

import logging
import math
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, close_old_connections
from django.utils import timezone

from evalsite.core.worker import process_alive
from evalsite.endpoints.call import CallOutcome, endpoint_call
from evalsite.endpoints.failures import ErrorClass, Failure
from evalsite.endpoints.queue import PlannedCall, calls_claim, endpoints_with_work, leases_release
from evalsite.endpoints.recording import CallResult, calls_record, lost_calls_requeue

log = logging.getLogger(__name__)

POLL_S, LOST_EVERY_S, REFUSED_FOR_S, STOP_S = 0.1, 1.0, 0.3, 8.0
KEPT_FREE = 0.25  # share of the threads that only endpoints with few calls in progress may use
FEW = 4
BATCH = 200  # results of one transaction
LINGER_S = 3.0  # of a caller that messages wake
LEAST_STEP_S, LONGEST_REST_S = 0.05, 0.05
"""Between two rounds. The rest is as long as the last round, up to its limit: results share statements under load."""


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
        self._next_step = 0.0
        self._last_work = time.monotonic()

    def run_until(
        self, stop: threading.Event, *, idle: Callable[[], bool] = lambda: False, until: float = math.inf
    ) -> None:
        """Work until `stop` is set, the time `until` (monotonic) is over, or `idle` is true with nothing in progress.

        At the stop, calls in progress have a few seconds to end. Others are taken over by the next caller. After
        `until` no further call begins, and all calls in progress end.
        """
        try:
            while not stop.is_set() and time.monotonic() < until:
                if not self._step(claim=True) and not self._busy and idle():
                    return
            self._drain(stop)
        finally:
            for _ in range(self._threads):
                self._plans.put(None)

    def _drain(self, stop: threading.Event) -> None:
        deadline = math.inf
        while self._busy and time.monotonic() < deadline:
            if stop.is_set():
                deadline = min(deadline, time.monotonic() + STOP_S)
            self._step(claim=False)

    @property
    def quiet_s(self) -> float:
        """Seconds since the last call began or was recorded."""
        return time.monotonic() - self._last_work

    @property
    def _busy(self) -> bool:
        return bool(self._in_progress.total() or self._unrecorded)

    def _step(self, *, claim: bool) -> bool:
        """Record what has come, and begin further calls. Return whether there was anything to do."""
        time.sleep(max(0.0, self._next_step - time.monotonic()))
        began = time.monotonic()
        try:
            recorded = self._record()
            begun = self._begin() if claim else 0
            took = time.monotonic() - began
            self._next_step = began + max(LEAST_STEP_S, took + min(took, LONGEST_REST_S))
        except DatabaseError:
            log.exception("the database did not answer; trying again")
            close_old_connections()
            time.sleep(1.0)
            return False
        if begun or recorded:
            self._last_work = time.monotonic()
        else:
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


class SharedCaller:
    """The caller of a process whose threads are woken by messages. `owner` returns "host:pid".

    One thread runs it, with one connection to the database. It lingers after its last call, because a new caller needs
    a new connection, and because messages that follow one another closely are not sent (`tasks.callers_wake`).
    """

    def __init__(self, owner: Callable[[], str], *, linger_s: float = LINGER_S) -> None:
        self.stop = threading.Event()
        self._owner = owner
        self._linger_s = linger_s
        self._woken = threading.Event()
        self._running = threading.Lock()

    def wake(self, *, until: float = math.inf) -> None:
        """Call until no request is due. Return at once if another thread does: it sees all due requests."""
        self._woken.set()
        while self._wanted(until) and self._running.acquire(blocking=False):
            try:
                self._woken.clear()
                self._run(until)
            finally:
                self._running.release()

    @property
    def is_running(self) -> bool:
        return self._running.locked()

    def _wanted(self, until: float) -> bool:
        return self._woken.is_set() and not self.stop.is_set() and time.monotonic() < until

    def _run(self, until: float) -> None:
        name = self._owner()
        leases_release(host=name.rpartition(":")[0], alive=process_alive)
        caller = Caller(owner=name)
        caller.run_until(self.stop, idle=lambda: caller.quiet_s > self._linger_s, until=until)
