from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0010_single_replies")]

    operations = [
        migrations.AddField(
            model_name="onboarding",
            name="comment_required",
            field=models.BooleanField(default=False, help_text="and must be"),
        ),
        migrations.AddConstraint(
            model_name="onboarding",
            constraint=models.CheckConstraint(
                condition=models.Q(("comments", True), ("comment_required", False), _connector="OR"),
                name="reception_required_comment_is_taken",
            ),
        ),
    ]
