"""The database itself refuses to change these rows."""

from django.db import migrations

from evalsite.core.db import forbid_update


class Migration(migrations.Migration):
    dependencies = [("judgments", "0001_initial")]
    operations = [
        forbid_update("judgments_candidate"),
        forbid_update("judgments_judgment"),
        forbid_update("judgments_answer"),
        forbid_update("judgments_skip"),
        forbid_update("judgments_exclusion"),
    ]
