from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0014_tiers")]

    operations = [
        migrations.AddField(
            model_name="planspec",
            name="style_control",
            field=models.BooleanField(
                default=False, help_text="whether a second board holds length and markup of the replies equal"
            ),
        ),
        migrations.AddField(
            model_name="planspec",
            name="merge_redundant",
            field=models.BooleanField(
                default=False, help_text="whether each group of redundant prompts is fitted as one prompt"
            ),
        ),
    ]
