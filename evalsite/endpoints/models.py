"""Endpoints of live versions, their secrets, and the calls that were made to them."""

from decimal import Decimal
from typing import Any

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from evalsite.chatbots.models import Version
from evalsite.core.db import PublicModel
from evalsite.core.reasons import reason_text
from evalsite.prompts.models import Prompt, PromptSet

MOST_CONCURRENT, LONGEST_TIMEOUT_S, MOST_TOKENS = 64, 600, 1_000_000


def money(**options: Any) -> "models.DecimalField[Any, Any]":
    """Return a column for an amount. Ten decimals hold the price of one token."""
    return models.DecimalField(max_digits=20, decimal_places=10, **options)


class Endpoint(PublicModel):
    """Where a live version replies, how it is called, and what its calls may cost.

    The version's own settings (adapter, model, prompt, sampling, template) never change after its first reply.
    """

    class State(models.TextChoices):
        UNTESTED = "untested", _("not called yet")
        HEALTHY = "healthy", _("healthy")
        DEGRADED = "degraded", _("degraded: some calls fail")
        FAILING = "failing", _("failing: no new calls until a test succeeds")
        PAUSED = "paused", _("paused")

    version = models.OneToOneField(Version, on_delete=models.PROTECT, related_name="endpoint")
    adapter = models.CharField(max_length=20)
    url = models.CharField(max_length=2000)
    model = models.CharField(max_length=200, blank=True, default="")
    system_prompt = models.TextField(blank=True, default="")
    temperature = models.FloatField(null=True, blank=True)
    max_tokens = models.PositiveIntegerField(default=1024)
    headers = models.JSONField(default=dict, blank=True, help_text="{secret} in a value stands for the secret")
    body_template = models.TextField(blank=True, default="")
    reply_path = models.CharField(max_length=200, blank=True, default="")
    input_price = money(null=True, blank=True, help_text="of a million input tokens")
    output_price = money(null=True, blank=True, help_text="of a million output tokens")
    currency = models.CharField(max_length=3, default="USD")
    daily_cap = money(null=True, blank=True, help_text="most that calls of one day (UTC) may cost")
    version_cap = money(null=True, blank=True, help_text="most that all calls may cost")
    timeout_s = models.PositiveIntegerField(default=60)
    concurrency = models.PositiveIntegerField(default=4)
    state = models.CharField(max_length=10, choices=State, default=State.UNTESTED)
    state_reason = models.CharField(max_length=500, blank=True, default="")
    state_data = models.JSONField(null=True, editable=False, help_text="code and parameters of the reason")
    state_since = models.DateTimeField(default=timezone.now, editable=False)
    health_since = models.DateTimeField(default=timezone.now, editable=False, help_text="calls before do not count")
    wait_until = models.DateTimeField(null=True, editable=False, help_text="asked for by the endpoint (Retry-After)")
    next_check_at = models.DateTimeField(default=timezone.now, editable=False)
    failed_checks = models.PositiveIntegerField(default=0, editable=False, help_text="in a row, while failing")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        indexes = [models.Index(fields=["next_check_at"], name="endpoint_check_due")]
        constraints = [
            models.CheckConstraint(condition=~Q(url="") & ~Q(adapter=""), name="endpoint_has_address"),
            models.CheckConstraint(
                condition=Q(daily_cap__isnull=True, version_cap__isnull=True)
                | Q(input_price__isnull=False, output_price__isnull=False),
                name="endpoint_cap_has_prices",
            ),
            models.CheckConstraint(
                condition=(Q(daily_cap__isnull=True) | Q(daily_cap__gt=0))
                & (Q(version_cap__isnull=True) | Q(version_cap__gt=0)),
                name="endpoint_caps_positive",
            ),
            models.CheckConstraint(
                condition=(Q(input_price__isnull=True) | Q(input_price__gte=0))
                & (Q(output_price__isnull=True) | Q(output_price__gte=0)),
                name="endpoint_prices_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(concurrency__gte=1, concurrency__lte=MOST_CONCURRENT), name="endpoint_concurrency"
            ),
            models.CheckConstraint(
                condition=Q(timeout_s__gte=1, timeout_s__lte=LONGEST_TIMEOUT_S), name="endpoint_timeout"
            ),
            models.CheckConstraint(
                condition=Q(max_tokens__gte=1, max_tokens__lte=MOST_TOKENS), name="endpoint_max_tokens"
            ),
        ]

    def __str__(self) -> str:
        return str(self.version)

    @property
    def state_text(self) -> str:
        """The reason of the state in the active language."""
        return reason_text(self.state_reason, self.state_data)


