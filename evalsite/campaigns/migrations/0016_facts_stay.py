"""The database itself refuses to delete these rows."""

from django.db import migrations

from evalsite.core.facts import forbid_delete


class Migration(migrations.Migration):
    dependencies = [
        ("core", "0004_permit"),
        ("campaigns", "0015_erasure"),
    ]
    operations = [
        forbid_delete("campaigns_retirement"),
        forbid_delete("campaigns_golditem"),
        forbid_delete("campaigns_goldwithdrawal"),
    ]
