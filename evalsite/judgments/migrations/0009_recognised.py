"""Annotators may skip an item because they recognise a chatbot."""

from django.db import migrations, models

from evalsite.core.db import forbid_update
from evalsite.core.deletion_guard import forbid_delete

REASONS = [
    ("cannot_judge", "topic or language"),
    ("broken", "a reply is missing or broken"),
    ("offensive", "does not want to read it"),
    ("recognised", "recognises the chatbot"),
    ("other", "something else"),
]


class Migration(migrations.Migration):
    dependencies = [("judgments", "0008_network_traces")]

    operations = [
        migrations.RemoveConstraint(model_name="skip", name="skip_reason_known"),
        migrations.AlterField(model_name="skip", name="reason", field=models.CharField(choices=REASONS, max_length=20)),
        migrations.AddConstraint(
            model_name="skip",
            constraint=models.CheckConstraint(
                condition=models.Q(("reason__in", [value for value, _ in REASONS])), name="skip_reason_known"
            ),
        ),
        forbid_update("judgments_skip"),
        forbid_delete("judgments_skip"),
    ]
