"""What a campaign's plans want and keep to."""

import django.db.models.deletion
from django.db import migrations, models


def plan_campaigns(apps, schema_editor):
    """Campaigns from before there were options plan as they did."""
    spec = apps.get_model("campaigns", "PlanSpec")
    campaigns = apps.get_model("campaigns", "Campaign").objects.values_list("pk", flat=True)
    spec.objects.bulk_create(spec(campaign_id=campaign) for campaign in list(campaigns))


class Migration(migrations.Migration):
    dependencies = [
        ("campaigns", "0002_immutable"),
    ]

    operations = [
        migrations.AlterField(
            model_name="campaign",
            name="policy",
            field=models.CharField(default="adaptive", help_text="that chooses what to ask (scheduler)", max_length=30),
        ),
        migrations.CreateModel(
            name="PlanSpec",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "target",
                    models.CharField(
                        choices=[
                            ("ranking", "who is above whom"),
                            ("precision", "every chatbot's ability"),
                            ("top", "which are the best"),
                            ("newcomer", "where one chatbot stands"),
                        ],
                        default="ranking",
                        max_length=10,
                    ),
                ),
                ("top", models.PositiveIntegerField(blank=True, help_text="how many are the best", null=True)),
                (
                    "overlap_share",
                    models.FloatField(default=0.0, help_text="share of items that get several votes, for screening"),
                ),
                ("overlap_votes", models.PositiveIntegerField(default=2, help_text="votes of each of these items")),
                (
                    "votes_per_pair",
                    models.PositiveIntegerField(blank=True, help_text="votes of one pair at the most", null=True),
                ),
                (
                    "pair_share",
                    models.FloatField(default=0.1, help_text="largest share of all votes that one pair may take"),
                ),
                ("floor", models.FloatField(default=0.3, help_text="share of asks that go to open pairs at random")),
                (
                    "exposure",
                    models.FloatField(
                        default=4.0, help_text="how many times an even share of votes one prompt may take"
                    ),
                ),
                (
                    "balance",
                    models.JSONField(
                        blank=True,
                        help_text="category: share of votes; {} as the prompts are; null: not balanced",
                        null=True,
                    ),
                ),
                (
                    "retire_after",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="votes after which a prompt that teaches little is asked no more; null: never",
                        null=True,
                    ),
                ),
                ("retire_below", models.FloatField(default=0.25, help_text="of what the typical prompt teaches")),
                (
                    "campaign",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="plan", to="campaigns.campaign"
                    ),
                ),
                (
                    "newcomer",
                    models.ForeignKey(
                        blank=True,
                        help_text="who is to be placed",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="campaigns.entrant",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("target__in", ["ranking", "precision", "top", "newcomer"])),
                        name="plan_target_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("target", "top"), ("top__gte", 1)),
                            models.Q(models.Q(("target", "top"), _negated=True), ("top__isnull", True)),
                            _connector="OR",
                        ),
                        name="plan_top_fits_target",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("newcomer__isnull", False), ("target", "newcomer")),
                            models.Q(models.Q(("target", "newcomer"), _negated=True), ("newcomer__isnull", True)),
                            _connector="OR",
                        ),
                        name="plan_newcomer_fits_target",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("exposure__gte", 1),
                            ("floor__gte", 0),
                            ("floor__lte", 1),
                            ("overlap_share__gte", 0),
                            ("overlap_share__lte", 1),
                            ("overlap_votes__gte", 2),
                            ("pair_share__gt", 0),
                            ("pair_share__lte", 1),
                            ("retire_below__gt", 0),
                            ("retire_below__lt", 1),
                        ),
                        name="plan_shares_are_shares",
                    ),
                ],
            },
        ),
        migrations.RunPython(plan_campaigns, migrations.RunPython.noop),
    ]
