"""The outbox: work as rows, claimed by a lease, executed by any worker.

One code path for both forms. The embedded worker polls; in production Celery carries a row's id as a wake-up
and a periodic sweep sends again what was lost. Either way a job is claimed by one conditional UPDATE, its lease
is renewed while it runs, and what it writes is fenced: a worker that lost its lease cannot publish.
"""

import logging
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.models import Case, Count, DateTimeField, Exists, F, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from evalsite.core.db import CLOCK_SET_BACK, patient_statements, write_transaction
from evalsite.core.garbage_collection import freeze_gc
from evalsite.core.models import Job

log = logging.getLogger(__name__)

LEASE = timedelta(seconds=settings.JOB_LEASE_S)
MAX_ATTEMPTS = 6
MAX_DEATHS = 2 * MAX_ATTEMPTS  # of workers: a machine that goes down again and again takes with it whatever it does
LONGEST_BACKOFF = timedelta(minutes=5)
TURN = timedelta(minutes=10)  # whose work was done in it waits for those whose was not
KEPT = timedelta(days=7)  # what is done, for whoever looks into what happened


class LeaseLost(Exception):
    """Another worker owns this job now; whatever this one computed must not be written."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to run one job: valid while the row still names this owner and this attempt."""

    job_id: int
    kind: str
    key: str
    args: Mapping[str, Any]
    owner: str
    attempt: int

    def confirm(self) -> None:
        """Call first inside the transaction that writes the results; raises LeaseLost (the fence)."""
        if not _held(self).select_for_update().exists():
            raise LeaseLost(f"job {self.job_id} ({self.kind}) belongs to another worker now")


Handler = Callable[[Lease], None]


class Lane(StrEnum):
    """Who does a job: the loop that refits, a thread beside it, or a process apart."""

    PLAIN = "plain"
    SLOW = "slow"
    APART = "apart"


@dataclass(frozen=True, slots=True)
class Apart:
    """A kind of job that is done in a process apart: its time limit, and what to note when it is over."""

    limit_s: float
    out_of_time: Handler


_handlers: dict[str, Handler] = {}
_tireless: set[str] = set()
_slow: set[str] = set()
_apart: dict[str, "Apart"] = {}
_sweeps: list[Callable[[], None]] = []
preparations: list[Callable[[], None]] = []


def handles(
    kind: str,
    *,
    tireless: bool = False,
    slow: bool = False,
    limit_s: float | None = None,
    out_of_time: Handler = lambda lease: None,
) -> Callable[[Handler], Handler]:
    """Register the function that runs jobs of this kind. What is `tireless` is tried again however often it fails.

    What is `slow` takes minutes: the embedded worker does it beside the others, which do not wait for it, and Celery
    carries it in a queue of its own. What has a time limit is asked for by people, as often as they like: it is done in
    a process apart, accounts take turns, and what takes longer is given up (`out_of_time` notes it).
    """

    def register(handler: Handler) -> Handler:
        if kind in _handlers and _handlers[kind] is not handler:
            raise ValueError(f"two handlers for jobs of kind {kind!r}")
        _handlers[kind] = handler
        if tireless:
            _tireless.add(kind)
        if slow:
            _slow.add(kind)
        if limit_s is not None:
            _apart[kind] = Apart(limit_s, out_of_time)
        return handler

    return register


def sweeps(function: Callable[[], None]) -> Callable[[], None]:
    """Register a short periodic check (about once a second embedded, every two seconds in production)."""
    _sweeps.append(function)
    return function


def prepares(function: Callable[[], None]) -> Callable[[], None]:
    """Register what a worker gets ready when it begins, so that the first job which needs it need not."""
    preparations.append(function)
    return function


