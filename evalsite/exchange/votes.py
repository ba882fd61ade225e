"""Votes of a file as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, cast

from evalsite.exchange.coded_columns import different


class Vote(NamedTuple):
    """One judgment of the file; None means unknown."""

    row: int  # The data row, from 1.
    system_a: str
    system_b: str
    outcome: int  # -1 A better, 0 tie, 1 B better.
    both_bad: bool  # The tie was called "both bad".
    prompt_id: str | None  # None: the row has its own prompt.
    annotator_id: str | None
    a_first: int | None  # 1: A was displayed first.
    category: str | None
    timestamp: str | None  # As in the file.
    vote_id: str | None  # The file's own ID of the vote.
    by: str | None  # The value of the column in `by`; None without `by`.

    @property
    def prompt_key(self) -> str:
        """Return a name for the prompt, even if the file has none."""
        return self.prompt_id if self.prompt_id is not None else f"row {self.row}"


@dataclass(frozen=True, slots=True)
class Votes:
    """All votes of a file in columns of equal length, in the order of the file. `Vote` describes the columns."""

    path: Path
    by_column: str | None
    row: Sequence[int]
    system_a: Sequence[str]
    system_b: Sequence[str]
    outcome: Sequence[int]
    both_bad: Sequence[bool]
    prompt_id: Sequence[str | None]
    annotator_id: Sequence[str | None]
    a_first: Sequence[int | None]
    category: Sequence[str | None]
    timestamp: Sequence[str | None]
    vote_id: Sequence[str | None]
    by: Sequence[str | None]
    warnings: tuple[str, ...]
    looks_like: str = ""  # The format, for people.

    def __len__(self) -> int:
        return len(self.row)

    def rows(self) -> Iterator[Vote]:
        """Yield the same votes one by one."""
        return map(Vote._make, zip(*(getattr(self, name) for name in Vote._fields), strict=True))

    @property
    def prompt_key(self) -> Sequence[str]:
        """Return a name for each vote's prompt. A row without one has its own prompt."""
        if None not in different(self.prompt_id):
            return cast("Sequence[str]", self.prompt_id)
        return tuple(
            prompt if prompt is not None else f"row {row}" for prompt, row in zip(self.prompt_id, self.row, strict=True)
        )
