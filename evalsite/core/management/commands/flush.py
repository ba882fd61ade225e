"""`manage.py flush`: Django's command, which empties every table. Deletes immutable rows, too."""

from typing import Any

from django.core.management.commands import flush
from django.db import connection

from evalsite.core.deletion_guard import deletion_permitted

ASKS = "This deletes every row of {database} and cannot be undone. Type 'yes' to go on, anything else to leave it: "


class Command(flush.Command):
    def handle(self, **options: Any) -> None:
        # Ask before the transaction: on SQLite nobody could write until the operator answers.
        if options["interactive"] and input(ASKS.format(database=_database_name())) != "yes":
            self.stdout.write("Nothing is deleted.")
            return
        with deletion_permitted():
            super().handle(**{**options, "interactive": False})


def _database_name() -> str:
    """Return the name of the database, with its host if there is one."""
    details = connection.settings_dict
    return f"{details['NAME']} on {details['HOST']}" if details["HOST"] else str(details["NAME"])
