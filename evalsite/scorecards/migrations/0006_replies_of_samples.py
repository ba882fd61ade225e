import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Apart from the one before it: PostgreSQL alters no table whose rows the same transaction has changed."""

    dependencies = [("scorecards", "0005_whole_conversations")]

    operations = [
        migrations.AlterField(
            model_name="annotatedreply",
            name="reply",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT, related_name="annotated_reply", to="chatbots.reply"
            ),
        ),
    ]
