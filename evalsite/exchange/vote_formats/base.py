"""What a format of votes is: how it is recognised, its columns, and how its records become rows of one vote each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import ClassVar

from evalsite.exchange.errors import FormatError, listed
from evalsite.exchange.record_reading import Record, Records
from evalsite.exchange.vote_columns import Layout, column_like


class VoteFormat:
    """A format of vote files.

    Attributes
    ----------
    name: short name, as in tests and in the documentation.
    title: what a file "looks like", for people.
    needed: the columns without which the file cannot be read.
    telling: the columns by which the format is recognised, even if a needed one is missing.
    least: how many of the telling columns the file has to have.
    expands: whether `rows` makes other records than those of the file.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    needed: ClassVar[tuple[str, ...]]
    telling: ClassVar[tuple[str, ...]] = ()
    least: ClassVar[int] = 1
    expands: ClassVar[bool] = False

    def recognises(self, records: Records) -> bool:
        """Whether the columns, or the first record, are those of this format."""
        found = [name for name in self.telling or self.needed if column_like(records.columns, name) is not None]
        return len(found) >= self.least

    def check(self, records: Records) -> None:
        """Raise FormatError if a needed column is missing, before any row is read."""
        self.columns(records.columns)

    def layout(self, records: Records, first: Mapping[str, str]) -> Layout:
        """Return the columns of the file. Raises FormatError if a needed one is missing."""
        raise NotImplementedError

    def rows(self, records: Records, stream: Iterable[Record]) -> Iterator[Record]:
        """Yield a record for each vote. By default each record of the file is one."""
        return iter(stream)

    def columns(self, columns: Collection[str]) -> dict[str, str]:
        """Return the needed columns as the file writes them. Raises FormatError if one is missing."""
        found = {name: column_like(columns, name) for name in self.needed}
        missing = [name for name, column in found.items() if column is None]
        if missing:
            raise FormatError(
                f"there is no column {' or '.join(missing)}",
                code="missing_column",
                column=missing[0],
                hint=f"The file looks like {self.title}: it needs {', '.join(self.needed)}. It has {listed(columns)}.",
            )
        return {name: column for name, column in found.items() if column is not None}


def truth(value: str, column: str) -> bool:
    """Return whether a cell says yes. Raises FormatError for other values than true, false, 1, 0 and nothing."""
    word = value.strip().casefold()
    if word in {"true", "1", "1.0", "yes"}:
        return True
    if word in {"false", "0", "0.0", "no", ""}:
        return False
    raise FormatError(
        f"{value.strip()[:40]!r} is neither true nor false", code="unknown_label", column=column, hint="Use 1 or 0."
    )


def text_of(value: object) -> str:
    """Return a plain value of JSON as text; "" for None and for lists and objects."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None or isinstance(value, list | dict) else str(value)
