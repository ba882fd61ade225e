"""Outbox of jobs: rows that any worker claims by a lease and runs.

Both forms share one code path. The embedded worker polls. In production, Celery carries the id of a row as a wake-up,
and a periodic sweep sends lost ones again. One conditional UPDATE claims a job. The lease is renewed while the job
runs, and its writes are fenced: a worker without its lease cannot publish.
"""

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import Any

from django.conf import settings
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.models import Case, Count, DateTimeField, Exists, F, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from evalsite.core.composed import composed
from evalsite.core.db import CLOCK_SET_BACK, patient_statements, write_transaction
from evalsite.core.garbage_collection import freeze_gc
from evalsite.core.logs import log_place
from evalsite.core.models import Job
from evalsite.core.tracing import failure_record, traced_job

log = logging.getLogger(__name__)

LEASE = timedelta(seconds=settings.JOB_LEASE_S)
MAX_ATTEMPTS = 6
MAX_DEATHS = 2 * MAX_ATTEMPTS  # of workers: a machine that keeps crashing ends innocent jobs, too
LONGEST_BACKOFF = timedelta(minutes=5)
TURN = timedelta(minutes=10)  # accounts with jobs in this period yield to those without
KEPT = timedelta(days=7)  # completed jobs, for later inspection


class LeaseLost(Exception):
    """Another worker holds the lease of this job. Results computed here must not be written."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to run one job. It is valid while the row names this owner and this attempt."""

    job_id: int
    kind: str
    key: str
    args: Mapping[str, Any]
    owner: str
    attempt: int

    def confirm(self) -> None:
        """Check the lease inside the transaction that writes the results. Call it first. Raises LeaseLost."""
        if not _leased(self).select_for_update().exists():
            raise LeaseLost(f"job {self.job_id} ({self.kind}) belongs to another worker now")


Handler = Callable[[Lease], None]


class Lane(StrEnum):
    """Where a job runs: in the main loop, in a thread beside it, in threads that wait for servers, or in a process."""

    PLAIN = "plain"
    SLOW = "slow"
    OUTBOUND = "outbound"
    APART = "apart"


@dataclass(frozen=True, slots=True)
class Apart:
    """Settings of a job kind in a separate process: the time limit, and the function that records a timeout."""

    limit_s: float
    out_of_time: Handler


_handlers: dict[str, Handler] = {}
_tireless: set[str] = set()
_slow: set[str] = set()
_outbound: set[str] = set()
_apart: dict[str, "Apart"] = {}
_sweeps: dict[Callable[[], None], float] = {}  # with the least seconds between two runs
_swept: dict[Callable[[], None], float] = {}  # when each ran last in this process
preparations: list[Callable[[], None]] = []


def handles(
    kind: str,
    *,
    tireless: bool = False,
    slow: bool = False,
    outbound: bool = False,
    limit_s: float | None = None,
    out_of_time: Handler = lambda lease: None,
) -> Callable[[Handler], Handler]:
    """Register the function that runs jobs of this kind. A `tireless` job is retried without limit.

    A `slow` job takes minutes. The embedded worker runs it in a thread beside the others, and Celery in a queue of its
    own. An `outbound` job waits for servers of other people: some threads run such jobs, and Celery's queue of calls. A
    job with a time limit serves requests of people. It runs in a separate process, and accounts take turns. A
    job beyond its limit is aborted, and `out_of_time` records that.
    """

    def register(handler: Handler) -> Handler:
        if kind in _handlers and _handlers[kind] is not handler:
            raise ValueError(f"two handlers for jobs of kind {kind!r}")
        _handlers[kind] = handler
        if tireless:
            _tireless.add(kind)
        if slow:
            _slow.add(kind)
        if outbound:
            _outbound.add(kind)
        if limit_s is not None:
            _apart[kind] = Apart(limit_s, out_of_time)
        return handler

    return register


def sweeps(function: Callable[[], None], *, every_s: float = 0.0) -> Callable[[], None]:
    """Register a short periodic check (about once a second embedded, every two seconds in production).

    `every_s` is the least time between two runs in one process.
    """
    _sweeps[function] = every_s
    return function


