"""`manage.py flush`, Django's own, which empties every table: on SQLite by deleting rows, facts too."""

from typing import Any

from django.core.management.commands import flush

from evalsite.core.facts import deletion_permitted

ASKS = "This deletes every row of the database and cannot be undone. Type 'yes' to go on, anything else to leave it"


class Command(flush.Command):
    def handle(self, **options: Any) -> None:
        # Asked here and not within the transaction: on SQLite nobody could write until the answer comes.
        if options["interactive"] and input(f"{ASKS}: ") != "yes":
            self.stdout.write("Nothing is deleted.")
            return
        with deletion_permitted():
            super().handle(**{**options, "interactive": False})
