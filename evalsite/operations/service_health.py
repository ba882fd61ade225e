"""Health of the service: backlogs with their ages, and whether the components respond."""

import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, InterfaceError, connection
from django.db.models import Count, F, Max, Min, Q
from django.utils import timezone

from evalsite.boards.models import Refit
from evalsite.campaigns.models import Campaign
from evalsite.core.db import why_not_writable
from evalsite.core.migration_history import migrations_pending
from evalsite.core.models import Job
from evalsite.endpoints.overdue import overdue_s
from evalsite.judgments.models import Assignment, Batch
from evalsite.refits.models import Alarm

JOB_LATE_S = 60.0
CALL_LATE_S = 120.0
BATCH_LATE_S = 300.0
DISK_LOW = 500_000_000


@dataclass(frozen=True, slots=True)
class ServiceHealth:
    """Health values; ages are in seconds, and None if nothing is waiting.

    disk_free: bytes; None if the data is on another machine.
    job_age: age of the oldest job that is due.
    jobs_held: number of jobs that a worker is running now. A job whose lease expired is not among them.
    worker_age: time since the newest job ended.
    failing: number of campaigns with failing refits.
    batch_age: age of the oldest closed batch without a refit since.
    broker_ms: None if no broker is needed.
    call_age: time since a call to an endpoint is due while no caller is at work.
    """

    database_ms: float
    broker_ms: float | None
    broker_trouble: str
    jobs: Mapping[str, int]
    job_age: float | None
    jobs_held: int
    worker_age: float | None
    batch_age: float | None
    open_judgments: int
    queued: int
    issued: int
    refit_age: float | None
    refit_seconds: float | None
    refits_failed: int
    failing: int
    campaigns: Mapping[str, int]
    disk_free: int | None
    call_age: float | None

    @property
    def job_is_late(self) -> bool:
        """Return whether a job has been due for too long."""
        return self.job_age is not None and self.job_age > JOB_LATE_S

    @property
    def troubles(self) -> list[str]:
        """Return the names of problems that a person should examine."""
        found = {
            "worker": self.job_is_late and not self.jobs_held,
            "busy": self.job_is_late and self.jobs_held > 0,
            "caller": self.call_age is not None and self.call_age > CALL_LATE_S,
            "dead_jobs": self.jobs.get(Job.State.DEAD, 0) > 0,
            "failing": self.failing > 0,
            "batch": self.batch_age is not None and self.batch_age > BATCH_LATE_S,
            "broker": bool(self.broker_trouble),
            "disk": self.disk_free is not None and self.disk_free < DISK_LOW,
        }
        return [name for name, wrong in found.items() if wrong]


def service_health_get() -> ServiceHealth:
    """Return all values, with a bounded number of cheap queries.

    Raises DatabaseError if the database does not respond.
    """
    now = timezone.now()
    began = time.perf_counter()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    database_ms = 1000 * (time.perf_counter() - began)
    broker_ms, trouble = _broker()
    unfinished = Job.objects.exclude(state=Job.State.DONE).order_by()
    work = Job.objects.filter(state__in=[Job.State.QUEUED, Job.State.RUNNING]).aggregate(
        due=Min("run_after", filter=Q(state=Job.State.QUEUED, run_after__lte=now)),
        held=Count("pk", filter=Q(state=Job.State.RUNNING, lease_until__gte=now)),
    )
    waiting = Assignment.objects.filter(state__in=[Assignment.State.QUEUED, Assignment.State.ISSUED]).aggregate(
        queued=Count("pk", filter=Q(state=Assignment.State.QUEUED)),
        issued=Count("pk", filter=Q(state=Assignment.State.ISSUED)),
    )
    ended = Job.objects.filter(finished_at__isnull=False).order_by("-pk").values_list("finished_at", flat=True).first()
    last = Refit.objects.order_by("-pk").first()
    day = Refit.objects.filter(outcome=Refit.Outcome.FAILED, finished_at__gte=now - timedelta(days=1))
    return ServiceHealth(
        database_ms=database_ms,
        broker_ms=broker_ms,
        broker_trouble=trouble,
        jobs=dict(unfinished.values_list("state").annotate(count=Count("pk"))),
        job_age=_age(now, work["due"]),
        jobs_held=work["held"],
        worker_age=_age(now, ended),
        batch_age=_age(now, _oldest_unfitted()),
        open_judgments=Batch.objects.filter(state=Batch.State.OPEN).aggregate(n=Count("judgments"))["n"],
        **waiting,
        refit_age=_age(now, last.finished_at if last else None),
        refit_seconds=(last.finished_at - last.started_at).total_seconds() if last else None,
        refits_failed=day.count(),
        failing=Alarm.objects.filter(about=Alarm.About.LOOP, cleared_at=None).count(),
        campaigns=dict(Campaign.objects.order_by().values_list("state").annotate(count=Count("pk"))),
        disk_free=None if settings.PRODUCTION else shutil.disk_usage(settings.DATA_DIR).free,
        call_age=overdue_s(),
    )


