"""Columns whose equal cells are one text: what is done to a cell is done once for each different text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np

Numbers = np.ndarray[Any, np.dtype[np.int64]]


class CodedColumn(Sequence[Any]):
    """A column as its different values and, for each row, the place of its value.

    values: the different values. codes: shape (rows,), places in `values`.
    """

    def __init__(self, values: list[Any], codes: np.ndarray[Any, np.dtype[Any]]) -> None:
        self.values = values
        self.codes = codes

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.listed(self.values))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment] # as of a list

    def __repr__(self) -> str:
        return f"CodedColumn({list(self)!r})"

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> CodedColumn: ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return CodedColumn(self.values, self.codes[place])
        return self.values[self.codes[place]]

    def count(self, value: Any) -> int:
        return sum(number for one, number in self.counted() if one == value)

    def listed(self, values: Sequence[Any]) -> list[Any]:
        """Return one of these values for each row, in the places of `self.values`."""
        table = np.empty(len(values), dtype=object)
        table[:] = values
        found: list[Any] = table[self.codes].tolist()
        return found

    def counted(self) -> Iterator[tuple[Any, int]]:
        """Yield each value with its number of rows."""
        counts = np.bincount(self.codes, minlength=len(self.values)).tolist()
        return ((value, count) for value, count in zip(self.values, counts, strict=True) if count)

    def numbered(self, numbers: dict[Any, int]) -> Numbers:
        """Return the number of each row's value. New values get the next numbers."""
        places = [numbers.setdefault(value, len(numbers)) for value in self.values]
        found: Numbers = np.array(places, np.int64)[self.codes]
        return found


class ColumnBuilder:
    """A column that is read piece by piece. It stays coded if all its pieces are."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._codes: list[Numbers] = []
        self._cells: list[Any] | None = None

    def add(self, piece: Sequence[Any]) -> None:
        if self._cells is None and isinstance(piece, CodedColumn):
            self._codes.append(piece.numbered(self._numbers))
            return
        if self._cells is None:
            self._cells = list(self._coded())
            self._codes = []
        self._cells += piece

    def column(self) -> Sequence[Any]:
        return self._coded() if self._cells is None else self._cells

    def _coded(self) -> CodedColumn:
        codes = np.concatenate(self._codes) if self._codes else np.array([], np.int64)
        return CodedColumn(list(self._numbers), codes)


def same_value(value: Any, rows: int) -> CodedColumn:
    """Return a column of one value."""
    return CodedColumn([value], np.zeros(rows, np.int64))


def counts_of(column: Sequence[Any]) -> Iterable[tuple[Any, int]]:
    """Return each different value of a column with its number of rows. A value of a coded column may stand twice."""
    return column.counted() if isinstance(column, CodedColumn) else Counter(column).items()


def different(column: Sequence[Any]) -> set[Any]:
    """Return the different values of a column."""
    return {value for value, _ in column.counted()} if isinstance(column, CodedColumn) else set(column)


def numbered(column: Sequence[Any], numbers: dict[Any, int]) -> Numbers:
    """Return the number of each row's value. New values get the next numbers."""
    if isinstance(column, CodedColumn):
        return column.numbered(numbers)
    for value in column:
        numbers.setdefault(value, len(numbers))
    return np.fromiter(map(numbers.__getitem__, column), np.int64, len(column))
