"""What fails is said in a row of its own; a refit remembers up to where its input was seen."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("adaptive", "0003_record"),
        ("campaigns", "0004_screening"),
    ]

    operations = [
        migrations.AddField(
            model_name="refit",
            name="seen",
            field=models.CharField(
                blank=True, default="", help_text="hash of what its input depends on", max_length=64
            ),
        ),
        migrations.CreateModel(
            name="Alarm",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("message", models.TextField()),
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
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("cleared_at__isnull", True)),
                        fields=("campaign",),
                        name="alarm_one_open_per_campaign",
                    )
                ],
            },
        ),
    ]
