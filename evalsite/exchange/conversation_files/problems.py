"""Problems in a file of conversations, each with its row, its field and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from evalsite.core.errors import InvalidInput

_MOST_SHOWN = 20


@dataclass(frozen=True, slots=True)
class ConversationProblem:
    """What is wrong in one row.

    `row` counts data rows from 1; it is None for a problem of the whole file. `field` may be "".
    """

    row: int | None
    field: str
    message: str
    hint: str

    def __str__(self) -> str:
        place = [*([f"row {self.row:,}"] if self.row is not None else []), *([self.field] if self.field else [])]
        text = f"{', '.join(place)}: {self.message}." if place else f"{self.message}."
        return f"{text} {self.hint}" if self.hint else text


class RowProblem(Exception):
    """A problem in the row that is being read; the reader adds the row."""

    def __init__(self, field: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.field, self.message, self.hint = field, message, hint

    def in_row(self, row: int | None) -> ConversationProblem:
        return ConversationProblem(row, self.field, self.message, self.hint)


class ConversationFileError(InvalidInput):
    """A file that cannot be used. `problems` has every problem that was found; nothing of the file is used."""

    code = "bad_conversations"

    def __init__(self, path: Path, problems: Iterable[ConversationProblem]) -> None:
        self.path = path
        self.problems = tuple(problems)
        more = len(self.problems) - _MOST_SHOWN
        lines = [str(problem) for problem in self.problems[:_MOST_SHOWN]] + ([f"and {more:,} more"] if more > 0 else [])
        super().__init__(f"{path}: " + "\n".join(lines), field=self.problems[0].field if self.problems else "")
