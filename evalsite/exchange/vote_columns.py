"""The two column layouts of vote files, and the allowed values of their cells.

Native: `system_a, system_b, outcome`; optionally `prompt_id, annotator_id, category, a_first, timestamp`.

Arena: `model_a, model_b, winner`; optionally `prompt_id` or `question_id` (the first if both have a value), `judge` or
`annotator_id`, `tstamp` or `timestamp`, `category`, `a_first`.

Both may have `vote_id` or `judgment_id`, the file's own ID of the vote. Both may have `turn`, which is part of the
item: turn 2 of prompt 81 is the prompt "81 (turn 2)". Other columns are ignored. Values that are not in the tables
below are errors.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from evalsite.exchange.errors import FormatError, listed, quoted
from evalsite.exchange.record_reading import NESTED
from irt_engine.responses.identifiers import item_prompt, looks_like_turn

MAX_TEXT = 200  # Characters of a name, an ID or a label.

# -1: A better, 0: tie, 1: B better. A data frame writes whole numbers as 1.0 if the column has an empty cell.
_NATIVE_OUTCOMES = {"-1": -1, "0": 0, "1": 1, "-1.0": -1, "0.0": 0, "-0.0": 0, "1.0": 1}
_ARENA_OUTCOMES = {"model_a": -1, "model_b": 1, "tie": 0, "tie (bothbad)": 0, "both_bad": 0}
_BOTH_BAD = frozenset({"tie (bothbad)", "both_bad"})
_ORDERS = {"": None, "1": 1, "0": 0, "1.0": 1, "0.0": 0}

# Terminals obey control characters, and a lone surrogate has no UTF-8 encoding.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a layout.

    Optional names are tried in order; an empty tuple never matches.
    """

    name: str
    system_a: str
    system_b: str
    outcome: str
    outcomes: Mapping[str, int]
    prompt: tuple[str, ...]
    annotator: tuple[str, ...]
    timestamp: tuple[str, ...]
    category: tuple[str, ...] = ("category",)
    a_first: tuple[str, ...] = ("a_first",)
    vote_id: tuple[str, ...] = ("vote_id", "judgment_id")
    turn: tuple[str, ...] = ("turn",)

    @property
    def required(self) -> tuple[str, str, str]:
        return (self.system_a, self.system_b, self.outcome)

    @property
    def known(self) -> frozenset[str]:
        """Return every column that this layout reads."""
        optional = (self.prompt, self.annotator, self.timestamp, self.category, self.a_first, self.vote_id, self.turn)
        return frozenset(self.required).union(*optional)


NATIVE = Layout(
    name="native",
    system_a="system_a",
    system_b="system_b",
    outcome="outcome",
    outcomes=MappingProxyType(_NATIVE_OUTCOMES),
    prompt=("prompt_id",),
    annotator=("annotator_id",),
    timestamp=("timestamp",),
)
ARENA = Layout(
    name="arena",
    system_a="model_a",
    system_b="model_b",
    outcome="winner",
    outcomes=MappingProxyType(_ARENA_OUTCOMES),
    prompt=("prompt_id", "question_id"),
    annotator=("judge", "annotator_id"),
    timestamp=("tstamp", "timestamp"),
)


def layout_of(columns: Collection[str]) -> Layout:
    """Return the layout whose required columns are all in `columns`.

    Raises FormatError for no layout or both.
    """
    complete = [layout for layout in (NATIVE, ARENA) if set(layout.required) <= set(columns)]
    if len(complete) == 1:
        return complete[0]
    if complete:
        raise FormatError(
            "has the columns of both layouts, which may contradict each other",
            code="ambiguous_layout",
            hint=f"Remove {', '.join(NATIVE.required)} or {', '.join(ARENA.required)}.",
        )
    nearest = max((NATIVE, ARENA), key=lambda layout: len(set(layout.required) & set(columns)))
    missing = [name for name in nearest.required if name not in columns]
    needed = f"{', '.join(NATIVE.required)}, or {', '.join(ARENA.required)}"
    hint = f"The file needs {needed}. It has {listed(columns)}."
    if len(columns) == 1 and re.search("[;\t]", next(iter(columns))):
        hint = f"The columns must be separated by commas. {hint}"
    raise FormatError(f"there is no column {' or '.join(missing)}", code="missing_column", column=missing[0], hint=hint)


