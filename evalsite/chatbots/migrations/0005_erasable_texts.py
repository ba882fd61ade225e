from django.db import migrations

from evalsite.core.db import forbid_update


class Migration(migrations.Migration):
    """Let an erasure empty the texts of replies that came out of a person's conversation."""

    dependencies = [("chatbots", "0004_covered_indexes"), ("core", "0001_squashed_0004_permit")]

    operations = [forbid_update("chatbots_reply", erasable=True)]
