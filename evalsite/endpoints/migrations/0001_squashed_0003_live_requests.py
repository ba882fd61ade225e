import django.db.models.deletion
import django.utils.timezone
import uuid
from decimal import Decimal
from django.db import migrations, models

from evalsite.core.db import forbid_update
from evalsite.core.deletion_guard import forbid_delete
from evalsite.core.migration_history import InitialMigration, replaced


class Migration(InitialMigration):
    initial = True

    replaces = replaced("endpoints")

    dependencies = [
        ("core", "0001_squashed_0006_reason_codes"),
        ("chatbots", "0001_squashed_0005_erasable_texts"),
        ("prompts", "0001_squashed_0002_erasable_texts"),
    ]

    operations = [
        migrations.CreateModel(
            name="CallBudget",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("currency", models.CharField(max_length=3)),
                (
                    "cap",
                    models.DecimalField(
                        blank=True, decimal_places=10, help_text="null: no limit", max_digits=20, null=True
                    ),
                ),
                (
                    "spent",
                    models.DecimalField(
                        decimal_places=10,
                        default=Decimal("0"),
                        help_text="kept with each call, so that claims need not read all calls",
                        max_digits=20,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("cap__isnull", True), ("cap__gt", 0), _connector="OR"),
                        name="budget_cap_positive",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Endpoint",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("adapter", models.CharField(max_length=20)),
                ("url", models.CharField(max_length=2000)),
                ("model", models.CharField(blank=True, default="", max_length=200)),
                ("system_prompt", models.TextField(blank=True, default="")),
                ("temperature", models.FloatField(blank=True, null=True)),
                ("max_tokens", models.PositiveIntegerField(default=1024)),
                (
                    "headers",
                    models.JSONField(blank=True, default=dict, help_text="{secret} in a value stands for the secret"),
                ),
                ("body_template", models.TextField(blank=True, default="")),
                ("reply_path", models.CharField(blank=True, default="", max_length=200)),
                (
                    "input_price",
                    models.DecimalField(
                        blank=True, decimal_places=10, help_text="of a million input tokens", max_digits=20, null=True
                    ),
                ),
                (
                    "output_price",
                    models.DecimalField(
                        blank=True, decimal_places=10, help_text="of a million output tokens", max_digits=20, null=True
                    ),
                ),
                ("currency", models.CharField(default="USD", max_length=3)),
                (
                    "daily_cap",
                    models.DecimalField(
                        blank=True,
                        decimal_places=10,
                        help_text="most that calls of one day (UTC) may cost",
                        max_digits=20,
                        null=True,
                    ),
                ),
                (
                    "version_cap",
                    models.DecimalField(
                        blank=True,
                        decimal_places=10,
                        help_text="most that all calls may cost",
                        max_digits=20,
                        null=True,
                    ),
                ),
                ("timeout_s", models.PositiveIntegerField(default=60)),
                ("concurrency", models.PositiveIntegerField(default=4)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("untested", "not called yet"),
                            ("healthy", "healthy"),
                            ("degraded", "degraded: some calls fail"),
                            ("failing", "failing: no new calls until a test succeeds"),
                            ("paused", "paused"),
                        ],
                        default="untested",
                        max_length=10,
                    ),
                ),
                ("state_reason", models.CharField(blank=True, default="", max_length=500)),
                (
                    "state_data",
                    models.JSONField(editable=False, help_text="code and parameters of the reason", null=True),
                ),
                ("state_since", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "health_since",
                    models.DateTimeField(
                        default=django.utils.timezone.now, editable=False, help_text="calls before do not count"
                    ),
                ),
                (
                    "wait_until",
                    models.DateTimeField(
                        editable=False, help_text="asked for by the endpoint (Retry-After)", null=True
                    ),
                ),
                ("next_check_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "failed_checks",
                    models.PositiveIntegerField(default=0, editable=False, help_text="in a row, while failing"),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "version",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="endpoint", to="chatbots.version"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["next_check_at"], name="endpoint_check_due")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("url", ""), _negated=True), models.Q(("adapter", ""), _negated=True)
                        ),
                        name="endpoint_has_address",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("daily_cap__isnull", True), ("version_cap__isnull", True)),
                            models.Q(("input_price__isnull", False), ("output_price__isnull", False)),
                            _connector="OR",
                        ),
                        name="endpoint_cap_has_prices",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("daily_cap__isnull", True), ("daily_cap__gt", 0), _connector="OR"),
                            models.Q(("version_cap__isnull", True), ("version_cap__gt", 0), _connector="OR"),
                        ),
                        name="endpoint_caps_positive",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("input_price__isnull", True), ("input_price__gte", 0), _connector="OR"),
                            models.Q(("output_price__isnull", True), ("output_price__gte", 0), _connector="OR"),
                        ),
                        name="endpoint_prices_not_negative",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("concurrency__gte", 1), ("concurrency__lte", 64)),
                        name="endpoint_concurrency",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("timeout_s__gte", 1), ("timeout_s__lte", 600)), name="endpoint_timeout"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("max_tokens__gte", 1), ("max_tokens__lte", 1000000)),
                        name="endpoint_max_tokens",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Drift",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "sign",
                    models.CharField(
                        choices=[
                            ("model", "another model name"),
                            ("fingerprint", "another fingerprint"),
                            ("replies", "other replies to the fixed prompts"),
                        ],
                        max_length=12,
                    ),
                ),
                ("value", models.CharField(blank=True, default="", max_length=200)),
                ("before", models.CharField(blank=True, default="", max_length=200)),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("baseline", "first seen"),
                            ("open", "not looked at yet"),
                            ("dismissed", "dismissed"),
                            ("version", "a new version was created"),
                        ],
                        max_length=10,
                    ),
                ),
                ("raised_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("settled_at", models.DateTimeField(editable=False, null=True)),
                (
                    "new_version",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="from_drift",
                        to="chatbots.version",
                    ),
                ),
                (
                    "endpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="drifts", to="endpoints.endpoint"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("endpoint", "sign", "value"), name="drift_once_per_value")
                ],
            },
        ),
        migrations.CreateModel(
            name="DailyCost",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField()),
                ("calls", models.PositiveIntegerField(default=0)),
                ("failed", models.PositiveIntegerField(default=0)),
                ("input_tokens", models.PositiveBigIntegerField(default=0)),
                ("output_tokens", models.PositiveBigIntegerField(default=0)),
                ("cost", models.DecimalField(decimal_places=10, default=Decimal("0"), max_digits=20)),
                (
                    "endpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="daily_costs", to="endpoints.endpoint"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("endpoint", "day"), name="daily_cost_once")],
            },
        ),
        migrations.CreateModel(
            name="Collection",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "state",
                    models.CharField(
                        choices=[("running", "running"), ("paused", "paused"), ("complete", "complete")],
                        default="running",
                        max_length=10,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("finished_at", models.DateTimeField(editable=False, null=True)),
                (
                    "prompt_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="collections", to="prompts.promptset"
                    ),
                ),
                (
                    "endpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="collections", to="endpoints.endpoint"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "complete"), _negated=True),
                        fields=("endpoint", "prompt_set"),
                        name="collection_open_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="EndpointCheck",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[("test", "test"), ("daily", "daily check"), ("recovery", "attempt after failures")],
                        max_length=10,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("running", "running"), ("passed", "passed"), ("failed", "failed")],
                        default="running",
                        max_length=10,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("finished_at", models.DateTimeField(editable=False, null=True)),
                (
                    "endpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="checks", to="endpoints.endpoint"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "running")), fields=("endpoint",), name="endpoint_check_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="CallRequest",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("messages", models.JSONField(blank=True, help_text="null: those of the prompt", null=True)),
                (
                    "reply",
                    models.TextField(
                        blank=True, help_text="of a check; collected replies are rows of chatbots", null=True
                    ),
                ),
                ("priority", models.SmallIntegerField(default=0, help_text="higher ones first")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("held", "Held"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("run_after", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "give_up_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="of a live turn: no call begins later, and a running one ends by then",
                        null=True,
                    ),
                ),
                ("lease_owner", models.CharField(blank=True, default="", max_length=100)),
                ("lease_until", models.DateTimeField(null=True)),
                (
                    "attempts",
                    models.PositiveIntegerField(
                        default=0, help_text="calls begun: with the owner, the fence of a call"
                    ),
                ),
                (
                    "failures",
                    models.PositiveIntegerField(default=0, help_text="failed calls since the last pause or round"),
                ),
                (
                    "rounds",
                    models.PositiveIntegerField(
                        default=0, help_text="times that all attempts of the retry table failed"
                    ),
                ),
                ("losses", models.PositiveIntegerField(default=0, help_text="calls whose caller died")),
                (
                    "reserved",
                    models.DecimalField(
                        decimal_places=10,
                        default=Decimal("0"),
                        help_text="set aside for the running call",
                        max_digits=20,
                    ),
                ),
                (
                    "error_class",
                    models.CharField(blank=True, default="", help_text="of the newest failure", max_length=20),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("finished_at", models.DateTimeField(editable=False, null=True)),
                (
                    "budget",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="requests",
                        to="endpoints.callbudget",
                    ),
                ),
                (
                    "prompt",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="requests",
                        to="prompts.prompt",
                    ),
                ),
                (
                    "collection",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="requests",
                        to="endpoints.collection",
                    ),
                ),
                (
                    "endpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="requests", to="endpoints.endpoint"
                    ),
                ),
                (
                    "check_run",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="requests",
                        to="endpoints.endpointcheck",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "queued")),
                        fields=["endpoint", "-priority", "run_after", "id"],
                        name="request_due",
                    ),
                    models.Index(condition=models.Q(("state", "running")), fields=["endpoint"], name="request_running"),
                    models.Index(
                        condition=models.Q(("state", "running")), fields=["lease_until"], name="request_lease"
                    ),
                    models.Index(fields=["collection", "state"], name="request_of_collection"),
                    models.Index(
                        condition=models.Q(("budget__isnull", False)),
                        fields=["budget", "state"],
                        name="request_of_budget",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("collection", "prompt"), name="request_once_per_prompt"),
                    models.CheckConstraint(
                        condition=models.Q(("messages__isnull", False), ("prompt__isnull", False), _connector="OR"),
                        name="request_has_messages",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "running"), _negated=True),
                            models.Q(("lease_until__isnull", False), models.Q(("lease_owner", ""), _negated=True)),
                            _connector="OR",
                        ),
                        name="request_running_has_lease",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Call",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("attempt", models.PositiveIntegerField()),
                ("started_at", models.DateTimeField()),
                ("first_byte_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField()),
                ("status", models.PositiveIntegerField(help_text="of HTTP; null without a response", null=True)),
                (
                    "error_class",
                    models.CharField(blank=True, default="", help_text="blank: there is a reply", max_length=20),
                ),
                (
                    "detail",
                    models.CharField(blank=True, default="", help_text="of a failure, for the owner", max_length=300),
                ),
                ("input_tokens", models.PositiveIntegerField(null=True)),
                ("output_tokens", models.PositiveIntegerField(null=True)),
                ("cost", models.DecimalField(decimal_places=10, default=Decimal("0"), max_digits=20)),
                (
                    "cost_estimated",
                    models.BooleanField(default=False, help_text="the endpoint did not say how much was used"),
                ),
                (
                    "model_name",
                    models.CharField(blank=True, default="", help_text="that the endpoint returned", max_length=200),
                ),
                (
                    "fingerprint",
                    models.CharField(blank=True, default="", help_text="that the endpoint returned", max_length=200),
                ),
                ("flags", models.JSONField(blank=True, default=list)),
                (
                    "request",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="calls", to="endpoints.callrequest"
                    ),
                ),
                (
                    "endpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="calls", to="endpoints.endpoint"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["endpoint", "-id"], name="call_of_endpoint")],
                "constraints": [
                    models.UniqueConstraint(fields=("request", "attempt"), name="call_once_per_attempt"),
                    models.CheckConstraint(
                        condition=models.Q(("ended_at__gte", models.F("started_at"))), name="call_ends_after_it_began"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Secret",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("token", models.TextField(editable=False, help_text="encrypted (endpoints.encryption)")),
                ("key_id", models.CharField(help_text="identifies the key that it is encrypted with", max_length=16)),
                ("set_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "endpoint",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="secret", to="endpoints.endpoint"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["key_id"], name="secret_of_key")],
            },
        ),
        forbid_update("endpoints_call"),
        forbid_delete("endpoints_call"),
    ]
