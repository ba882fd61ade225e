"""What can be wrong with a file of votes, said to the person who has the file in front of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from evalsite.core.errors import InvalidInput

_SHOWN = 60  # characters of a wrong value that a message repeats


class FormatError(InvalidInput):
    """A fault found by a layer that does not know the place; `votefile` makes a VoteFileError of it."""

    def __init__(self, message: str, *, code: str, hint: str = "", column: str | None = None) -> None:
        super().__init__(message, code=code, hint=hint, field=column or "")
        self.column = column


class VoteFileError(InvalidInput):
    """A file of votes cannot be used, and where: the file, the data row (the first is 1), line and column.

    `row`, `line` and `column` are None where the fault has no such place (an empty file has no row).
    """

    def __init__(self, fault: FormatError, *, path: Path, row: int | None = None, line: int | None = None) -> None:
        self.path = path
        self.row = row
        self.line = line
        self.column = fault.column
        super().__init__(f"{self._place()}: {fault.message}", code=fault.code, hint=fault.hint, field=fault.field)

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
    """The value as a message may show it: short, with control characters escaped (a terminal obeys them)."""
    return repr(value if len(value) <= _SHOWN else value[:_SHOWN] + "...")


def escaped(value: str) -> str:
    """The same with every character escaped that is not ASCII: of two that look the same, how they differ."""
    return ascii(value if len(value) <= _SHOWN else value[:_SHOWN] + "...")


def listed(values: Iterable[str], *, most: int = 10, show: Callable[[str], str] = quoted) -> str:
    """`'a', 'b' and 3 more`: names for a message, never an endless line."""
    names = [show(value) for value in values]
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"
