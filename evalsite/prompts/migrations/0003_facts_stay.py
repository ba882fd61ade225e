"""The database itself refuses to delete these rows."""

from django.db import migrations

from evalsite.core.facts import forbid_delete


class Migration(migrations.Migration):
    dependencies = [
        ("core", "0004_permit"),
        ("prompts", "0002_immutable"),
    ]
    operations = [
        forbid_delete("prompts_prompt"),
    ]
