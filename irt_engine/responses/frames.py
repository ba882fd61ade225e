"""Columns of a data frame: of pandas, polars or Arrow, or a mapping of columns."""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Iterable, Sized
from typing import Any, Protocol

import numpy as np

from irt_engine.errors import EngineWarning, InvalidResponses
from irt_engine.responses.vote_qualifiers import NESTED_FLAGS, QUALIFIERS, QUESTIONS, doubt_text, is_doubtful

REQUIRED = ("system_a", "system_b", "prompt_id", "outcome")
OPTIONAL = ("annotator_id", "a_first")
TURN = "turn"
_ALWAYS_KNOWN = {str, int, bool, type(None)}  # of these no value is other than itself: nothing to ask one by one


class Frame(Protocol):
    """Describe what a pandas DataFrame and a dict of columns have in common.

    Frames of polars and tables of Arrow are read, too.
    """

    def keys(self) -> Iterable[Any]:
        """Return the names of the columns.

        Returns
        -------
        iterable
            The names.
        """
        ...

    def __getitem__(self, name: str, /) -> Any:
        """A column: anything that can be iterated over."""
        ...


def is_frame(values: object) -> bool:
    """Return whether a value is a frame with named columns.

    Parameters
    ----------
    values : object
        A frame or a column.

    Returns
    -------
    bool
        True for a frame.
    """
    named = any(hasattr(values, name) for name in ("keys", "columns", "column_names"))
    return named and hasattr(values, "__getitem__") and not hasattr(values, "tolist")


def columns_of(frame: Frame, label: str | None, turn: str | None = TURN) -> dict[str, Any]:
    """Return the columns of votes as lists, with None for unknown values.

    Parameters
    ----------
    frame : Frame
        The votes.
    label : str, optional
        Name of the column with labels; unknown labels are "".
    turn : str, optional
        Name of the column with turns, which are part of the item.

    Returns
    -------
    dict of list
        The columns by the names of `ResponseTable.from_votes`.

    Raises
    ------
    InvalidResponses
        If a column is absent (``missing_column``).

    Warns
    -----
    EngineWarning
        If a column marks votes that perhaps should not count.
    """
    there = _names(frame)
    asked = [name for name in (label, turn if turn != TURN else None) if name is not None]
    for name in (*REQUIRED, *asked):
        if name not in there:
            raise InvalidResponses(
                f"there is no column {name}",
                code="missing_column",
                hint=f"the frame has {', '.join(map(str, there)) or 'no columns'}; rename what holds it to {name}",
            )
    columns: dict[str, Any] = {name: listed(frame[name]) for name in REQUIRED}
    columns |= {name: listed(frame[name]) if name in there else None for name in OPTIONAL}
    of_label = None if label is None else ["" if x is None else x for x in listed(frame[label])]
    of_turn = listed(frame[turn]) if turn is not None and turn in there else None
    for name in there:
        if isinstance(name, str) and name != label:
            _warn_of(name, frame)
    return columns | {"label": of_label, "turn": of_turn}


def _names(frame: Any) -> list[Any]:
    """Return the names of the columns: of pandas and mappings `keys`, of polars `columns`, of Arrow `column_names`."""
    if hasattr(frame, "keys"):
        return list(frame.keys())
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def _warn_of(name: str, frame: Frame) -> None:
    """Warn where a column says that some of its votes should not count, or that they answer several questions."""
    if name.casefold() in QUALIFIERS:
        values = ["" if value is None else str(value) for value in listed(frame[name])]
        doubtful = [value for value in values if is_doubtful(name, value)]
        if doubtful:
            text = doubt_text(name, set(doubtful), len(doubtful), len(values))
            warnings.warn(text, EngineWarning, stacklevel=4)
    elif name in QUESTIONS:
        found = {str(value) for value in listed(frame[name]) if value is not None}
        if len(found) > 1:
            text = f"The column {name} holds {len(found):,} questions, and their votes are pooled. Select one of them."
            warnings.warn(text, EngineWarning, stacklevel=4)
    elif name in NESTED_FLAGS and any(isinstance(value, dict | list) for value in listed(frame[name])):
        text = f"The column {name} holds objects that mark votes to leave out. It is not read: all are counted."
        warnings.warn(text, EngineWarning, stacklevel=4)


def check_column(column: object, kind: type = Sized) -> None:
    """Check that a value is a column.

    Parameters
    ----------
    column : object
        The value. One string is no column.
    kind : type
        The required protocol.

    Raises
    ------
    InvalidResponses
        If the value is no column (``shape``).
    """
    if isinstance(column, str | bytes) or not isinstance(column, kind):
        raise InvalidResponses(
            f"a column is {reprlib.repr(column)}", code="shape", hint="give a list of values, one for each vote"
        )


def listed(column: Any) -> list[Any]:
    """Return a column as a list, with None for unknown values.

    Parameters
    ----------
    column : array_like
        The column.

    Returns
    -------
    list
        The values.

    Raises
    ------
    InvalidResponses
        If the value is no column (``shape``).
    """
    check_column(column, Iterable)
    lists = (getattr(column, name) for name in ("tolist", "to_list", "to_pylist") if hasattr(column, name))
    values = list(next(lists, lambda: column)())
    if set(map(type, values)) <= _ALWAYS_KNOWN:
        return values
    return [value if type(value) in _ALWAYS_KNOWN else _known(value) for value in values]


def _known(value: Any) -> Any:
    """None for what frames write where nothing is known: NaN differs from itself, NA from everything."""
    same = value == value
    return value if isinstance(same, bool | np.bool_) and same else None
