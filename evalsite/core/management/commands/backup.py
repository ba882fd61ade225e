"""`manage.py backup FILE`: write the whole database to one file while the service runs; or one again and again."""

import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from evalsite.core.backup import backup_write
from evalsite.core.errors import TouchstoneError

NAME = "touchstone-"
ENDING = ".backup"
KEEP = 14


class Command(BaseCommand):
    help = "Write the whole database to one file while the service runs, or a file every few hours into a folder."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="the file; with --every-hours the folder")
        parser.add_argument("--every-hours", type=float, help="write a new file every so many hours")
        parser.add_argument(
            "--keep", type=int, default=KEEP, help="with --every-hours: how many files stay (default: %(default)s)"
        )

    def handle(self, *args: Any, file: Path, every_hours: float | None, keep: int, **options: Any) -> None:
        if every_hours is None:
            self._write(file)
            return
        if every_hours <= 0 or keep < 1:
            raise CommandError("Give --every-hours more than 0, and --keep at least 1.", returncode=2)
        if not file.is_dir():
            raise CommandError(f"There is no folder {file}.", returncode=2)
        while True:
            due = timezone.now() - timedelta(hours=every_hours)
            if not any(path.stat().st_mtime > due.timestamp() for path in _files(file)):
                self._write(file / f"{NAME}{timezone.now():%Y-%m-%dT%H%M%S}{ENDING}")
                _old_delete(file, keep)
            time.sleep(min(60.0, every_hours * 3600))

    def _write(self, file: Path) -> None:
        try:
            manifest = backup_write(file)
        except TouchstoneError as error:
            raise CommandError(f"{error.message} {error.hint}") from error
        self.stdout.write(f"Wrote {file}: {sum(manifest.rows.values()):,} rows of {len(manifest.rows)} tables.")


def _files(folder: Path) -> list[Path]:
    """Return the backups of this command in a folder, the oldest first."""
    return sorted(folder.glob(f"{NAME}*{ENDING}"))


def _old_delete(folder: Path, keep: int) -> None:
    """Delete all backups but the newest ones, and what a backup that broke off has left."""
    for path in [*_files(folder)[:-keep], *folder.glob(f"{NAME}*{ENDING}.partial")]:
        path.unlink()
