import django.db.models.deletion
import django.utils.timezone
import uuid
from django.db import migrations, models

from evalsite.core.db import forbid_update
from evalsite.core.deletion_guard import forbid_delete
from evalsite.core.migration_history import InitialMigration, replaced


class Migration(InitialMigration):
    initial = True

    replaces = replaced("boards")

    dependencies = [
        ("core", "0001_squashed_0006_reason_codes"),
        ("accounts", "0001_squashed_0005_single_sign_on_identity"),
        ("campaigns", "0001_squashed_0017_vetting_votes"),
        ("judgments", "0001_squashed_0010_provisional"),
    ]

    operations = [
        migrations.CreateModel(
            name="Board",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("name", models.CharField(max_length=200)),
                ("slug", models.SlugField(max_length=80, unique=True)),
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
                (
                    "aspect",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="boards", to="campaigns.aspect"
                    ),
                ),
                ("campaigns", models.ManyToManyField(related_name="boards", to="campaigns.campaign")),
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
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="boards", to="accounts.organisation"
                    ),
                ),
            ],
            options={
                "db_table": "adaptive_board",
            },
        ),
        migrations.CreateModel(
            name="LabelReport",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "content",
                    models.JSONField(help_text="evalsite.boards.label_reports.AspectReport of each aspect, as dicts"),
                ),
                ("mark", models.CharField(max_length=200)),
                ("made_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "board",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="label_report", to="boards.board"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="LiveReport",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("mark", models.CharField(max_length=64)),
                ("content", models.JSONField(help_text="what readers of the board may see")),
                ("cleaning", models.JSONField(help_text="proposals to exclude annotators, for the console")),
                ("computed_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "campaign",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="live_report", to="campaigns.campaign"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="PublicLogEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("version", "Version"),
                            ("withdrawal", "Withdrawal"),
                            ("retirement", "Retirement"),
                            ("judgments", "Judgments"),
                            ("batch", "Batch"),
                            ("exclusion", "Exclusion"),
                            ("erasure", "Erasure"),
                            ("snapshot", "Snapshot"),
                        ],
                        max_length=12,
                    ),
                ),
                (
                    "source",
                    models.CharField(
                        help_text="the recorded fact; null: judgments, erasures", max_length=60, null=True
                    ),
                ),
                ("at", models.DateTimeField(help_text="when the entry was added")),
                ("digest", models.CharField(help_text="of salt and content", max_length=64)),
                ("previous", models.CharField(help_text="hash of the entry before it", max_length=64)),
                ("sha256", models.CharField(help_text="hash of this entry", max_length=64)),
                (
                    "board",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="log_entries",
                        to="boards.board",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("board", "number"), name="log_entry_number_once"),
                    models.UniqueConstraint(fields=("board", "source"), name="log_entry_source_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "kind__in",
                                [
                                    "version",
                                    "withdrawal",
                                    "retirement",
                                    "judgments",
                                    "batch",
                                    "exclusion",
                                    "erasure",
                                    "snapshot",
                                ],
                            )
                        ),
                        name="log_entry_kind_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PublicLogContent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("salt", models.CharField(max_length=32)),
                ("content", models.TextField(help_text="canonical JSON, byte by byte as the digest covers it")),
                (
                    "annotator",
                    models.ForeignKey(
                        help_text="whom the content is about",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="judgments.annotator",
                    ),
                ),
                (
                    "entry",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="content", to="boards.publiclogentry"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="PublicLogPseudonym",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.UUIDField(default=uuid.uuid4, unique=True)),
                (
                    "annotator",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="judgments.annotator",
                    ),
                ),
                (
                    "board",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="boards.board"),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("annotator", "board"), name="log_pseudonym_once")],
            },
        ),
        migrations.CreateModel(
            name="Slice",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "by",
                    models.CharField(
                        choices=[
                            ("aspect", "Aspect"),
                            ("category", "Category"),
                            ("kind", "Kind"),
                            ("mode", "Mode"),
                            ("style", "Style"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "value",
                    models.CharField(
                        help_text="an aspect's key, a category, a kind of chatbot, both modes, or equal style",
                        max_length=100,
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
                (
                    "board",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="slices", to="boards.board"
                    ),
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
            ],
            options={
                "db_table": "adaptive_slice",
                "ordering": ["by", "pk"],
                "constraints": [
                    models.UniqueConstraint(fields=("board", "by", "value"), name="slice_once"),
                    models.CheckConstraint(
                        condition=models.Q(("by__in", ["aspect", "category", "kind", "mode", "style"])),
                        name="slice_by_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Snapshot",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("number", models.PositiveIntegerField()),
                ("input_sha256", models.CharField(max_length=64)),
                ("engine", models.CharField(help_text="version of the engine that made it", max_length=30)),
                ("seed", models.PositiveIntegerField()),
                ("judgments", models.PositiveIntegerField()),
                ("annotators", models.PositiveIntegerField()),
                ("converged", models.BooleanField()),
                ("seconds", models.FloatField(help_text="that the fit took")),
                (
                    "looks",
                    models.PositiveIntegerField(
                        help_text="for which differences are tested, once the campaigns have stopped; null: any number",
                        null=True,
                    ),
                ),
                ("rows", models.JSONField(help_text="the leaderboard, strongest first")),
                ("posterior", models.BinaryField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "board",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="snapshots", to="boards.board"
                    ),
                ),
            ],
            options={
                "db_table": "adaptive_snapshot",
                "get_latest_by": "number",
                "constraints": [
                    models.UniqueConstraint(fields=("board", "number"), name="snapshot_number_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("looks", None)),
                        fields=("board", "input_sha256"),
                        name="snapshot_input_once",
                    ),
                    models.UniqueConstraint(
                        fields=("board", "input_sha256", "looks"), name="snapshot_input_looks_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("looks", None), ("looks__gte", 1), _connector="OR"),
                        name="snapshot_looks_from_one",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Refit",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "outcome",
                    models.CharField(
                        choices=[("published", "Published"), ("unchanged", "Unchanged"), ("failed", "Failed")],
                        max_length=10,
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
                (
                    "board",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="refits", to="boards.board"
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
        migrations.CreateModel(
            name="Decision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("stop", models.BooleanField()),
                ("reason", models.TextField()),
                (
                    "reason_data",
                    models.JSONField(
                        editable=False,
                        help_text="code and parameters of the reason; null: a person's own words, or older than codes",
                        null=True,
                    ),
                ),
                ("evidence", models.JSONField(default=dict)),
                ("decided_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "snapshot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="decisions", to="boards.snapshot"
                    ),
                ),
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
            name="BoardChartData",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("pairs", models.JSONField(help_text="boards.chart_data.Pair, as lists of its fields")),
                ("fit", models.JSONField(help_text="boards.chart_data.fit_facts")),
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
            ],
            options={
                "db_table": "adaptive_record",
            },
        ),
        migrations.CreateModel(
            name="AnalysisPlan",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("difference", models.FloatField(default=0.1)),
                ("alpha", models.FloatField(default=0.05)),
                ("power", models.FloatField(default=0.8)),
                ("baseline", models.FloatField(default=0.8)),
                ("discordance", models.FloatField(default=0.85)),
                ("turns", models.PositiveIntegerField(blank=True, help_text="sample size: counted turns", null=True)),
                (
                    "stops",
                    models.BooleanField(default=False, help_text="the campaign ends when the sample size is reached"),
                ),
                ("content", models.JSONField(blank=True, help_text="as frozen at the launch", null=True)),
                (
                    "sha256",
                    models.CharField(
                        blank=True, default="", help_text="of the content as canonical JSON", max_length=64
                    ),
                ),
                ("frozen_at", models.DateTimeField(blank=True, null=True)),
                (
                    "campaign",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="analysis_plan",
                        to="campaigns.campaign",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("content__isnull", True), ("frozen_at__isnull", True), ("sha256", "")),
                            models.Q(
                                ("content__isnull", False),
                                ("frozen_at__isnull", False),
                                models.Q(("sha256", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="analysis_plan_frozen_whole",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("stops", False), ("turns__gte", 1), _connector="OR"),
                        name="analysis_plan_stops_at_a_size",
                    ),
                ],
            },
        ),
        forbid_update("adaptive_snapshot"),
        forbid_update("adaptive_decision"),
        forbid_update("boards_publiclogentry"),
        forbid_update("boards_publiclogcontent"),
        forbid_delete("adaptive_snapshot"),
        forbid_delete("adaptive_decision"),
        forbid_delete("boards_publiclogentry"),
        forbid_delete("boards_publiclogcontent"),
    ]
