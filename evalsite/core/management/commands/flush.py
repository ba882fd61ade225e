"""`manage.py flush`, Django's own, which empties every table: on SQLite by deleting rows, facts too."""

from typing import Any

from django.core.management.commands import flush

from evalsite.core.facts import deletion_permitted


class Command(flush.Command):
    def handle(self, **options: Any) -> None:
        with deletion_permitted():
            super().handle(**options)
