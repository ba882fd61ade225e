"""Columns whose equal cells are one text: what is done to a cell is done once for each different text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np


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

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> CodedColumn: ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return CodedColumn(self.values, self.codes[place])
        return self.values[self.codes[place]]

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
