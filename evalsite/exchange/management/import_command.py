"""Common parts of the commands that import files of rows: reading, and messages about rows."""

from argparse import ArgumentParser
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from django.core.management.base import BaseCommand, CommandError

from evalsite.core.encodings import ENCODINGS, recoded
from evalsite.core.errors import TouchstoneError
from evalsite.core.row_files import ReportRow, RowsRefused
from evalsite.core.terminal import shown

TakenT = TypeVar("TakenT")


class ImportCommand(BaseCommand):
    """A command that passes a file to a service."""

    def encoding_argument(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--encoding", metavar="NAME", default="", help=f"of a file that is not in UTF-8: {', '.join(ENCODINGS[1:])}"
        )

    def taken(self, file: Path, take: Callable[[bytes], TakenT], *, encoding: str = "") -> TakenT:
        """Pass the file's content to the service and return the result. Rejected rows are printed one by one."""
        try:
            content = file.read_bytes()
            return take(recoded(content, encoding) if encoding else content)
        except OSError as error:
            raise CommandError(f"{file} cannot be read ({error.strerror}).") from error
        except RowsRefused as error:
            self.tell_refused(error.rows)
            raise CommandError(f"{error.message} {error.hint} (--partly)") from error
        except TouchstoneError as error:
            raise CommandError(shown(f"{error.message} {error.hint}".strip())) from error

    def tell_refused(self, rows: Iterable[ReportRow]) -> None:
        for row in rows:
            if row.fate == "refused":
                self.stderr.write(shown(f"line {row.line}: {row.key}: {row.problem}"))
