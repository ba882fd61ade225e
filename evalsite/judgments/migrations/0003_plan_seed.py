"""The seed of the plan that drew an assignment; what it shows, and on which side, is decided when it is claimed."""

from django.db import migrations, models


def undress_the_queue(apps, schema_editor):
    """What waits in the queue showed its replies already; the claim would show them a second time."""
    apps.get_model("judgments", "Candidate").objects.filter(assignment__state="queued").delete()


class Migration(migrations.Migration):
    dependencies = [
        ("judgments", "0002_immutable"),
    ]

    operations = [
        migrations.AddField(
            model_name="assignment",
            name="plan_seed",
            field=models.PositiveBigIntegerField(blank=True, help_text="of the plan that drew it", null=True),
        ),
        migrations.RunPython(undress_the_queue, migrations.RunPython.noop),
    ]
