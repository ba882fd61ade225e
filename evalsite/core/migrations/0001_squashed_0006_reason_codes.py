import django.utils.timezone
import uuid
from django.db import migrations, models

from evalsite.core.db import forbid_update
from evalsite.core.deletion_guard import PERMITS, forbid_delete
from evalsite.core.migration_history import InitialMigration, replaced


class Migration(InitialMigration):
    initial = True

    replaces = replaced("core")

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "actor",
                    models.UUIDField(
                        help_text="public id of the person; null where the service acted by itself", null=True
                    ),
                ),
                ("act", models.SlugField(max_length=40)),
                ("subject", models.UUIDField(help_text="public id of the campaign, or of what else it was done to")),
                ("target", models.CharField(blank=True, default="", help_text="what in the subject", max_length=300)),
                ("before", models.JSONField(default=dict)),
                ("after", models.JSONField(default=dict)),
                ("reason", models.CharField(blank=True, default="", max_length=500)),
                (
                    "reason_data",
                    models.JSONField(
                        editable=False,
                        help_text="code and parameters of the reason; null: a person's own words, or older than codes",
                        null=True,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "audit entries",
                "indexes": [models.Index(fields=["subject", "-id"], name="audit_of_subject")],
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("act", ""), _negated=True), name="audit_names_its_act")
                ],
            },
        ),
        migrations.CreateModel(
            name="IdempotencyKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("principal", models.CharField(help_text="who sent it", max_length=100)),
                ("key", models.CharField(help_text="that the sender gave it", max_length=255)),
                ("sha256", models.CharField(help_text="of the request: method, address and body", max_length=64)),
                ("status", models.PositiveIntegerField(default=0)),
                (
                    "body",
                    models.TextField(
                        default="", help_text="JSON as it was sent: PostgreSQL's own type would reorder its fields"
                    ),
                ),
                ("created_at", models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("principal", "key"), name="idempotency_key_once")],
            },
        ),
        migrations.CreateModel(
            name="Inquiry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("kind", models.CharField(max_length=40)),
                (
                    "sha256",
                    models.CharField(help_text="of the question: asked again, it has its answer", max_length=64),
                ),
                (
                    "subject",
                    models.UUIDField(
                        help_text="public id of the campaign: who may read it may read the answer", null=True
                    ),
                ),
                (
                    "topic",
                    models.CharField(
                        blank=True, default="", help_text="a newer question on it replaces this one", max_length=100
                    ),
                ),
                ("asked_by", models.UUIDField(help_text="public id of the person who asked last", null=True)),
                ("args", models.JSONField(default=dict)),
                ("result", models.JSONField(null=True)),
                (
                    "trouble",
                    models.TextField(
                        blank=True, default="", help_text="why there is no answer, for the person who asked"
                    ),
                ),
                (
                    "trouble_data",
                    models.JSONField(editable=False, help_text="its code and parameters, if it has one", null=True),
                ),
                ("asked_at", models.DateTimeField(db_index=True, default=django.utils.timezone.now, editable=False)),
                ("answered_at", models.DateTimeField(null=True)),
            ],
            options={
                "verbose_name_plural": "inquiries",
                "constraints": [
                    models.UniqueConstraint(fields=("kind", "sha256"), name="inquiry_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("answered_at__isnull", False),
                            models.Q(("result__isnull", True), ("trouble", "")),
                            _connector="OR",
                        ),
                        name="inquiry_answered_has_time",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Job",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(max_length=40)),
                ("key", models.CharField(max_length=200)),
                ("args", models.JSONField(default=dict)),
                (
                    "account",
                    models.UUIDField(
                        help_text="public id of the person whose work it is, where accounts take turns", null=True
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("queued", "Queued"), ("running", "Running"), ("done", "Done"), ("dead", "Dead")],
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("run_after", models.DateTimeField(default=django.utils.timezone.now)),
                ("lease_owner", models.CharField(blank=True, default="", max_length=100)),
                ("lease_until", models.DateTimeField(null=True)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("last_error", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("finished_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [models.Index(fields=["state", "run_after"], name="job_due")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "queued")), fields=("key",), name="job_queued_once_per_key"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "running")), fields=("key",), name="job_running_once_per_key"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "running"), _negated=True),
                            models.Q(("lease_until__isnull", False), models.Q(("lease_owner", ""), _negated=True)),
                            _connector="OR",
                        ),
                        name="job_running_has_lease",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("finished_at__isnull", True), ("finished_at__gte", models.F("created_at")), _connector="OR"
                        ),
                        name="job_ends_after_it_began",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Upload",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("subject", models.UUIDField(help_text="public id of the campaign that it is for")),
                ("purpose", models.CharField(max_length=20)),
                ("name", models.CharField(max_length=200)),
                ("content", models.BinaryField()),
                ("created_at", models.DateTimeField(db_index=True, default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "indexes": [models.Index(fields=["subject", "purpose"], name="upload_of_subject")],
            },
        ),
        migrations.RunSQL(PERMITS, "DROP TABLE core_permit"),
        forbid_update("core_auditentry"),
        forbid_delete("core_auditentry"),
    ]
