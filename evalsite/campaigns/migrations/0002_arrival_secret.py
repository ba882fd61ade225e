"""Addresses of studies get a secret. Those that are in use go on without one, until their owner requires it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0001_squashed_0016_facts_stay")]

    operations = [
        migrations.AddField(
            model_name="reception",
            name="secret_required",
            field=models.BooleanField(
                default=False, help_text="the study's address has a secret, and nobody arrives without it"
            ),
        ),
        migrations.AlterField(
            model_name="reception",
            name="secret_required",
            field=models.BooleanField(
                default=True, help_text="the study's address has a secret, and nobody arrives without it"
            ),
        ),
        migrations.AddField(
            model_name="reception",
            name="secret_number",
            field=models.PositiveIntegerField(default=1, help_text="which secret; a new one ends those before it"),
        ),
        migrations.AddField(
            model_name="reception",
            name="study",
            field=models.CharField(
                blank=True,
                default="",
                help_text="STUDY_ID or hitId: nobody arrives from another; empty: any",
                max_length=200,
            ),
        ),
    ]