class Secret(models.Model):
    """The encrypted secret of an endpoint. It is written and used, and never shown."""

    endpoint = models.OneToOneField(Endpoint, on_delete=models.CASCADE, related_name="secret")
    token = models.TextField(editable=False, help_text="encrypted (endpoints.encryption)")
    key_id = models.CharField(max_length=16, help_text="identifies the key that it is encrypted with")
    set_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        indexes = [models.Index(fields=["key_id"], name="secret_of_key")]

    def __str__(self) -> str:
        return f"secret of {self.endpoint}"


class CallBudget(PublicModel):
    """What calls for one purpose, such as a campaign, cost together, and what they may cost at most.

    Calls in another currency are not counted, and do not begin while there is a cap.
    """

    currency = models.CharField(max_length=3)
    cap = money(null=True, blank=True, help_text="null: no limit")
    spent = money(default=Decimal(0), help_text="kept with each call, so that claims need not read all calls")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(cap__isnull=True) | Q(cap__gt=0), name="budget_cap_positive")]

    def __str__(self) -> str:
        return f"budget {self.public_id}"


class Collection(PublicModel):
    """A run that collects a live version's reply to every prompt of a set."""

    class State(models.TextChoices):
        RUNNING = "running", _("running")
        PAUSED = "paused", _("paused")
        COMPLETE = "complete", _("complete")

    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, related_name="collections")
    prompt_set = models.ForeignKey(PromptSet, on_delete=models.PROTECT, related_name="collections")
    state = models.CharField(max_length=10, choices=State, default=State.RUNNING)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    finished_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["endpoint", "prompt_set"], condition=~Q(state="complete"), name="collection_open_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.endpoint} on {self.prompt_set}"


class EndpointCheck(PublicModel):
    """A test that a person asked for, the daily check, or an attempt to reach a failing endpoint again."""

    class Kind(models.TextChoices):
        TEST = "test", _("test")
        DAILY = "daily", _("daily check")
        RECOVERY = "recovery", _("attempt after failures")

    class State(models.TextChoices):
        RUNNING = "running", _("running")
        PASSED = "passed", _("passed")
        FAILED = "failed", _("failed")

    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, related_name="checks")
    kind = models.CharField(max_length=10, choices=Kind)
    state = models.CharField(max_length=10, choices=State, default=State.RUNNING)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    finished_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["endpoint"], condition=Q(state="running"), name="endpoint_check_once"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.endpoint}"