def prepare() -> threading.Thread:
    """Get everything ready beside the work, which begins at once; one that fails is noted, and jobs go without it."""

    def get_ready() -> None:
        _all_of(preparations)
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
    """Queue work in the caller's transaction, to be done after `wait`; a job already queued under this key is the same
    job, and due when it was."""
    try:
        with transaction.atomic():
            due = timezone.now() + wait
            job = Job.objects.create(kind=kind, key=key, args=dict(args or {}), account=account, run_after=due)
    except IntegrityError:
        # Touching the queued row locks it until we commit. Without the lock a worker could claim it now and read
        # the database before our change is there, and nobody would look again.
        queued = Job.objects.filter(key=key, state=Job.State.QUEUED)
        if not queued.update(args=dict(args or {})):
            return job_enqueue(kind=kind, key=key, args=args, wait=wait, account=account)
        return queued.get()
    if settings.PRODUCTION and not wait:  # the sweep wakes what has waited
        transaction.on_commit(lambda: _wake(job.pk, _queue_of(kind)))
    return job


def job_waits(key: str) -> bool:
    """Whether work under this key is queued or under way (one whose worker died is taken over when its lease ends)."""
    return Job.objects.filter(key=key, state__in=[Job.State.QUEUED, Job.State.RUNNING]).exists()


def job_is_asked_again(lease: Lease) -> bool:
    """Whether the work that is being done under this lease is to be done once more."""
    return Job.objects.filter(key=lease.key, state=Job.State.QUEUED).exists()


def job_drop(key: str, *, why: str) -> bool:
    """End the queued job of this key without doing it; whether there was one."""
    queued = Job.objects.filter(key=key, state=Job.State.QUEUED)
    return bool(queued.update(state=Job.State.DONE, finished_at=_ended(timezone.now()), last_error=why))


def job_claim(*, owner: str, job_id: int | None = None, lane: Lane | None = None) -> Lease | None:
    """Take one due job: this one, if named; of this lane, if named. None: nothing to take.

    What is done apart goes by turns: first the account that has had the fewest jobs done of late.
    """
    now = timezone.now()
    due = _due(now).filter(pk=job_id) if job_id else _in_lane(_due(now), lane)
    if lane is Lane.APART:
        due = _by_turns(due, now)
    if not due.exists():  # without a lock: idling must not take the write lock
        return None
    with write_transaction():
        job = due.select_for_update(skip_locked=True).first()
        if job is None:
            return None
        return _take(job, owner, now)


def job_run(lease: Lease) -> bool:
    """Run a claimed job to its end. Failures back off and are kept; after MAX_ATTEMPTS the job is dead.

    A tireless one goes on, at the longest distance. What is asked for meanwhile under its key waits with it.
    """
    try:
        with _heartbeat(lease), patient_statements():
            _handlers[lease.kind](lease)
    except LeaseLost:
        log.warning("job %s (%s): lease lost, result dropped", lease.job_id, lease.kind)
        return False
    except Exception as error:
        log.exception("job %s (%s) failed, attempt %s", lease.job_id, lease.kind, lease.attempt)
        if not connection.in_atomic_block:  # as within a test's, whose connection is the test's own
            connection.close_if_unusable_or_obsolete()  # the database may have been restarted under the work
        _fail(lease, f"{type(error).__name__}: {error}")
        return False
    return _finish(lease, state=Job.State.DONE)


def work_once(owner: str, *, lane: Lane | None = None) -> bool:
    """Claim and run one job (as `job_claim`); False when there was none."""
    lease = job_claim(owner=owner, lane=lane)
    if lease is None:
        return False
    job_run(lease)
    return True


def job_run_now(*, key: str, owner: str) -> bool:
    """Run the queued job of this key here, unless a worker has taken it; whether it ran to its end here."""
    queued = Job.objects.filter(key=key, state=Job.State.QUEUED).values_list("pk", flat=True).first()
    lease = job_claim(owner=owner, job_id=queued) if queued is not None else None
    return lease is not None and job_run(lease)


def job_is_due_in(lane: Lane) -> bool:
    """Whether a job of this lane could be taken now."""
    return _in_lane(_due(timezone.now()), lane).exists()


