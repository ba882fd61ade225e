from django.db import migrations

from evalsite.core.migration_history import content_types_move


class Migration(migrations.Migration):
    dependencies = [("operations", "0001_squashed_adaptive"), ("auth", "0012_alter_user_first_name_max_length")]

    operations = [
        content_types_move(
            "adaptive",
            "operations",
            {
                "notice": "notice",
                "unwanted": "notification opt out",
            },
        )
    ]