def prepares(function: Callable[[], None]) -> Callable[[], None]:
    """Register a preparation that runs when a worker starts, so that the first job does not have to wait for it."""
    preparations.append(function)
    return function


def prepare() -> threading.Thread:
    """Run the preparations in a thread while work begins. A failed one is logged, and jobs run without it."""

    def get_ready() -> None:
        _run_all(preparations)
        freeze_gc()

    thread = threading.Thread(target=get_ready, name="preparations", daemon=True)
    thread.start()
    return thread


def job_enqueue(
    *,
    kind: str,
    key: str,
    args: Mapping[str, Any] | None = None,
    wait: timedelta = timedelta(0),
    account: uuid.UUID | None = None,
) -> Job:
    """Queue a job in the caller's transaction, due after `wait`.

    A job that is already queued under this key is reused and keeps its due time.
    """
    try:
        with transaction.atomic():
            due = timezone.now() + wait
            job = Job.objects.create(kind=kind, key=key, args=dict(args or {}), account=account, run_after=due)
    except IntegrityError:
        # Updating the queued row locks it until we commit. Without the lock a worker could claim it now and read the
        # database before our change is visible. The change would then never be processed.
        queued = Job.objects.filter(key=key, state=Job.State.QUEUED)
        if not queued.update(args=dict(args or {})):
            return job_enqueue(kind=kind, key=key, args=args, wait=wait, account=account)
        return queued.get()
    if settings.PRODUCTION and not wait:  # the sweep wakes jobs that had to wait
        transaction.on_commit(lambda: _wake(job.pk, _queue_of(kind)))
    return job


def job_is_pending(key: str) -> bool:
    """Return whether a job of this key is queued or running.

    A job whose worker died counts: another worker takes it over when the lease ends.
    """
    return Job.objects.filter(key=key, state__in=[Job.State.QUEUED, Job.State.RUNNING]).exists()


def job_drop(key: str, *, why: str) -> bool:
    """Mark the queued job of this key as done without running it. Return whether there was one."""
    queued = Job.objects.filter(key=key, state=Job.State.QUEUED)
    return bool(queued.update(state=Job.State.DONE, finished_at=_end_time(timezone.now()), last_error=why))


def job_claim(*, owner: str, job_id: int | None = None, lane: Lane | None = None) -> Lease | None:
    """Claim one due job: by id, or of a lane, if given. Return None if there is none.

    Jobs of the separate process take turns by account: the one with the fewest recent jobs comes first.
    """
    now = timezone.now()
    if job_id or lane is Lane.APART:
        due = _due(now).filter(pk=job_id) if job_id else _in_fair_order(_in_lane(_due(now), lane), now)
        is_due, locked = due.exists, due.select_for_update(skip_locked=True).first
    else:
        is_due, locked = partial(_is_due_in, lane, now), partial(_locked_in, lane, now)
    if not is_due():  # checked without a lock: an idle worker must not take the write lock
        return None
    with write_transaction():
        job = locked()
        if job is None:
            return None
        return _take(job, owner, now)


def job_run(lease: Lease) -> bool:
    """Run a claimed job to its end. Return whether it succeeded.

    A failed job is retried after a back-off that grows with each attempt; after MAX_ATTEMPTS it is dead. A tireless job
    continues at the longest back-off. A new request under its key waits for the same retry.
    """
    with log_place(job=lease.job_id, kind=lease.kind), traced_job(lease.job_id, lease.kind):
        return _run(lease)


def _run(lease: Lease) -> bool:
    try:
        with _heartbeat(lease), patient_statements():
            _handlers[lease.kind](lease)
    except LeaseLost:
        log.warning("job %s (%s): lease lost, result dropped", lease.job_id, lease.kind)
        return False
    except Exception as error:
        log.exception("job %s (%s) failed, attempt %s", lease.job_id, lease.kind, lease.attempt)
        failure_record(error)
        if not connection.in_atomic_block:  # a test's own connection must stay open
            connection.close_if_unusable_or_obsolete()  # the database may have restarted during the work
        _fail(lease, f"{type(error).__name__}: {error}")
        return False
    return _finish(lease, state=Job.State.DONE)