def _age(now: datetime, since: datetime | None) -> float | None:
    return None if since is None else max(0.0, (now - since).total_seconds())


def _oldest_unfitted() -> datetime | None:
    """Return when the oldest unfitted batch closed.

    For each campaign, this is the newest batch that no refit has followed. The result is the oldest of them.
    """
    closed = Max("batches__closed_at", filter=Q(batches__state=Batch.State.CLOSED))
    campaigns = Campaign.objects.exclude(state=Campaign.State.DRAFT).annotate(closed=closed)
    last = dict(
        Refit.objects.order_by().values_list("board__default_of").annotate(began=Max("started_at")).exclude(began=None)
    )
    waiting = [
        when
        for pk, when in campaigns.exclude(closed=None).values_list("pk", F("closed"))
        if pk not in last or last[pk] < when
    ]
    return min(waiting, default=None)


def _broker() -> tuple[float | None, str]:
    """Return the response time of Redis, measured through the cache on the same server; None in the embedded form."""
    if not settings.PRODUCTION:
        return None, ""
    began = time.perf_counter()
    try:
        cache.get("vitals")
    except Exception as error:  # noqa: BLE001  any error means that the broker does not respond
        return None, type(error).__name__
    return 1000 * (time.perf_counter() - began), ""


def as_metrics(vitals: ServiceHealth) -> str:
    """Return the values in Prometheus' text format, version 0.0.4."""
    lines: list[str] = []

    def gauge(name: str, words: str, *values: tuple[str, float | int | None]) -> None:
        lines.extend([f"# HELP touchstone_{name} {words}", f"# TYPE touchstone_{name} gauge"])
        lines.extend(f"touchstone_{name}{labels} {value}" for labels, value in values if value is not None)

    states = [Job.State.QUEUED, Job.State.RUNNING, Job.State.DEAD]
    gauge("jobs", "Jobs by state.", *((f'{{state="{state}"}}', vitals.jobs.get(state, 0)) for state in states))
    gauge("job_due_age_seconds", "Age of the oldest job that is due.", ("", vitals.job_age or 0))
    gauge("call_due_age_seconds", "Time since calls to endpoints are due without a caller.", ("", vitals.call_age or 0))
    gauge("worker_idle_seconds", "Time since the worker ended a job.", ("", vitals.worker_age))
    gauge("batch_unfitted_age_seconds", "Age of the oldest closed batch without a refit.", ("", vitals.batch_age or 0))
    gauge("open_batch_judgments", "Judgments in open batches.", ("", vitals.open_judgments))
    gauge("assignments_queued", "Assignments in the queue.", ("", vitals.queued))
    gauge("assignments_issued", "Assignments that annotators hold.", ("", vitals.issued))
    gauge("refit_age_seconds", "Time since the last refit ended.", ("", vitals.refit_age))
    gauge("refit_seconds", "Duration of the last refit.", ("", vitals.refit_seconds))
    gauge("refits_failed_1d", "Refits that failed within a day.", ("", vitals.refits_failed))
    gauge("campaigns_failing", "Campaigns whose refits fail now.", ("", vitals.failing))
    gauge(
        "campaigns",
        "Campaigns by state.",
        *((f'{{state="{state}"}}', vitals.campaigns.get(state, 0)) for state in Campaign.State.values),
    )
    gauge("database_seconds", "Duration of an empty query.", ("", vitals.database_ms / 1000))
    broker = None if vitals.broker_ms is None else vitals.broker_ms / 1000
    gauge("broker_seconds", "Response time of the broker.", ("", broker))
    gauge("disk_free_bytes", "Free space on the disk of the data.", ("", vitals.disk_free))
    return "\n".join([*lines, ""])


def not_ready() -> str:
    """Return why this process cannot serve requests, or "" if it can."""
    try:
        if migrations_pending(connection):
            return "migrations are pending"
        return why_not_writable()
    except (DatabaseError, InterfaceError):
        return "the database does not answer"
