"""The database itself refuses to delete these rows."""

from django.db import migrations

from evalsite.core.facts import forbid_delete


class Migration(migrations.Migration):
    dependencies = [
        ("core", "0004_permit"),
        ("judgments", "0019_reserve"),
    ]
    operations = [
        forbid_delete("judgments_candidate"),
        forbid_delete("judgments_judgment"),
        forbid_delete("judgments_answer"),
        forbid_delete("judgments_judgmentreason"),
        forbid_delete("judgments_skip"),
        forbid_delete("judgments_exclusion"),
        forbid_delete("judgments_payment"),
        forbid_delete("judgments_bonus"),
    ]
