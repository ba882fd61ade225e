import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0012_selected_scope")]

    operations = [
        migrations.AddField(
            model_name="livesettings",
            name="static_campaign",
            field=models.ForeignKey(
                blank=True,
                help_text="of the same chatbots on fixed prompts: one board ranks both if a test finds no difference",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="live_counterparts",
                to="campaigns.campaign",
            ),
        )
    ]
