from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0015_style_and_redundancy")]

    operations = [
        migrations.AddField(
            model_name="onboarding",
            name="reveal_chatbots",
            field=models.BooleanField(
                default=False, help_text="annotators see after a round which chatbots wrote the replies of closed items"
            ),
        ),
    ]
