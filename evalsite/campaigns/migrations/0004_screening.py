"""Whether annotators are screened, and who decides then."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_api_token"),
        ("campaigns", "0003_plan"),
        ("prompts", "0002_immutable"),
    ]

    operations = [
        migrations.AddField(
            model_name="campaign",
            name="screening",
            field=models.CharField(
                choices=[
                    ("off", "annotators are not screened"),
                    ("propose", "exclusions are proposed to a person"),
                    ("act", "annotators are excluded, and admitted again, by rule"),
                ],
                default="propose",
                max_length=7,
            ),
        ),
        migrations.AddConstraint(
            model_name="campaign",
            constraint=models.CheckConstraint(
                condition=models.Q(("screening__in", ["off", "propose", "act"])), name="campaign_screening_known"
            ),
        ),
    ]