def text_cell(values: Mapping[str, str], column: str) -> str:
    """Return the cell without surrounding blanks, "" without one.

    Raises FormatError unless it is short plain text.
    """
    value = values.get(column, "")
    if value is NESTED:
        raise FormatError("holds a list or an object", code="bad_value", column=column, hint="Use text or a number.")
    value = value.strip()
    if len(value) > MAX_TEXT:
        raise FormatError(f"is longer than {MAX_TEXT} characters ({quoted(value)})", code="bad_value", column=column)
    if _UNPRINTABLE.search(value):
        raise FormatError(f"holds a character that cannot be shown ({quoted(value)})", code="bad_value", column=column)
    return value


def optional_cell(values: Mapping[str, str], columns: tuple[str, ...]) -> str | None:
    """Return the first non-empty cell of `columns`; None (unknown) without one."""
    for column in columns:
        if column in values and (value := text_cell(values, column)):
            return value
    return None


def prompt_cell(values: Mapping[str, str], layout: Layout, *, merge_turns: bool) -> str | None:
    """Return the prompt, with its turn unless turns are merged; None without a prompt."""
    prompt = optional_cell(values, layout.prompt)
    if prompt is None or merge_turns:
        return prompt
    turn = optional_cell(values, layout.turn)
    if turn is not None and looks_like_turn(prompt):
        raise FormatError(
            f"the prompt id {quoted(prompt)} looks like the name of a turn",
            code="ambiguous_prompt",
            column=layout.turn[0],
            hint="Rename it, or merge the turns (--merge-turns).",
        )
    return item_prompt(prompt, None if turn is None else turn.removesuffix(".0"))


def outcome_cell(values: Mapping[str, str], layout: Layout) -> tuple[int, bool]:
    """Return (-1 A better, 0 tie, 1 B better; whether a tie means that both are bad)."""
    label = text_cell(values, layout.outcome)
    outcome = layout.outcomes.get(label)
    if outcome is None:
        raise FormatError(
            f"the label {quoted(label)} is not known" if label else "the label is missing",
            code="unknown_label",
            column=layout.outcome,
            hint=f"Use one of {_allowed(layout)}.",
        )
    return outcome, label in _BOTH_BAD


def order_cell(values: Mapping[str, str], layout: Layout) -> int | None:
    """Return 1 if A was displayed first, 0 if B was, None if unknown."""
    label = optional_cell(values, layout.a_first) or ""
    if label not in _ORDERS:
        raise FormatError(
            f"{quoted(label)} is not 1, 0 or empty",
            code="bad_value",
            column=layout.a_first[0],
            hint="1: A was shown first, 0: B was, empty: not known.",
        )
    return _ORDERS[label]


def systems_cells(values: Mapping[str, str], layout: Layout) -> tuple[str, str]:
    """Return the names of the two different chatbots."""
    a, b = text_cell(values, layout.system_a), text_cell(values, layout.system_b)
    for name, column in ((a, layout.system_a), (b, layout.system_b)):
        if not name:
            raise FormatError("the name of the chatbot is missing", code="blank_value", column=column)
    if a == b:
        raise FormatError(
            f"{quoted(a)} is compared with itself",
            code="self_comparison",
            column=layout.system_b,
            hint="Remove the row: it says nothing about the order.",
        )
    return a, b


def _allowed(layout: Layout) -> str:
    if layout is NATIVE:
        return "-1 (A better), 0 (tie), 1 (B better)"
    return ", ".join(layout.outcomes)
