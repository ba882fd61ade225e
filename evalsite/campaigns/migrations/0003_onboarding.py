import django.db.models.deletion
from django.db import migrations, models

from evalsite.core.migration_history import content_types_move


class Migration(migrations.Migration):
    """Rename the model; its table keeps its name, so that nothing changes in the database."""

    dependencies = [("campaigns", "0002_arrival_secret"), ("auth", "0012_alter_user_first_name_max_length")]

    operations = [
        migrations.AlterModelTable(name="reception", table="campaigns_reception"),
        content_types_move("campaigns", "campaigns", {"reception": "onboarding"}),
        migrations.RenameModel(old_name="Reception", new_name="Onboarding"),
        migrations.AlterField(
            model_name="onboarding",
            name="campaign",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE, related_name="onboarding", to="campaigns.campaign"
            ),
        ),
    ]
