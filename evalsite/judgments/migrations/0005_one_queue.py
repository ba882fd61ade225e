"""Drop the backlog. Its items were planned, but nobody was asked: the next plan has them in the queue."""

from django.db import migrations

from evalsite.core.migration_history import content_type_forget


class Migration(migrations.Migration):
    dependencies = [
        ("judgments", "0004_reason_codes"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.DeleteModel(name="Reserve"),
        content_type_forget("judgments", "reserve"),
    ]