def work_once(owner: str, *, lane: Lane | None = None) -> bool:
    """Claim and run one job (see `job_claim`). Return False if there was none."""
    lease = job_claim(owner=owner, lane=lane)
    if lease is None:
        return False
    job_run(lease)
    return True


def job_run_now(*, key: str, owner: str) -> bool:
    """Run the queued job of this key here, unless a worker has claimed it. Return whether it succeeded here."""
    queued = Job.objects.filter(key=key, state=Job.State.QUEUED).values_list("pk", flat=True).first()
    lease = job_claim(owner=owner, job_id=queued) if queued is not None else None
    return lease is not None and job_run(lease)


def job_is_due_in(lane: Lane) -> bool:
    """Return whether a job of this lane is due."""
    return _is_due_in(lane, timezone.now())


def job_is_due(kind: str) -> bool:
    """Return whether a job of this kind is due. Long work that can wait lets such jobs run first."""
    now = timezone.now()
    return bool(_due_among(now, _far(now), [kind]))


def leases_release(*, host: str, alive: Callable[[int], bool]) -> int:
    """End the leases of dead worker processes of this host (owners are "host:pid"). Return their number.

    A worker that restarts after kill -9 does not have to wait for the lease of its predecessor.
    """
    released = 0
    running = Job.objects.filter(state=Job.State.RUNNING, lease_owner__startswith=f"{host}:")
    for number, name in running.values_list("pk", "lease_owner"):
        if alive(int(name.rpartition(":")[2])):
            continue
        with write_transaction():
            now = timezone.now()
            held = Job.objects.filter(pk=number, state=Job.State.RUNNING, lease_owner=name)
            released += held.update(lease_until=now - timedelta(seconds=1))
    return released


def sweep() -> None:
    """Run every periodic check that is due. A failed one does not stop the others."""
    now = time.monotonic()
    due = [one for one, every_s in _sweeps.items() if not 0 <= now - _swept.get(one, -every_s) < every_s]
    _swept.update(dict.fromkeys(due, now))
    _run_all(due)


def done_jobs_delete() -> None:
    """Delete old completed jobs. Dead jobs stay, because somebody must inspect them."""
    # Ordered by due time, which is indexed. Checked without a lock first: an idle sweep must not take the write lock.
    old = Job.objects.filter(state=Job.State.DONE, run_after__lt=timezone.now() - KEPT).order_by("run_after")
    if old.exists():
        with write_transaction():
            Job.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:1000])).delete()


def jobs_due() -> list[tuple[int, str]]:
    """Return ids and queues of due jobs. The production sweep sends them again."""
    due = _due(timezone.now())
    # A limit per lane: a hundred inquiries of one account must not hide a refit. A wake-up for the separate process
    # serves any of its jobs, so a few are enough for all workers.
    most = {Lane.APART: 5}
    lanes = [_in_lane(due, lane).values_list("pk", "kind")[: most.get(lane, 100)] for lane in Lane]
    return [(number, _queue_of(kind)) for found in lanes for number, kind in found]


def _run_all(functions: list[Callable[[], None]]) -> None:
    for function in functions:
        try:
            function()
        except Exception:
            log.exception("%s failed", function.__name__)


def _queue_of(kind: str) -> str:
    if kind in _apart:
        return settings.INQUIRY_QUEUE
    if kind in _outbound:
        return settings.CALL_QUEUE
    return settings.SLOW_QUEUE if kind in _slow else settings.QUEUE


def _in_lane(jobs: QuerySet[Job], lane: Lane | None) -> QuerySet[Job]:
    named, kinds = _kinds_of(lane)
    return jobs.filter(kind__in=kinds) if named else jobs.exclude(kind__in=kinds)


def _is_due_in(lane: Lane | None, now: datetime) -> bool:
    named, kinds = _kinds_of(lane)
    return bool((_due_among if named else _due_besides)(now, _far(now), kinds))


def _locked_in(lane: Lane | None, now: datetime) -> Job | None:
    """Return the job of this lane that has waited longest, locked in the caller's transaction."""
    named, kinds = _kinds_of(lane)
    found = (_locked_among if named else _locked_besides)(now, _far(now), kinds)
    return found[0] if found else None


