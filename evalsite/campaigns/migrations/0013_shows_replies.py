from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("campaigns", "0012_plan_follows_the_aim"),
    ]

    operations = [
        migrations.AddField(
            model_name="campaign",
            name="shows_replies",
            field=models.BooleanField(
                default=False, help_text="and some replies to them, as examples beside the chatbots that gave them"
            ),
        ),
    ]
