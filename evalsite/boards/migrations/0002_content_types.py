from django.db import migrations

from evalsite.core.migration_history import content_types_move


class Migration(migrations.Migration):
    dependencies = [("boards", "0001_squashed_adaptive"), ("auth", "0012_alter_user_first_name_max_length")]

    operations = [
        content_types_move(
            "adaptive",
            "boards",
            {
                "board": "board",
                "snapshot": "snapshot",
                "slice": "slice",
                "record": "board chart data",
                "decision": "decision",
                "refit": "refit",
            },
        )
    ]
