import django.db.models.deletion
import django.utils.timezone
import uuid
from django.db import migrations, models

from evalsite.core.db import forbid_update
from evalsite.core.deletion_guard import forbid_delete
from evalsite.core.migration_history import InitialMigration, replaced


class Migration(InitialMigration):
    initial = True

    replaces = replaced("prompts")

    dependencies = [
        ("core", "0001_squashed_0006_reason_codes"),
        ("accounts", "0001_squashed_0005_single_sign_on_identity"),
    ]

    operations = [
        migrations.CreateModel(
            name="PromptSet",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("name", models.CharField(max_length=200)),
                ("description", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="prompt_sets",
                        to="accounts.organisation",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("organisation", "name"), name="prompt_set_name_once")],
            },
        ),
        migrations.CreateModel(
            name="Prompt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("key", models.CharField(help_text="the id that its file gives it", max_length=200)),
                ("revision", models.PositiveIntegerField(default=1)),
                ("category", models.CharField(blank=True, default="", max_length=100)),
                ("turns", models.JSONField(blank=True, null=True)),
                (
                    "origin",
                    models.CharField(
                        choices=[("authored", "Authored"), ("import", "Import"), ("live", "Live")], max_length=10
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
                        to="prompts.prompt",
                    ),
                ),
                (
                    "prompt_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="prompts", to="prompts.promptset"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("prompt_set", "key", "revision"), name="prompt_key_once_per_revision"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("corrects__isnull", True), ("revision", 1)),
                            models.Q(("corrects__isnull", False), ("revision__gt", 1)),
                            _connector="OR",
                        ),
                        name="prompt_correction_names_what_it_corrects",
                    ),
                    models.CheckConstraint(condition=models.Q(("key", ""), _negated=True), name="prompt_has_key"),
                    models.CheckConstraint(
                        condition=models.Q(("origin__in", ["authored", "import", "live"])), name="prompt_origin_known"
                    ),
                ],
            },
        ),
        forbid_update("prompts_prompt", erasable=True),
        forbid_delete("prompts_prompt"),
    ]