def job_is_due(kind: str) -> bool:
    """Whether a job of this kind could be taken now: long work that may wait lets it go first."""
    return _due(timezone.now()).filter(kind=kind).exists()


def leases_release(*, host: str, alive: Callable[[int], bool]) -> int:
    """End the leases of this host's workers whose processes are gone (owners are "host:pid"); how many they were.

    A worker that starts again after kill -9 need not wait for the lease of the one before it.
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
    """Run every periodic check; one that fails does not stop the others."""
    _all_of(_sweeps)


def jobs_forget() -> None:
    """Delete jobs that were done long ago. Dead ones stay: somebody is to look at them."""
    # By when they were due, which the index knows, and first without a lock: idling must not take the write lock.
    old = Job.objects.filter(state=Job.State.DONE, run_after__lt=timezone.now() - KEPT).order_by("run_after")
    if old.exists():
        with write_transaction():
            Job.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:1000])).delete()


def jobs_due() -> list[tuple[int, str]]:
    """Ids and queues of the jobs that a worker could take now, for the production sweep to send again."""
    due = _due(timezone.now())
    # Of each lane so many: a hundred questions of one account must not hide a refit.
    # Word of one that is done apart is word of any of them: a few are enough for all workers.
    most = {Lane.APART: 5}
    lanes = [_in_lane(due, lane).values_list("pk", "kind")[: most.get(lane, 100)] for lane in Lane]
    return [(number, _queue_of(kind)) for found in lanes for number, kind in found]


def _all_of(functions: list[Callable[[], None]]) -> None:
    for function in functions:
        try:
            function()
        except Exception:
            log.exception("%s failed", function.__name__)


def _queue_of(kind: str) -> str:
    if kind in _apart:
        return settings.INQUIRY_QUEUE
    return settings.SLOW_QUEUE if kind in _slow else settings.QUEUE


def _in_lane(jobs: QuerySet[Job], lane: Lane | None) -> QuerySet[Job]:
    match lane:
        case Lane.SLOW:
            return jobs.filter(kind__in=_slow)
        case Lane.APART:
            return jobs.filter(kind__in=_apart)
        case Lane.PLAIN:
            return jobs.exclude(kind__in=[*_slow, *_apart])
    return jobs


def _by_turns(jobs: QuerySet[Job], now: datetime) -> QuerySet[Job]:
    recent = Job.objects.filter(kind__in=_apart, account=OuterRef("account"), created_at__gt=now - TURN, attempts__gt=0)
    count = recent.order_by().values("account").annotate(n=Count("pk")).values("n")
    return jobs.annotate(begun=Coalesce(Subquery(count), 0)).order_by("begun", "run_after", "pk")


def _due(now: datetime) -> QuerySet[Job]:
    """What could be taken now, that which has waited longest first. What was queued before the clock was set back has
    waited longer than all that was queued since: it would starve behind work that asks for itself again and again."""
    running = Job.objects.filter(key=OuterRef("key"), state=Job.State.RUNNING)
    far = now + CLOCK_SET_BACK
    queued = Q(state=Job.State.QUEUED) & (Q(run_after__lte=now) | Q(run_after__gt=far)) & ~Exists(running)
    abandoned = Q(state=Job.State.RUNNING) & (Q(lease_until__lt=now) | Q(lease_until__gt=far))
    since = Case(When(run_after__gt=far, then=Value(0)), default=Value(1))
    return Job.objects.filter(queued | abandoned).order_by(since, "run_after", "pk")


def _take(job: Job, owner: str, now: datetime) -> Lease | None:
    if job.state == Job.State.RUNNING and job.attempts >= MAX_ATTEMPTS:
        _outlive(job, now)
        return None
    attempt = job.attempts + 1
    try:
        with transaction.atomic():
            taken = Job.objects.filter(pk=job.pk, state=job.state, attempts=job.attempts).update(
                state=Job.State.RUNNING, lease_owner=owner, lease_until=now + LEASE, attempts=attempt
            )
    except IntegrityError:  # another worker started this key between our look and our update
        return None
    return Lease(job.pk, job.kind, job.key, job.args, owner, attempt) if taken else None


def _outlive(job: Job, now: datetime) -> None:
    """What becomes of a job whose workers died again and again without a word: it may be what kills them, or the
    machine went down each time. It waits, so that other work comes first, and after MAX_DEATHS it is dead."""
    held, error = Job.objects.filter(pk=job.pk, state=job.state, attempts=job.attempts), "its workers died"
    if job.attempts >= MAX_DEATHS and job.kind not in _tireless:
        held.update(state=Job.State.DEAD, finished_at=_ended(now), last_error=error)
        return
    _again(held, job.key, at=now + _back_off(1 + job.attempts - MAX_ATTEMPTS), attempts=job.attempts, error=error)


def _again(held: QuerySet[Job], key: str, *, at: datetime, attempts: int, error: str) -> None:
    """Queue a job for another try. Where a newer request for the same work waits already, that is the other try, and
    this one has nothing left to say."""
    try:
        with transaction.atomic():
            held.update(state=Job.State.QUEUED, run_after=at, last_error=error[:2000], lease_owner="")
    except IntegrityError:
        held.update(state=Job.State.DONE, finished_at=_ended(timezone.now()), last_error=error[:2000])
        Job.objects.filter(key=key, state=Job.State.QUEUED).update(run_after=at, attempts=attempts)


def _back_off(times: int) -> timedelta:
    return min(timedelta(seconds=2 ** min(times, 20)), LONGEST_BACKOFF)


def _ended(now: datetime) -> Greatest:
    """When a job ended: never before it began, even if the clock was set back meanwhile."""
    return Greatest(Value(now, output_field=DateTimeField()), F("created_at"))


def _held(lease: Lease) -> QuerySet[Job]:
    return Job.objects.filter(pk=lease.job_id, state=Job.State.RUNNING, lease_owner=lease.owner, attempts=lease.attempt)


def _finish(lease: Lease, *, state: Job.State, error: str = "") -> bool:
    with write_transaction():
        return bool(_held(lease).update(state=state, finished_at=_ended(timezone.now()), last_error=error[:2000]))


def _fail(lease: Lease, error: str) -> None:
    if lease.attempt >= MAX_ATTEMPTS and lease.kind not in _tireless:
        _finish(lease, state=Job.State.DEAD, error=error)
        return
    at = timezone.now() + _back_off(lease.attempt)
    with write_transaction():
        _again(_held(lease), lease.key, at=at, attempts=lease.attempt, error=error)


@contextmanager
def _heartbeat(lease: Lease) -> Iterator[None]:
    """Renew the lease from a thread of its own while the work goes on."""
    done = threading.Event()

    def beat() -> None:
        while not done.wait(LEASE.total_seconds() / 3):
            try:
                with write_transaction():
                    _held(lease).update(lease_until=timezone.now() + LEASE)
            except DatabaseError:  # a busy database now is no reason to give the job up: the next beat tries again
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
    """Give a job up when its time is over: note it from another thread, then call `end`, which ends the process.

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
    """Do one job of the lane apart within its time limit; False when there was none. `end` ends this process."""
    lease = job_claim(owner=owner, lane=Lane.APART)
    if lease is None:
        return False
    with limited(lease, end):
        job_run(lease)
    return True


def _wake(job_id: int, queue: str = settings.QUEUE) -> None:
    from evalsite.core.tasks import job_send  # Celery is loaded only where a broker is configured

    try:
        job_send(job_id, queue)
    except Exception as error:  # noqa: BLE001  the row is safe; the sweep sends it again
        log.warning("broker not reachable, job %s waits for the sweep: %s", job_id, error)
