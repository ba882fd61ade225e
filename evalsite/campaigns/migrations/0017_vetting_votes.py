from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0016_reveal_chatbots")]

    operations = [
        migrations.AddField(
            model_name="campaign",
            name="vetting_votes",
            field=models.PositiveIntegerField(
                default=0, help_text="votes after which those of a newcomer count, if the campaign is open; 0: at once"
            ),
        ),
    ]
