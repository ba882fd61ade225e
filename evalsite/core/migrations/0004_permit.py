"""Where a transaction says that it may delete facts: no model's table (evalsite.core.facts)."""

from django.db import migrations

from evalsite.core.facts import PERMITS, forbid_delete


class Migration(migrations.Migration):
    dependencies = [("core", "0003_audit_inquiry_upload")]
    operations = [
        migrations.RunSQL(PERMITS, "DROP TABLE core_permit"),
        forbid_delete("core_auditentry"),
    ]
