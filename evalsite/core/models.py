from django.db import models
from django.db.models import F, Q
from django.utils import timezone


class Job(models.Model):
    """Work that must not be lost: an outbox row with a lease. A broker carries only its id.

    At most one job per key is queued and at most one is running, so a refit that is asked for ten times while
    one is under way runs exactly once more.
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        DEAD = "dead"

    kind = models.CharField(max_length=40)
    key = models.CharField(max_length=200)
    args = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    run_after = models.DateTimeField(default=timezone.now)
    lease_owner = models.CharField(max_length=100, blank=True, default="")
    lease_until = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    last_error = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["state", "run_after"], name="job_due")]
        constraints = [
            models.UniqueConstraint(fields=["key"], condition=Q(state="queued"), name="job_queued_once_per_key"),
            models.UniqueConstraint(fields=["key"], condition=Q(state="running"), name="job_running_once_per_key"),
            models.CheckConstraint(
                condition=~Q(state="running") | (Q(lease_until__isnull=False) & ~Q(lease_owner="")),
                name="job_running_has_lease",
            ),
            models.CheckConstraint(
                condition=Q(finished_at__isnull=True) | Q(finished_at__gte=F("created_at")),
                name="job_ends_after_it_began",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.key} ({self.state})"


class IdempotencyKey(models.Model):
    """A request that was answered, and its answer: the same request again gets the same answer and does nothing."""

    principal = models.CharField(max_length=100, help_text="who sent it")
    key = models.CharField(max_length=255, help_text="that the sender gave it")
    sha256 = models.CharField(max_length=64, help_text="of the request: method, address and body")
    status = models.PositiveIntegerField(default=0)
    body = models.TextField(default="", help_text="JSON as it was sent: PostgreSQL's own type would reorder its fields")
    created_at = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["principal", "key"], name="idempotency_key_once")]

    def __str__(self) -> str:
        return f"{self.key} of {self.principal}"
