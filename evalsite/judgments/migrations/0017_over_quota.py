from django.db import migrations, models

from evalsite.core.db import forbid_update


class Migration(migrations.Migration):
    dependencies = [("judgments", "0016_queue_in_its_order")]

    operations = [
        migrations.AddField(
            model_name="judgment",
            name="over_quota",
            field=models.BooleanField(
                default=False,
                help_text="late, when all that the quota takes was answered or open: fills no place, is not paid",
            ),
        ),
        migrations.AddConstraint(
            model_name="judgment",
            constraint=models.CheckConstraint(
                condition=models.Q(("over_quota", False), ("late", True), _connector="OR"),
                name="judgment_only_late_ones_are_over_quota",
            ),
        ),
        forbid_update("judgments_judgment"),  # adding columns may have made the table anew
    ]
