"""The database itself refuses to delete these rows."""

from django.db import migrations

from evalsite.core.facts import forbid_delete


class Migration(migrations.Migration):
    dependencies = [
        ("core", "0004_permit"),
        ("chatbots", "0003_replies_without_text"),
    ]
    operations = [
        forbid_delete("chatbots_version"),
        forbid_delete("chatbots_reply"),
    ]
