from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("scorecards", "0003_annotations"),
    ]

    operations = [
        migrations.AddField(
            model_name="annotation",
            name="size",
            field=models.JSONField(default=dict, help_text="share, number, or half_width and rate; {}: not recorded"),
        ),
        migrations.AddField(
            model_name="annotation",
            name="error_below",
            field=models.FloatField(blank=True, help_text="ratings below are errors; null: the lowest", null=True),
        ),
    ]
