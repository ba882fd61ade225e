"""Problems of a campaign file, by line and key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evalsite.core.errors import InvalidInput

MOST_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem, its line (from 1) and its key, as a path with dots."""

    line: int
    key: str
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.key}: {self.message}" if self.key else f"line {self.line}: {self.message}"


class CampaignFileError(InvalidInput):
    """All problems of a file, in the order of their lines."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda one: one.line))
        super().__init__("; ".join(str(one) for one in self.problems[:MOST_SHOWN]), field=self.problems[0].key)
