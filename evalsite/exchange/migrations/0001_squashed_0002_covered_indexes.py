import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from evalsite.core.migration_history import InitialMigration, replaced


class Migration(InitialMigration):
    initial = True

    replaces = replaced("exchange")

    dependencies = [
        ("campaigns", "0001_squashed_0017_vetting_votes"),
        ("judgments", "0001_squashed_0010_provisional"),
    ]

    operations = [
        migrations.CreateModel(
            name="VoteSource",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=200)),
                ("sha256", models.CharField(help_text="of the votes read, not of the file's bytes", max_length=64)),
                ("votes", models.PositiveIntegerField()),
                ("imported_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="vote_sources",
                        to="campaigns.campaign",
                    ),
                ),
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
                (
                    "source",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="imported",
                        to="exchange.votesource",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("source", "vote_id"), name="imported_vote_once")],
            },
        ),
    ]
