"""`manage.py flush`, Django's own, which empties every table: on SQLite by deleting rows, facts too."""

from typing import Any

from django.core.management.commands import flush
from django.db import connection

from evalsite.core.deletion_guard import deletion_permitted

ASKS = "This deletes every row of {database} and cannot be undone. Type 'yes' to go on, anything else to leave it: "


class Command(flush.Command):
    def handle(self, **options: Any) -> None:
        # Asked here and not within the transaction: on SQLite nobody could write until the answer comes.
        if options["interactive"] and input(ASKS.format(database=_named())) != "yes":
            self.stdout.write("Nothing is deleted.")
            return
        with deletion_permitted():
            super().handle(**{**options, "interactive": False})


def _named() -> str:
    """The database by its name, and by its machine where it is on one."""
    told = connection.settings_dict
    return f"{told['NAME']} on {told['HOST']}" if told["HOST"] else str(told["NAME"])
