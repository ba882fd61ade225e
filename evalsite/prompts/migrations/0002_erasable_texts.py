from django.db import migrations

from evalsite.core.db import forbid_update


class Migration(migrations.Migration):
    """Let an erasure empty the texts of prompts that came out of a person's conversation."""

    dependencies = [("prompts", "0001_squashed_0003_facts_stay")]

    operations = [forbid_update("prompts_prompt", erasable=True)]
