"""Cells of a CSV file of selections: `conversation_id, turn, setting, chatbot, position, selected`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from sys import intern

from evalsite.exchange.errors import FormatError, listed, quoted
from evalsite.exchange.vote_columns import text_cell
from irt_engine.selections import SelectionRow

REQUIRED = ("conversation_id", "turn", "setting", "chatbot", "selected")
COLUMNS = ("conversation_id", "turn", "setting", "chatbot", "position", "selected")
_MOST = 1_000_000_000
# A data frame writes whole numbers as 1.0 if the column has an empty cell.
_WHOLE = re.compile(r"([0-9]{1,10})(?:\.0+)?", re.ASCII)
_SELECTED = {"1": True, "0": False, "1.0": True, "0.0": False, "true": True, "false": False}


def check_columns(columns: Collection[str], repeated: Collection[str]) -> None:
    """Raise FormatError if a required column is missing or a known column stands twice."""
    missing = [column for column in REQUIRED if column not in columns]
    if missing:
        raise FormatError(
            f"there is no column {listed(missing)}",
            code="missing_column",
            column=missing[0],
            hint=f"The file needs {', '.join(COLUMNS)} (position may be missing). It has {listed(columns)}.",
        )
    for column in COLUMNS:
        if column in repeated:
            raise FormatError(
                "this column stands twice", code="repeated_column", column=column, hint="Remove one of the two."
            )


def selection_row(values: Mapping[str, str]) -> SelectionRow:
    """Return the row.

    Raises FormatError, which names the column.
    """
    return SelectionRow(
        conversation=intern(_name(values, "conversation_id")),
        turn=_number(values, "turn"),
        setting=intern(_name(values, "setting")),
        chatbot=intern(_name(values, "chatbot")),
        position=_number(values, "position") if values.get("position", "").strip() else None,
        selected=_selected(values),
    )


def _name(values: Mapping[str, str], column: str) -> str:
    name = text_cell(values, column)
    if not name:
        raise FormatError("the cell is empty", code="blank_value", column=column, hint="Fill it in, or remove the row.")
    return name


def _number(values: Mapping[str, str], column: str) -> int:
    text = text_cell(values, column)
    found = _WHOLE.fullmatch(text)
    if found is None or int(found[1]) > _MOST:
        what = f"{quoted(text)} is not a whole number from 0 to {_MOST:,}" if text else "the cell is empty"
        raise FormatError(what, code="bad_value", column=column, hint="Use 1, 2, 3 and so on.")
    return int(found[1])


def _selected(values: Mapping[str, str]) -> bool:
    text = text_cell(values, "selected")
    found = _SELECTED.get(text.casefold())
    if found is None:
        what = f"{quoted(text)} is neither 1 nor 0" if text else "the cell is empty"
        raise FormatError(what, code="bad_value", column="selected", hint="Use 1 for selected, 0 for not selected.")
    return found
