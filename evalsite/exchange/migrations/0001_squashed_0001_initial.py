import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from evalsite.core.migration_history import replaced


class Migration(migrations.Migration):
    initial = True

    replaces = replaced("exchange")

    dependencies = [
        ("campaigns", "0001_squashed_0016_facts_stay"),
        ("core", "0001_squashed_0004_permit"),
        ("judgments", "0001_squashed_0020_facts_stay"),
    ]

    operations = [
        migrations.CreateModel(
            name="VoteSource",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="vote_sources",
                        to="campaigns.campaign",
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("sha256", models.CharField(help_text="of the votes read, not of the file's bytes", max_length=64)),
                ("votes", models.PositiveIntegerField()),
                ("imported_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("campaign", "name"), name="vote_source_once_per_campaign")
                ],
            },
        ),
        migrations.CreateModel(
            name="ImportedVote",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "source",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="imported", to="exchange.votesource"
                    ),
                ),
                ("vote_id", models.CharField(max_length=210)),
                ("digest", models.CharField(max_length=32)),
                ("category", models.CharField(blank=True, default="", help_text="as the file has it", max_length=100)),
                (
                    "timestamp",
                    models.CharField(blank=True, default="", help_text="as the file writes it", max_length=40),
                ),
                (
                    "judgment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="imported_from",
                        to="judgments.judgment",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("source", "vote_id"), name="imported_vote_once")],
            },
        ),
    ]