def _kinds_of(lane: Lane | None) -> tuple[bool, list[str]]:
    """Return the kinds of a lane (True), or those of all other lanes (False). The empty kind is that of no job."""
    match lane:
        case Lane.SLOW:
            return True, sorted({"", *_slow})
        case Lane.OUTBOUND:
            return True, sorted({"", *_outbound})
        case Lane.APART:
            return True, sorted({"", *_apart})
        case Lane.PLAIN:
            return False, sorted({"", *_slow, *_outbound, *_apart})
    return False, [""]


@composed
def _due_among(now: datetime, far: datetime, kinds: list[str]) -> QuerySet[Job, int]:
    return _due_at(now, far).filter(kind__in=kinds).values_list("pk", flat=True)[:1]


@composed
def _due_besides(now: datetime, far: datetime, kinds: list[str]) -> QuerySet[Job, int]:
    return _due_at(now, far).exclude(kind__in=kinds).values_list("pk", flat=True)[:1]


@composed
def _locked_among(now: datetime, far: datetime, kinds: list[str]) -> QuerySet[Job, Job]:
    return _due_at(now, far).filter(kind__in=kinds).select_for_update(skip_locked=True)[:1]


@composed
def _locked_besides(now: datetime, far: datetime, kinds: list[str]) -> QuerySet[Job, Job]:
    return _due_at(now, far).exclude(kind__in=kinds).select_for_update(skip_locked=True)[:1]


def _in_fair_order(jobs: QuerySet[Job], now: datetime) -> QuerySet[Job]:
    recent = Job.objects.filter(kind__in=_apart, account=OuterRef("account"), created_at__gt=now - TURN, attempts__gt=0)
    count = recent.order_by().values("account").annotate(n=Count("pk")).values("n")
    return jobs.annotate(begun=Coalesce(Subquery(count), 0)).order_by("begun", "run_after", "pk")


def _far(now: datetime) -> datetime:
    return now + CLOCK_SET_BACK


def _due(now: datetime) -> QuerySet[Job]:
    """Return the jobs that can be claimed now, longest waiting first.

    Jobs that were queued before the clock was set back come first. Otherwise work that queues itself again and again
    would starve them.
    """
    return _due_at(now, _far(now))


def _due_at(now: datetime, far: datetime) -> QuerySet[Job]:
    """Return the same jobs. far: queued for a later time than this, a job was queued before the clock was set back."""
    running = Job.objects.filter(key=OuterRef("key"), state=Job.State.RUNNING)
    queued = Q(state=Job.State.QUEUED) & (Q(run_after__lte=now) | Q(run_after__gt=far)) & ~Exists(running)
    abandoned = Q(state=Job.State.RUNNING) & (Q(lease_until__lt=now) | Q(lease_until__gt=far))
    since = Case(When(run_after__gt=far, then=Value(0)), default=Value(1))
    return Job.objects.filter(queued | abandoned).order_by(since, "run_after", "pk")


def _take(job: Job, owner: str, now: datetime) -> Lease | None:
    if job.state == Job.State.RUNNING and job.attempts >= MAX_ATTEMPTS:
        _reschedule_abandoned(job, now)
        return None
    attempt = job.attempts + 1
    try:
        with transaction.atomic():
            taken = Job.objects.filter(pk=job.pk, state=job.state, attempts=job.attempts).update(
                state=Job.State.RUNNING, lease_owner=owner, lease_until=now + LEASE, attempts=attempt
            )
    except IntegrityError:  # another worker started this key between our query and our update
        return None
    return Lease(job.pk, job.kind, job.key, job.args, owner, attempt) if taken else None


def _reschedule_abandoned(job: Job, now: datetime) -> None:
    """Reschedule a job whose workers died repeatedly without an error.

    The job may kill them, or the machine may have crashed each time. It is delayed so that other work comes first.
    After MAX_DEATHS it is dead.
    """
    held, error = Job.objects.filter(pk=job.pk, state=job.state, attempts=job.attempts), "its workers died"
    if job.attempts >= MAX_DEATHS and job.kind not in _tireless:
        held.update(state=Job.State.DEAD, finished_at=_end_time(now), last_error=error)
        return
    _requeue(held, job.key, at=now + _back_off(1 + job.attempts - MAX_ATTEMPTS), attempts=job.attempts, error=error)


