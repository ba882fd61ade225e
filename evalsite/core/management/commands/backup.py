"""`manage.py backup FILE`: write the whole database to one file while the service runs."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from evalsite.core.backup import backup_write
from evalsite.core.errors import TouchstoneError


class Command(BaseCommand):
    help = "Write the whole database to one file while the service runs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        try:
            manifest = backup_write(file)
        except TouchstoneError as error:
            raise CommandError(f"{error.message} {error.hint}") from error
        self.stdout.write(f"Wrote {file}: {sum(manifest.rows.values()):,} rows of {len(manifest.rows)} tables.")
