"""The database itself refuses to change these rows."""

from django.db import migrations

from evalsite.core.db import forbid_update


class Migration(migrations.Migration):
    dependencies = [("chatbots", "0001_initial")]
    operations = [
        forbid_update("chatbots_version"),
        forbid_update("chatbots_reply"),
    ]
