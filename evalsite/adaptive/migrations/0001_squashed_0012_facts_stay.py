import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models

from evalsite.core.db import forbid_update
from evalsite.core.facts import forbid_delete
from evalsite.core.squashed import replaced


class Migration(migrations.Migration):
    initial = True

    replaces = replaced("adaptive")

    dependencies = [
        ("accounts", "0001_squashed_0004_mail_language"),
        ("campaigns", "0001_squashed_0016_facts_stay"),
        ("core", "0001_squashed_0004_permit"),
    ]

    operations = [
        migrations.CreateModel(
            name="Board",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="boards", to="accounts.organisation"
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("slug", models.SlugField(max_length=80, unique=True)),
                (
                    "aspect",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="boards", to="campaigns.aspect"
                    ),
                ),
                (
                    "default_of",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="default_board",
                        to="campaigns.campaign",
                    ),
                ),
                (
                    "category",
                    models.CharField(
                        blank=True, default="", help_text="the slice; blank ranks all prompts", max_length=100
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        blank=True, default="", help_text="the slice; blank ranks all chatbots", max_length=10
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("campaigns", models.ManyToManyField(related_name="boards", to="campaigns.campaign")),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Snapshot",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "board",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="snapshots", to="adaptive.board"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("input_sha256", models.CharField(max_length=64)),
                ("engine", models.CharField(help_text="version of the engine that made it", max_length=30)),
                ("seed", models.PositiveIntegerField()),
                ("judgments", models.PositiveIntegerField()),
                ("annotators", models.PositiveIntegerField()),
                ("converged", models.BooleanField()),
                ("seconds", models.FloatField(help_text="that the fit took")),
                ("rows", models.JSONField(help_text="the leaderboard, strongest first")),
                ("posterior", models.BinaryField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "get_latest_by": "number",
                "constraints": [
                    models.UniqueConstraint(fields=("board", "number"), name="snapshot_number_once"),
                    models.UniqueConstraint(fields=("board", "input_sha256"), name="snapshot_input_once"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Slice",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "board",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="slices", to="adaptive.board"
                    ),
                ),
                (
                    "by",
                    models.CharField(
                        choices=[("aspect", "Aspect"), ("category", "Category"), ("kind", "Kind")], max_length=10
                    ),
                ),
                (
                    "value",
                    models.CharField(help_text="an aspect's key, a category, or a kind of chatbot", max_length=100),
                ),
                (
                    "own",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="slice_of",
                        to="adaptive.board",
                    ),
                ),
                ("judgments", models.PositiveIntegerField(default=0)),
                ("chatbots", models.PositiveIntegerField(default=0)),
                (
                    "trouble",
                    models.TextField(
                        blank=True, default="", help_text="why the last fit failed; the one before it is shown"
                    ),
                ),
                (
                    "seen",
                    models.CharField(
                        blank=True, default="", help_text="hash of what its input depends on", max_length=64
                    ),
                ),
                ("looked_at", models.DateTimeField(help_text="last; those of longest ago come first", null=True)),
            ],
            options={
                "ordering": ["by", "pk"],
                "constraints": [
                    models.UniqueConstraint(fields=("board", "by", "value"), name="slice_once"),
                    models.CheckConstraint(
                        condition=models.Q(("by__in", ["aspect", "category", "kind"])), name="slice_by_known"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Record",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "board",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="record", to="adaptive.board"
                    ),
                ),
                (
                    "snapshot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="adaptive.snapshot"
                    ),
                ),
                ("pairs", models.JSONField(help_text="adaptive.record.Pair, as lists of its fields")),
                ("fit", models.JSONField(help_text="adaptive.record.fit_facts")),
            ],
        ),
        migrations.CreateModel(
            name="Findings",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "campaign",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="findings", to="campaigns.campaign"
                    ),
                ),
                ("annotators", models.JSONField(help_text="adaptive.findings.AnnotatorFinding")),
                ("gold", models.JSONField(blank=True, default=dict, help_text="of its annotators, and of its items")),
                ("prompts", models.JSONField(help_text="adaptive.findings.PromptFinding")),
                ("made_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "verbose_name_plural": "findings",
            },
        ),
        migrations.CreateModel(
            name="Decision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "snapshot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="decisions", to="adaptive.snapshot"
                    ),
                ),
                ("stop", models.BooleanField()),
                ("reason", models.TextField()),
                ("evidence", models.JSONField(default=dict)),
                ("decided_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("reason", ""), _negated=True), name="decision_has_reason"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Refit",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "board",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="refits", to="adaptive.board"
                    ),
                ),
                (
                    "outcome",
                    models.CharField(
                        choices=[("published", "Published"), ("unchanged", "Unchanged"), ("failed", "Failed")],
                        max_length=10,
                    ),
                ),
                (
                    "snapshot",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="refits",
                        to="adaptive.snapshot",
                    ),
                ),
                ("message", models.TextField(blank=True, default="")),
                (
                    "seen",
                    models.CharField(
                        blank=True, default="", help_text="hash of what its input depends on", max_length=64
                    ),
                ),
                ("started_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("outcome", "failed"), ("snapshot__isnull", True)),
                            models.Q(("outcome__in", ["published", "unchanged"]), ("snapshot__isnull", False)),
                            _connector="OR",
                        ),
                        name="refit_outcome_fits_snapshot",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Alarm",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="alarms", to="campaigns.campaign"
                    ),
                ),
                (
                    "about",
                    models.CharField(choices=[("loop", "Loop"), ("slices", "Slices")], default="loop", max_length=10),
                ),
                ("message", models.TextField()),
                ("failures", models.PositiveIntegerField(default=1)),
                ("raised_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("failed_at", models.DateTimeField(default=django.utils.timezone.now, help_text="the last time")),
                ("cleared_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("cleared_at__isnull", True)),
                        fields=("campaign", "about"),
                        name="alarm_one_open_about_each",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("about__in", ["loop", "slices"])), name="alarm_about_known"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="FullCheck",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="full_checks", to="campaigns.campaign"
                    ),
                ),
                (
                    "snapshot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="full_checks", to="adaptive.snapshot"
                    ),
                ),
                ("input_sha256", models.CharField(help_text="of the judgments that were fitted", max_length=64)),
                ("stage", models.PositiveIntegerField(default=0)),
                ("result", models.JSONField(blank=True, null=True)),
                ("trouble", models.TextField(blank=True, default="")),
                ("asked_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("finished_at__isnull", True)),
                        fields=("campaign",),
                        name="full_check_one_under_way",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("finished_at__isnull", True), ("result__isnull", True), ("trouble", "")),
                            models.Q(("finished_at__isnull", False), ("result__isnull", False), ("trouble", "")),
                            models.Q(
                                ("finished_at__isnull", False),
                                ("result__isnull", True),
                                models.Q(("trouble", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="full_check_ends_with_result_or_trouble",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Notice",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="notices", to="campaigns.campaign"
                    ),
                ),
                (
                    "event",
                    models.CharField(
                        choices=[
                            ("stop", "a campaign has stopped"),
                            ("alarm", "its refits fail"),
                            ("queue", "nothing waits to be judged"),
                            ("budget", "four fifths of its budget are spent"),
                            ("reach", "its target is out of reach"),
                        ],
                        max_length=10,
                    ),
                ),
                ("mark", models.CharField(max_length=80)),
                ("text", models.TextField(help_text="in English; adaptive.notices says it in other languages")),
                (
                    "facts",
                    models.JSONField(
                        blank=True, default=dict, help_text="that it tells, by name; none of earlier releases"
                    ),
                ),
                ("raised_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "seen_by",
                    models.ManyToManyField(blank=True, related_name="notices_seen", to=settings.AUTH_USER_MODEL),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("campaign", "event", "mark"), name="notice_once"),
                    models.CheckConstraint(
                        condition=models.Q(("event__in", ["stop", "alarm", "queue", "budget", "reach"])),
                        name="notice_event_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Unwanted",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="mail_unwanted",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "event",
                    models.CharField(
                        choices=[
                            ("stop", "a campaign has stopped"),
                            ("alarm", "its refits fail"),
                            ("queue", "nothing waits to be judged"),
                            ("budget", "four fifths of its budget are spent"),
                            ("reach", "its target is out of reach"),
                        ],
                        max_length=10,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "unwanted mail",
                "constraints": [
                    models.UniqueConstraint(fields=("user", "event"), name="unwanted_once"),
                    models.CheckConstraint(
                        condition=models.Q(("event__in", ["stop", "alarm", "queue", "budget", "reach"])),
                        name="unwanted_event_known",
                    ),
                ],
            },
        ),
        forbid_update("adaptive_snapshot"),
        forbid_update("adaptive_decision"),
        forbid_delete("adaptive_snapshot"),
        forbid_delete("adaptive_decision"),
    ]
