from django.db import migrations, models

# One statement for both databases: each batch is asked by its index.
COUNTED = """
    UPDATE judgments_batch SET size = (
        SELECT COUNT(*) FROM judgments_judgment judgment
        JOIN judgments_assignment assignment ON assignment.id = judgment.assignment_id
        WHERE judgment.batch_id = judgments_batch.id AND assignment.purpose IN ('measure', 'overlap')
    )
"""


class Migration(migrations.Migration):
    dependencies = [("judgments", "0014_indexes_that_add_up")]

    operations = [
        migrations.AddField(
            model_name="batch",
            name="size",
            field=models.PositiveIntegerField(
                default=0, help_text="judgments for ranking that came in; gold fills no batch"
            ),
        ),
        migrations.RunSQL(COUNTED, reverse_sql=migrations.RunSQL.noop),
    ]