def _requeue(held: QuerySet[Job], key: str, *, at: datetime, attempts: int, error: str) -> None:
    """Queue a job for another attempt. A newer job that is queued under the same key takes its place."""
    try:
        with transaction.atomic():
            held.update(state=Job.State.QUEUED, run_after=at, last_error=error[:2000], lease_owner="")
    except IntegrityError:
        held.update(state=Job.State.DONE, finished_at=_end_time(timezone.now()), last_error=error[:2000])
        Job.objects.filter(key=key, state=Job.State.QUEUED).update(run_after=at, attempts=attempts)


def _back_off(times: int) -> timedelta:
    return min(timedelta(seconds=2 ** min(times, 20)), LONGEST_BACKOFF)


def _end_time(now: datetime) -> Greatest:
    """Return the end time of a job: never before its creation, even if the clock was set back meanwhile."""
    return Greatest(Value(now, output_field=DateTimeField()), F("created_at"))


def _leased(lease: Lease) -> QuerySet[Job]:
    return Job.objects.filter(pk=lease.job_id, state=Job.State.RUNNING, lease_owner=lease.owner, attempts=lease.attempt)


def _finish(lease: Lease, *, state: Job.State, error: str = "") -> bool:
    with write_transaction():
        return bool(_leased(lease).update(state=state, finished_at=_end_time(timezone.now()), last_error=error[:2000]))


def _fail(lease: Lease, error: str) -> None:
    if lease.attempt >= MAX_ATTEMPTS and lease.kind not in _tireless:
        _finish(lease, state=Job.State.DEAD, error=error)
        return
    at = timezone.now() + _back_off(lease.attempt)
    with write_transaction():
        _requeue(_leased(lease), lease.key, at=at, attempts=lease.attempt, error=error)


@contextmanager
def _heartbeat(lease: Lease) -> Iterator[None]:
    """Renew the lease in a thread of its own during the work."""
    done = threading.Event()

    def beat() -> None:
        while not done.wait(LEASE.total_seconds() / 3):
            try:
                with write_transaction():
                    _leased(lease).update(lease_until=timezone.now() + LEASE)
            except DatabaseError:  # a busy database is no reason to abort: the next renewal tries again
                log.warning("the lease of job %s could not be renewed", lease.job_id, exc_info=True)
                connection.close()
        connection.close()

    thread = threading.Thread(target=beat, name=f"lease-{lease.job_id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@contextmanager
def limited(lease: Lease, end: Callable[[], None]) -> Iterator[None]:
    """Abort a job after its time limit: record it in another thread, then call `end`, which ends the process.

    A thread cannot be stopped in the middle of compiled code; only a process can.
    """
    apart, done = _apart[lease.kind], threading.Event()

    def watch() -> None:
        if done.wait(apart.limit_s):
            return
        log.warning("job %s (%s) took longer than %s s and is given up", lease.job_id, lease.kind, apart.limit_s)
        try:
            with write_transaction():
                lease.confirm()
                apart.out_of_time(lease)
            _finish(lease, state=Job.State.DONE, error="it took too long")
        except Exception:
            log.exception("job %s could not be given up", lease.job_id)
        end()

    thread = threading.Thread(target=watch, name=f"limit-{lease.job_id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()


def work_apart(owner: str, *, end: Callable[[], None]) -> bool:
    """Run one job of the APART lane within its time limit. Return False if there was none. `end` ends this process."""
    lease = job_claim(owner=owner, lane=Lane.APART)
    if lease is None:
        return False
    with limited(lease, end):
        job_run(lease)
    return True


def _wake(job_id: int, queue: str = settings.QUEUE) -> None:
    from evalsite.core.tasks import job_send  # import Celery only with a configured broker

    try:
        job_send(job_id, queue)
    except Exception as error:  # noqa: BLE001  the row is safe; the sweep sends it again
        log.warning("broker not reachable, job %s waits for the sweep: %s", job_id, error)
