import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models

from evalsite.core.db import forbid_update
from evalsite.core.deletion_guard import forbid_delete
from evalsite.core.migration_history import InitialMigration, replaced


class Migration(InitialMigration):
    initial = True

    replaces = replaced("submissions")

    dependencies = [
        ("core", "0001_squashed_0006_reason_codes"),
        ("accounts", "0001_squashed_0005_single_sign_on_identity"),
        ("accounts", "__first__"),
        ("campaigns", "0001_squashed_0017_vetting_votes"),
        ("chatbots", "0001_squashed_0005_erasable_texts"),
    ]

    operations = [
        migrations.CreateModel(
            name="Submission",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("name", models.CharField(max_length=200)),
                ("label", models.CharField(max_length=100)),
                (
                    "kind",
                    models.CharField(
                        choices=[("file", "a file of replies"), ("endpoint", "an endpoint")], max_length=10
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("received", "Received"),
                            ("checked", "Checked"),
                            ("refused", "Refused"),
                            ("waiting", "Waiting for approval"),
                            ("joined", "Joined"),
                            ("placed", "Placed"),
                            ("withdrawn", "Withdrawn"),
                        ],
                        default="received",
                        max_length=10,
                    ),
                ),
                ("card", models.JSONField(default=dict, help_text="link, licence, base_model, description")),
                ("terms_accepted", models.TextField(blank=True, default="", help_text="as they were")),
                ("report", models.JSONField(default=dict)),
                (
                    "sha256",
                    models.CharField(
                        blank=True, default="", help_text="of the replies; blank: an endpoint", max_length=64
                    ),
                ),
                ("mails", models.BooleanField(default=False, help_text="each change is told to the submitter by mail")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="submissions", to="campaigns.campaign"
                    ),
                ),
                (
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="submissions",
                        to="accounts.organisation",
                    ),
                ),
                (
                    "submitted_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="submissions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "version",
                    models.OneToOneField(
                        blank=True,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="submission",
                        to="chatbots.version",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["campaign", "state"], name="submission_of_campaign"),
                    models.Index(
                        condition=models.Q(("state__in", ["received", "checked", "joined"])),
                        fields=["state"],
                        name="submission_under_way",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                ["received", "checked", "refused", "waiting", "joined", "placed", "withdrawn"],
                            )
                        ),
                        name="submission_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["file", "endpoint"])), name="submission_kind_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state__in", ["joined", "placed"]), _negated=True),
                            ("version__isnull", False),
                            _connector="OR",
                        ),
                        name="submission_on_board_has_version",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "refused"), _negated=True),
                        fields=("campaign", "organisation", "name", "label"),
                        name="submission_version_once",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SubmissionEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("received", "Received"),
                            ("checked", "Checked"),
                            ("refused", "Refused"),
                            ("waiting", "Waiting for approval"),
                            ("joined", "Joined"),
                            ("placed", "Placed"),
                            ("withdrawn", "Withdrawn"),
                        ],
                        max_length=10,
                    ),
                ),
                ("at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("reason", models.TextField(blank=True, default="")),
                (
                    "reason_data",
                    models.JSONField(
                        editable=False, help_text="code and parameters; null: a person's words", null=True
                    ),
                ),
                (
                    "actor",
                    models.UUIDField(editable=False, help_text="public id of a person; null: the service", null=True),
                ),
                (
                    "submission",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="events", to="submissions.submission"
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                ["received", "checked", "refused", "waiting", "joined", "placed", "withdrawn"],
                            )
                        ),
                        name="submission_event_state_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SubmissionFile",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=200)),
                ("content", models.BinaryField()),
                (
                    "submission",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="file", to="submissions.submission"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SubmissionSettings",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "admission",
                    models.CharField(
                        choices=[
                            ("closed", "nobody submits"),
                            ("moderated", "each submission waits for approval"),
                            ("open", "a submission joins by itself"),
                        ],
                        default="closed",
                        max_length=10,
                    ),
                ),
                (
                    "takes",
                    models.CharField(
                        choices=[
                            ("file", "files of replies"),
                            ("endpoint", "endpoints"),
                            ("both", "files of replies and endpoints"),
                        ],
                        default="both",
                        max_length=10,
                    ),
                ),
                (
                    "versions_per_week",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="that one organisation may submit in seven days; null: no limit",
                        null=True,
                    ),
                ),
                (
                    "deadline",
                    models.DateTimeField(
                        blank=True, help_text="after which nothing is accepted; null: none", null=True
                    ),
                ),
                (
                    "licence_note",
                    models.TextField(blank=True, default="", help_text="what submitters read about rights in replies"),
                ),
                ("terms", models.TextField(blank=True, default="", help_text="that a submitter accepts; blank: none")),
                (
                    "prompts_downloadable",
                    models.BooleanField(default=False, help_text="whoever may submit may download the prompts"),
                ),
                (
                    "campaign",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="submission_settings",
                        to="campaigns.campaign",
                    ),
                ),
                (
                    "organisations",
                    models.ManyToManyField(
                        blank=True,
                        help_text="that may submit; none: every organisation of the site",
                        related_name="+",
                        to="accounts.organisation",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "submission settings",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("admission__in", ["closed", "moderated", "open"])),
                        name="submission_admission_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("takes__in", ["file", "endpoint", "both"])), name="submission_takes_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("versions_per_week__isnull", True), ("versions_per_week__gte", 1), _connector="OR"
                        ),
                        name="submission_versions_from_one",
                    ),
                ],
            },
        ),
        forbid_update("submissions_submissionevent"),
        forbid_delete("submissions_submissionevent"),
    ]
