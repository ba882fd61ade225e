"""Identifiers of chatbots, prompts, annotators and labels: any scalar, known by its text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, time
from numbers import Number
from typing import Any
from uuid import UUID

import numpy as np

from irt_engine.errors import InvalidResponses
from irt_engine.responses.frames import listed

_SCALARS = (str, Number, date, time, UUID, np.generic)
_EXACT = 2.0**53  # floats tell all whole numbers up to it


def identifier_of(value: object) -> str | None:
    """Return the text of an identifier.

    A whole number has no fraction: 81, 81.0 and "81" are one prompt. Frames convert integer columns with empty cells to
    floats.

    Parameters
    ----------
    value : object
        A scalar.

    Returns
    -------
    str or None
        None if the value is no scalar.
    """
    if isinstance(value, str):
        return value
    if not isinstance(value, _SCALARS) or isinstance(value, bytes):
        return None
    plain = value.item() if isinstance(value, np.generic) and not isinstance(value, np.datetime64) else value
    if isinstance(plain, float) and plain.is_integer() and abs(plain) <= _EXACT:
        return str(int(plain))
    return str(plain)


def item_prompt(prompt: str, turn: str | None) -> str:
    """Return the name of one turn of a prompt.

    Parameters
    ----------
    prompt : str
        The prompt.
    turn : str or None
        The turn; the first turn keeps the prompt's name.

    Returns
    -------
    str
        The name.
    """
    return prompt if turn in {None, "", "1"} else f"{prompt} (turn {turn})"


def looks_like_turn(prompt: str) -> bool:
    """Return whether a prompt's name has the form of `item_prompt`.

    Parameters
    ----------
    prompt : str
        The name.

    Returns
    -------
    bool
        True for a name like "81 (turn 2)".
    """
    return prompt.endswith(")") and " (turn " in prompt


def names_of(column: Sequence[Any], title: str) -> list[str]:
    """Return a column of names as text.

    Parameters
    ----------
    column : sequence
        The column.
    title : str
        Its title, for the error.

    Returns
    -------
    list of str
        The names.

    Raises
    ------
    InvalidResponses
        If a name is empty or no scalar (``missing_name``).
    """
    values = listed(column)
    if set(map(type, values)) <= {str} and "" not in values:
        return values
    names = [identifier_of(value) for value in values]
    row = next((row for row, name in enumerate(names, start=1) if not name), None)
    if row is not None:
        raise InvalidResponses(
            f"row {row}: {title} is {values[row - 1]!r}, not a name",
            code="missing_name",
            hint="give text, a number or another single value for each vote",
        )
    return [name or "" for name in names]


def labels_of(column: Sequence[Any]) -> list[str]:
    """Return a column of labels as text; labels may be empty.

    Parameters
    ----------
    column : sequence
        The column.

    Returns
    -------
    list of str
        The labels.

    Raises
    ------
    InvalidResponses
        If a label is no scalar (``missing_label``).
    """
    values = listed(column)
    labels = [identifier_of(value) for value in values]
    row = next((row for row, label in enumerate(labels, start=1) if label is None), None)
    if row is not None:
        raise InvalidResponses(
            f"row {row}: label is {values[row - 1]!r}, not text",
            code="missing_label",
            hint='give text, a number or another single value, and "" for what is unknown',
        )
    return [label or "" for label in labels]


def optional_of(column: Sequence[Any], title: str, code: str) -> list[str | None]:
    """Return a column of optional identifiers as text, with None for unknown or blank ones.

    Parameters
    ----------
    column : sequence
        The column.
    title : str
        Its title, for the error.
    code : str
        The code of the error.

    Returns
    -------
    list of str or None
        The identifiers.

    Raises
    ------
    InvalidResponses
        If an identifier is no scalar.
    """
    values = listed(column)
    if set(map(type, values)) <= {str, type(None)}:
        blank = {value for value in set(values) if value is not None and not value.strip()}
        return [None if value in blank else value for value in values] if blank else values
    found: list[str | None] = []
    for row, value in enumerate(values, start=1):
        name = None if value is None else identifier_of(value)
        if value is not None and name is None:
            raise InvalidResponses(
                f"row {row}: {title} is {value!r}, not an identifier",
                code=code,
                hint="give text or a number, None where it is unknown",
            )
        found.append(name if name and name.strip() else None)
    return found


def items_of(prompts: Sequence[str], turns: Sequence[Any]) -> list[str]:
    """Return the items: prompts with their turns.

    Parameters
    ----------
    prompts : sequence of str
        The prompts.
    turns : sequence
        The turns.

    Returns
    -------
    list of str
        The items.

    Raises
    ------
    InvalidResponses
        If a turn is invalid (``bad_turn``), or a prompt's name looks like an item (``ambiguous_prompt``).
    """
    named = optional_of(turns, "turn", "bad_turn")
    row = next((row for row, prompt in enumerate(prompts, start=1) if looks_like_turn(prompt)), None)
    if row is not None and any(turn not in {None, "1"} for turn in named):
        raise InvalidResponses(
            f"row {row}: prompt_id {prompts[row - 1]!r} looks like the name of a turn",
            code="ambiguous_prompt",
            hint="rename it, or merge the turns (turn=None)",
        )
    return [item_prompt(prompt, turn) for prompt, turn in zip(prompts, named, strict=True)]
