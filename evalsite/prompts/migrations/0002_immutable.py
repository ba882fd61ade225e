"""The database itself refuses to change these rows."""

from django.db import migrations

from evalsite.core.db import forbid_update


class Migration(migrations.Migration):
    dependencies = [("prompts", "0001_initial")]
    operations = [
        forbid_update("prompts_prompt"),
    ]
