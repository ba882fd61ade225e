"""Columns out of a data frame, without knowing whose: pandas, another library's, or a plain mapping of columns."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Sized
from typing import Any, Protocol

import numpy as np

from .errors import InvalidResponses

REQUIRED = ("system_a", "system_b", "prompt_id", "outcome")
OPTIONAL = ("annotator_id", "a_first")
_ALWAYS_KNOWN = {str, int, bool, type(None)}  # of these no value is other than itself: nothing to ask one by one


class Frame(Protocol):
    """What a pandas DataFrame and a dict of columns have in common."""

    def keys(self) -> Iterable[Any]:
        """The names of the columns."""
        ...

    def __getitem__(self, name: str, /) -> Any:
        """A column: anything that can be iterated over."""
        ...


def is_frame(values: object) -> bool:
    """Whether this is a frame and no column: it has named columns."""
    return hasattr(values, "keys") and hasattr(values, "__getitem__") and not hasattr(values, "tolist")


def columns_of(frame: Frame, label: str | None) -> dict[str, Any]:
    """The columns of votes as lists, unknown values as None; label names one more column (as text, unknown is "").

    Raises InvalidResponses (missing_column) with what the frame has instead.
    """
    there = list(frame.keys())
    for name in (*REQUIRED, *([] if label is None else [label])):
        if name not in there:
            raise InvalidResponses(
                f"there is no column {name}",
                code="missing_column",
                hint=f"the frame has {', '.join(map(str, there)) or 'no columns'}; rename what holds it to {name}",
            )
    columns: dict[str, Any] = {name: listed(frame[name]) for name in REQUIRED}
    columns |= {name: listed(frame[name]) if name in there else None for name in OPTIONAL}
    of_label = None if label is None else ["" if x is None else str(x) for x in listed(frame[label])]
    return columns | {"label": of_label}


def check_column(column: object, kind: type = Sized) -> None:
    """Raises InvalidResponses (shape) unless it is values one after the other: one text alone is none."""
    if isinstance(column, str | bytes) or not isinstance(column, kind):
        raise InvalidResponses(
            f"a column is {reprlib.repr(column)}", code="shape", hint="give a list of values, one for each vote"
        )


def listed(column: Any) -> list[Any]:
    """The values of a column, None where they are unknown. Raises InvalidResponses (shape) for what is no column."""
    check_column(column, Iterable)
    values = list(column.tolist() if hasattr(column, "tolist") else column)
    if set(map(type, values)) <= _ALWAYS_KNOWN:
        return values
    return [value if type(value) in _ALWAYS_KNOWN else _known(value) for value in values]


def _known(value: Any) -> Any:
    """None for what frames write where nothing is known: NaN differs from itself, NA from everything."""
    same = value == value
    return value if isinstance(same, bool | np.bool_) and same else None
