from django.db import migrations, models

from evalsite.core.db import forbid_update


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0011_required_comments")]

    operations = [
        migrations.AlterField(
            model_name="aspect",
            name="scope",
            field=models.CharField(
                choices=[
                    ("candidate", "each candidate"),
                    ("selected", "each candidate that the first question selects"),
                    ("turn", "the turn as a whole"),
                ],
                default="candidate",
                max_length=12,
            ),
        ),
        migrations.RemoveConstraint(model_name="aspect", name="aspect_scope_known"),
        migrations.AddConstraint(
            model_name="aspect",
            constraint=models.CheckConstraint(
                condition=models.Q(("scope__in", ["candidate", "selected", "turn"])), name="aspect_scope_known"
            ),
        ),
        forbid_update("campaigns_aspect"),
    ]
