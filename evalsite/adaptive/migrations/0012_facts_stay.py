"""The database itself refuses to delete these rows."""

from django.db import migrations

from evalsite.core.facts import forbid_delete


class Migration(migrations.Migration):
    dependencies = [
        ("core", "0004_permit"),
        ("adaptive", "0011_notice_of_reach"),
    ]
    operations = [
        forbid_delete("adaptive_snapshot"),
        forbid_delete("adaptive_decision"),
    ]
