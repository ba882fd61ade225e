"""The screening proposes exclusions, and says what they rest on."""

from django.db import migrations, models

from evalsite.core.db import forbid_update


class Migration(migrations.Migration):
    dependencies = [
        ("judgments", "0003_plan_seed"),
    ]

    operations = [
        migrations.AddField(
            model_name="exclusion",
            name="evidence",
            field=models.JSONField(blank=True, default=dict, help_text="the numbers that the reason rests on"),
        ),
        migrations.AddField(
            model_name="exclusion",
            name="proposed",
            field=models.BooleanField(default=False, help_text="by the screening, for a person to decide"),
        ),
        forbid_update("judgments_exclusion"),  # adding columns may have made the table anew
    ]
