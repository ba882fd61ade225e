import uuid

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from evalsite.core.reasons import reason_text


class Job(models.Model):
    """Outbox row with a lease, so that work is never lost. A broker carries only its id.

    At most one job per key is queued, and at most one is running. Ten requests for a refit during a running one
    therefore cause exactly one more.
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        DEAD = "dead"

    kind = models.CharField(max_length=40)
    key = models.CharField(max_length=200)
    args = models.JSONField(default=dict)
    account = models.UUIDField(
        null=True, help_text="public id of the person whose work it is, where accounts take turns"
    )
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
    """A request with its response. A repeated request gets the same response and has no effect."""

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


class AuditEntry(models.Model):
    """An action with its actor, subject and time. Immutable. A person is an id that can be anonymized."""

    at = models.DateTimeField(default=timezone.now, editable=False)
    actor = models.UUIDField(null=True, help_text="public id of the person; null where the service acted by itself")
    act = models.SlugField(max_length=40)
    subject = models.UUIDField(help_text="public id of the campaign, or of what else it was done to")
    target = models.CharField(max_length=300, blank=True, default="", help_text="what in the subject")
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    reason = models.CharField(max_length=500, blank=True, default="")
    reason_data = models.JSONField(
        null=True,
        editable=False,
        help_text="code and parameters of the reason; null: a person's own words, or older than codes",
    )

    class Meta:
        verbose_name_plural = "audit entries"
        indexes = [models.Index(fields=["subject", "-id"], name="audit_of_subject")]
        constraints = [models.CheckConstraint(condition=~Q(act=""), name="audit_names_its_act")]

    def __str__(self) -> str:
        return f"{self.act} {self.target}".strip()

    @property
    def reason_text(self) -> str:
        """The reason in the active language."""
        return reason_text(self.reason, self.reason_data)


class Inquiry(models.Model):
    """A question that only the worker can answer, and its answer. A page polls for it (core.inquiries)."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    kind = models.CharField(max_length=40)
    sha256 = models.CharField(max_length=64, help_text="of the question: asked again, it has its answer")
    subject = models.UUIDField(null=True, help_text="public id of the campaign: who may read it may read the answer")
    topic = models.CharField(
        max_length=100, blank=True, default="", help_text="a newer question on it replaces this one"
    )
    asked_by = models.UUIDField(null=True, help_text="public id of the person who asked last")
    args = models.JSONField(default=dict)
    result = models.JSONField(null=True)
    trouble = models.TextField(blank=True, default="", help_text="why there is no answer, for the person who asked")
    trouble_data = models.JSONField(null=True, editable=False, help_text="its code and parameters, if it has one")
    asked_at = models.DateTimeField(default=timezone.now, editable=False, db_index=True)
    answered_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "inquiries"
        constraints = [
            models.UniqueConstraint(fields=["kind", "sha256"], name="inquiry_once"),
            models.CheckConstraint(
                condition=Q(answered_at__isnull=False) | Q(result__isnull=True, trouble=""),
                name="inquiry_answered_has_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.public_id}"

    @property
    def trouble_text(self) -> str:
        """The trouble in the active language."""
        return reason_text(self.trouble, self.trouble_data)


class Upload(models.Model):
    """A file under review before its import (core.uploads). Deleted after a day."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    subject = models.UUIDField(help_text="public id of the campaign that it is for")
    purpose = models.CharField(max_length=20)
    name = models.CharField(max_length=200)
    content = models.BinaryField()
    created_at = models.DateTimeField(default=timezone.now, editable=False, db_index=True)

    class Meta:
        indexes = [models.Index(fields=["subject", "purpose"], name="upload_of_subject")]

    def __str__(self) -> str:
        return self.name