class CallRequest(PublicModel):
    """A reply that is wanted: work for the caller, held by a lease while it is called (endpoints.queue).

    The messages are those of the prompt, if there is one.
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        HELD = "held"  # its collection is paused
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    OPEN = (State.QUEUED, State.HELD, State.RUNNING)

    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, related_name="requests")
    collection = models.ForeignKey(Collection, null=True, blank=True, on_delete=models.PROTECT, related_name="requests")
    check_run = models.ForeignKey(
        EndpointCheck, null=True, blank=True, on_delete=models.PROTECT, related_name="requests"
    )
    prompt = models.ForeignKey(Prompt, null=True, blank=True, on_delete=models.PROTECT, related_name="requests")
    budget = models.ForeignKey(
        CallBudget, null=True, blank=True, db_index=False, on_delete=models.PROTECT, related_name="requests"
    )
    messages = models.JSONField(null=True, blank=True, help_text="null: those of the prompt")
    reply = models.TextField(null=True, blank=True, help_text="of a check; collected replies are rows of chatbots")
    priority = models.SmallIntegerField(default=0, help_text="higher ones first")
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    run_after = models.DateTimeField(default=timezone.now)
    give_up_at = models.DateTimeField(
        null=True, blank=True, help_text="of a live turn: no call begins later, and a running one ends by then"
    )
    lease_owner = models.CharField(max_length=100, blank=True, default="")
    lease_until = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0, help_text="calls begun: with the owner, the fence of a call")
    failures = models.PositiveIntegerField(default=0, help_text="failed calls since the last pause or round")
    rounds = models.PositiveIntegerField(default=0, help_text="times that all attempts of the retry table failed")
    losses = models.PositiveIntegerField(default=0, help_text="calls whose caller died")
    reserved = money(default=Decimal(0), help_text="set aside for the running call")
    error_class = models.CharField(max_length=20, blank=True, default="", help_text="of the newest failure")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    finished_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        indexes = [
            models.Index(
                fields=["endpoint", "-priority", "run_after", "id"], condition=Q(state="queued"), name="request_due"
            ),
            models.Index(fields=["endpoint"], condition=Q(state="running"), name="request_running"),
            models.Index(fields=["lease_until"], condition=Q(state="running"), name="request_lease"),
            models.Index(fields=["collection", "state"], name="request_of_collection"),
            models.Index(fields=["budget", "state"], condition=Q(budget__isnull=False), name="request_of_budget"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["collection", "prompt"], name="request_once_per_prompt"),
            models.CheckConstraint(
                condition=Q(messages__isnull=False) | Q(prompt__isnull=False), name="request_has_messages"
            ),
            models.CheckConstraint(
                condition=~Q(state="running") | (Q(lease_until__isnull=False) & ~Q(lease_owner="")),
                name="request_running_has_lease",
            ),
        ]

    def __str__(self) -> str:
        return f"request {self.public_id} ({self.state})"


class Call(PublicModel):
    """One attempt to get a reply. Immutable."""

    request = models.ForeignKey(CallRequest, on_delete=models.PROTECT, related_name="calls")
    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, related_name="calls")
    attempt = models.PositiveIntegerField()
    started_at = models.DateTimeField()
    first_byte_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField()
    status = models.PositiveIntegerField(null=True, help_text="of HTTP; null without a response")
    error_class = models.CharField(max_length=20, blank=True, default="", help_text="blank: there is a reply")
    detail = models.CharField(max_length=300, blank=True, default="", help_text="of a failure, for the owner")
    input_tokens = models.PositiveIntegerField(null=True)
    output_tokens = models.PositiveIntegerField(null=True)
    cost = money(default=Decimal(0))
    cost_estimated = models.BooleanField(default=False, help_text="the endpoint did not say how much was used")
    model_name = models.CharField(max_length=200, blank=True, default="", help_text="that the endpoint returned")
    fingerprint = models.CharField(max_length=200, blank=True, default="", help_text="that the endpoint returned")
    flags = models.JSONField(default=list, blank=True)

    class Meta:
        indexes = [models.Index(fields=["endpoint", "-id"], name="call_of_endpoint")]
        constraints = [
            models.UniqueConstraint(fields=["request", "attempt"], name="call_once_per_attempt"),
            models.CheckConstraint(condition=Q(ended_at__gte=F("started_at")), name="call_ends_after_it_began"),
        ]

    def __str__(self) -> str:
        return f"call {self.public_id} of {self.endpoint}"


class DailyCost(models.Model):
    """Sums of an endpoint's calls by day (UTC), kept with each call so that caps need not read all calls."""

    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, related_name="daily_costs")
    day = models.DateField()
    calls = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    cost = money(default=Decimal(0))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["endpoint", "day"], name="daily_cost_once")]

    def __str__(self) -> str:
        return f"{self.endpoint} on {self.day}"


class Drift(PublicModel):
    """A model name and fingerprint that the endpoint returned. The first one is the baseline; others are alarms."""

    class Outcome(models.TextChoices):
        BASELINE = "baseline", _("first seen")
        OPEN = "open", _("not looked at yet")
        DISMISSED = "dismissed", _("dismissed")
        VERSION = "version", _("a new version was created")

    class Sign(models.TextChoices):
        MODEL = "model", _("another model name")
        FINGERPRINT = "fingerprint", _("another fingerprint")
        REPLIES = "replies", _("other replies to the fixed prompts")

    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, related_name="drifts")
    sign = models.CharField(max_length=12, choices=Sign)
    value = models.CharField(max_length=200, blank=True, default="")
    before = models.CharField(max_length=200, blank=True, default="")
    outcome = models.CharField(max_length=10, choices=Outcome)
    new_version = models.OneToOneField(Version, null=True, on_delete=models.PROTECT, related_name="from_drift")
    raised_at = models.DateTimeField(default=timezone.now, editable=False)
    settled_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["endpoint", "sign", "value"], name="drift_once_per_value")]

    def __str__(self) -> str:
        return f"{self.sign} of {self.endpoint}"
