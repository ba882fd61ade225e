import django.db.models.deletion
import django.utils.timezone
import uuid
from django.db import migrations, models

from evalsite.core.db import forbid_update
from evalsite.core.deletion_guard import forbid_delete
from evalsite.core.migration_history import InitialMigration, replaced


class Migration(InitialMigration):
    initial = True

    replaces = replaced("chatbots")

    dependencies = [
        ("core", "0001_squashed_0006_reason_codes"),
        ("accounts", "0001_squashed_0005_single_sign_on_identity"),
        ("prompts", "0001_squashed_0002_erasable_texts"),
    ]

    operations = [
        migrations.CreateModel(
            name="Chatbot",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("name", models.CharField(max_length=200)),
                ("description", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "made_by",
                    models.ForeignKey(
                        blank=True,
                        help_text="whose it is, where another organisation keeps it: its members do not judge it either",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="made",
                        to="accounts.organisation",
                    ),
                ),
                (
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="chatbots", to="accounts.organisation"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("organisation", "name"), name="chatbot_name_once"),
                    models.CheckConstraint(condition=models.Q(("name", ""), _negated=True), name="chatbot_has_name"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Version",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("label", models.CharField(max_length=100)),
                (
                    "kind",
                    models.CharField(choices=[("static", "a file of replies"), ("live", "an endpoint")], max_length=10),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "chatbot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="versions", to="chatbots.chatbot"
                    ),
                ),
                (
                    "follows",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="followed_by",
                        to="chatbots.version",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("chatbot", "label"), name="version_label_once"),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["static", "live"])), name="version_kind_known"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Reply",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("sample", models.PositiveIntegerField(default=1)),
                ("revision", models.PositiveIntegerField(default=1)),
                ("text", models.TextField(blank=True, null=True)),
                ("sha256", models.CharField(blank=True, max_length=64, null=True)),
                (
                    "origin",
                    models.CharField(
                        choices=[("file", "File"), ("endpoint", "Endpoint"), ("import", "Import"), ("live", "Live")],
                        max_length=10,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "corrects",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="corrected_by",
                        to="chatbots.reply",
                    ),
                ),
                (
                    "prompt",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="replies", to="prompts.prompt"
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="replies",
                        to="chatbots.version",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "replies",
                "indexes": [
                    models.Index(
                        condition=models.Q(("text__isnull", True)), fields=["version"], name="reply_without_text"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("version", "prompt", "sample", "revision"), name="reply_once_per_sample_and_revision"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("sha256__isnull", True), ("text__isnull", True)),
                            models.Q(("sha256__isnull", False), ("text__isnull", False)),
                            _connector="OR",
                        ),
                        name="reply_hash_goes_with_text",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("corrects__isnull", True), ("revision", 1)),
                            models.Q(("corrects__isnull", False), ("revision__gt", 1)),
                            _connector="OR",
                        ),
                        name="reply_correction_names_what_it_corrects",
                    ),
                    models.CheckConstraint(condition=models.Q(("sample__gte", 1)), name="reply_sample_from_one"),
                    models.CheckConstraint(
                        condition=models.Q(("origin__in", ["file", "endpoint", "import", "live"])),
                        name="reply_origin_known",
                    ),
                ],
            },
        ),
        forbid_update("chatbots_version"),
        forbid_update("chatbots_reply", erasable=True),
        forbid_delete("chatbots_version"),
        forbid_delete("chatbots_reply"),
    ]
