import django.db.models.deletion
import django.utils.timezone
import uuid
from django.db import migrations, models

from evalsite.core.migration_history import InitialMigration, replaced


class Migration(InitialMigration):
    initial = True

    replaces = replaced("refits")

    dependencies = [
        ("boards", "0001_squashed_0009_looks"),
        ("campaigns", "0001_squashed_0017_vetting_votes"),
    ]

    operations = [
        migrations.CreateModel(
            name="Findings",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("annotators", models.JSONField(help_text="refits.findings.AnnotatorFinding")),
                ("gold", models.JSONField(blank=True, default=dict, help_text="of its annotators, and of its items")),
                ("prompts", models.JSONField(help_text="refits.findings.PromptFinding")),
                ("made_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "campaign",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="findings", to="campaigns.campaign"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "findings",
                "db_table": "adaptive_findings",
            },
        ),
        migrations.CreateModel(
            name="Alarm",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "about",
                    models.CharField(choices=[("loop", "Loop"), ("slices", "Slices")], default="loop", max_length=10),
                ),
                ("message", models.TextField()),
                (
                    "reason_data",
                    models.JSONField(editable=False, help_text="code and parameters of the message", null=True),
                ),
                ("failures", models.PositiveIntegerField(default=1)),
                ("raised_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("failed_at", models.DateTimeField(default=django.utils.timezone.now, help_text="the last time")),
                ("cleared_at", models.DateTimeField(blank=True, null=True)),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="alarms", to="campaigns.campaign"
                    ),
                ),
            ],
            options={
                "db_table": "adaptive_alarm",
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
                ("input_sha256", models.CharField(help_text="of the judgments that were fitted", max_length=64)),
                ("stage", models.PositiveIntegerField(default=0)),
                ("result", models.JSONField(blank=True, null=True)),
                ("trouble", models.TextField(blank=True, default="")),
                ("trouble_data", models.JSONField(editable=False, help_text="its code and parameters", null=True)),
                ("asked_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="full_checks", to="campaigns.campaign"
                    ),
                ),
                (
                    "snapshot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="full_checks", to="boards.snapshot"
                    ),
                ),
            ],
            options={
                "db_table": "adaptive_fullcheck",
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
    ]
