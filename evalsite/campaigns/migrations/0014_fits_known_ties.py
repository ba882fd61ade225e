from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("campaigns", "0013_shows_replies"),
    ]

    operations = [
        migrations.AddField(
            model_name="campaign",
            name="fits_known_ties",
            field=models.BooleanField(
                default=False,
                help_text="where two replies are the same text, the fit takes it for a tie that somebody judged",
            ),
        ),
    ]
