"""`manage.py restore FILE`: load a backup into an empty data directory or database, of either form."""

from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from evalsite.core.backup import backup_read
from evalsite.core.errors import TouchstoneError


class Command(BaseCommand):
    help = "Load a file of `backup` into an empty database. Missing tables are created."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        if not file.is_file():
            raise CommandError(f"There is no file {file}.")
        call_command("migrate", verbosity=0, interactive=False)
        try:
            manifest = backup_read(file)
        except TouchstoneError as error:
            raise CommandError(f"{error.message} {error.hint}") from error
        self.stdout.write(f"Restored {sum(manifest.rows.values()):,} rows of {len(manifest.rows)} tables.")
