"""Errors in vote files, with messages for the person who has the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from evalsite.core.errors import InvalidInput

_SHOWN = 60  # Maximum characters of a wrong value in a message.


class FormatError(InvalidInput):
    """An error without a position; `vote_file` converts it to a VoteFileError."""

    def __init__(self, message: str, *, code: str, hint: str = "", column: str | None = None) -> None:
        super().__init__(message, code=code, hint=hint, field=column or "")
        self.column = column


class VoteFileError(InvalidInput):
    """An error in a vote file with its position: file, data row (from 1), line and column.

    `row`, `line` and `column` are None if the error has no such position. An empty file, for example, has no row.
    """

    def __init__(self, fault: FormatError, *, path: Path, row: int | None = None, line: int | None = None) -> None:
        self._fault = fault
        self.path = path
        self.row = row
        self.line = line
        self.column = fault.column
        super().__init__(f"{self._place()}: {fault.message}", code=fault.code, hint=fault.hint, field=fault.field)

    def moved(self, path: Path) -> VoteFileError:
        """Return the same error in a file of another name."""
        return VoteFileError(self._fault, path=path, row=self.row, line=self.line)

    def __str__(self) -> str:
        return f"{self.message}. {self.hint}" if self.hint else f"{self.message}."

    def _place(self) -> str:
        parts = [str(self.path)]
        if self.row is not None:
            parts.append(f"row {self.row:,}" + (f" (line {self.line:,})" if self.line is not None else ""))
        elif self.line is not None:
            parts.append(f"line {self.line:,}")
        if self.column is not None:
            parts.append(f"column {self.column}")
        return ", ".join(parts)


def quoted(value: str) -> str:
    """Quote a value for a message: shortened, and with control characters escaped, because terminals obey them."""
    return repr(value if len(value) <= _SHOWN else value[:_SHOWN] + "...")


def escaped(value: str) -> str:
    """Quote a value with all non-ASCII characters escaped, to show how two similar values differ."""
    return ascii(value if len(value) <= _SHOWN else value[:_SHOWN] + "...")


def listed(values: Iterable[str], *, most: int = 10, show: Callable[[str], str] = quoted) -> str:
    """Return `'a', 'b' and 3 more`: a list of limited length for a message."""
    names = [show(value) for value in values]
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"
