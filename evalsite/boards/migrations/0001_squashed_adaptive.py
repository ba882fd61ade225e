import django.db.models.deletion
import django.utils.timezone
import uuid
from django.db import migrations, models

from evalsite.core.db import forbid_update
from evalsite.core.deletion_guard import forbid_delete
from evalsite.core.migration_history import replaced


class Migration(migrations.Migration):
    initial = True

    replaces = replaced("adaptive")

    dependencies = [
        ("accounts", "0001_squashed_0004_mail_language"),
        ("campaigns", "0001_squashed_0016_facts_stay"),
        ("core", "0001_squashed_0004_permit"),
        ("contenttypes", "0002_remove_content_type_name"),
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
                "db_table": "adaptive_board",
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
                        on_delete=django.db.models.deletion.PROTECT, related_name="snapshots", to="boards.board"
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
                "db_table": "adaptive_snapshot",
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
                        on_delete=django.db.models.deletion.PROTECT, related_name="slices", to="boards.board"
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
                        to="boards.board",
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
                "db_table": "adaptive_slice",
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
            name="BoardChartData",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "board",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="record", to="boards.board"
                    ),
                ),
                (
                    "snapshot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="boards.snapshot"
                    ),
                ),
                ("pairs", models.JSONField(help_text="boards.chart_data.Pair, as lists of its fields")),
                ("fit", models.JSONField(help_text="boards.chart_data.fit_facts")),
            ],
            options={"db_table": "adaptive_record"},
        ),
        migrations.CreateModel(
            name="Decision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "snapshot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="decisions", to="boards.snapshot"
                    ),
                ),
                ("stop", models.BooleanField()),
                ("reason", models.TextField()),
                ("evidence", models.JSONField(default=dict)),
                ("decided_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "db_table": "adaptive_decision",
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
                        on_delete=django.db.models.deletion.PROTECT, related_name="refits", to="boards.board"
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
                        to="boards.snapshot",
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
                "db_table": "adaptive_refit",
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
        forbid_update("adaptive_snapshot"),
        forbid_update("adaptive_decision"),
        forbid_delete("adaptive_snapshot"),
        forbid_delete("adaptive_decision"),
    ]
