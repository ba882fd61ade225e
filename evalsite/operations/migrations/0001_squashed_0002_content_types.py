import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from evalsite.core.migration_history import InitialMigration, replaced


class Migration(InitialMigration):
    initial = True

    replaces = replaced("operations")

    dependencies = [
        ("accounts", "__first__"),
        ("campaigns", "0001_squashed_0017_vetting_votes"),
    ]

    operations = [
        migrations.CreateModel(
            name="Notice",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "event",
                    models.CharField(
                        choices=[
                            ("stop", "a campaign has stopped"),
                            ("alarm", "its board cannot be updated"),
                            ("queue", "nothing waits to be judged"),
                            ("budget", "four fifths of its budget are spent"),
                            ("reach", "its target is out of reach"),
                        ],
                        max_length=10,
                    ),
                ),
                ("mark", models.CharField(max_length=80)),
                ("text", models.TextField(help_text="in English; operations.notices says it in other languages")),
                (
                    "facts",
                    models.JSONField(
                        blank=True, default=dict, help_text="that it tells, by name; none of earlier releases"
                    ),
                ),
                ("raised_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="notices", to="campaigns.campaign"
                    ),
                ),
                (
                    "seen_by",
                    models.ManyToManyField(blank=True, related_name="notices_seen", to=settings.AUTH_USER_MODEL),
                ),
            ],
            options={
                "db_table": "adaptive_notice",
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
            name="NotificationOptOut",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "event",
                    models.CharField(
                        choices=[
                            ("stop", "a campaign has stopped"),
                            ("alarm", "its board cannot be updated"),
                            ("queue", "nothing waits to be judged"),
                            ("budget", "four fifths of its budget are spent"),
                            ("reach", "its target is out of reach"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="mail_unwanted",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "unwanted mail",
                "db_table": "adaptive_unwanted",
                "constraints": [
                    models.UniqueConstraint(fields=("user", "event"), name="unwanted_once"),
                    models.CheckConstraint(
                        condition=models.Q(("event__in", ["stop", "alarm", "queue", "budget", "reach"])),
                        name="unwanted_event_known",
                    ),
                ],
            },
        ),
    ]
