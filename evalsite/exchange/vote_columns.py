"""The columns of a vote file, and the allowed values of their cells.

A `Layout` names the columns that hold chatbots, outcome, prompt and the like. Each format of `vote_formats` makes one.
Optional columns are found without regard to case, blanks and separators. Values that are not in the tables below are
errors. `turn` is part of the item: turn 2 of prompt 81 is the prompt "81 (turn 2)".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from evalsite.core.text_names import UNPRINTABLE, text_name
from evalsite.exchange.errors import FormatError, listed, quoted
from evalsite.exchange.record_reading import Nested
from irt_engine.responses.identifiers import item_prompt, looks_like_turn

MAX_TEXT = 200  # Characters of a name, an ID or a label.

Outcome = tuple[int, bool]  # -1 A better, 0 tie, 1 B better; whether a tie means that both are bad.
Judge = Callable[[Mapping[str, str], "Layout"], "Outcome | None"]

A_BETTER, B_BETTER, TIE, BOTH_BAD = (-1, False), (1, False), (0, False), (0, True)

# A data frame writes whole numbers as 1.0 if the column has an empty cell.
NUMBERS: Mapping[str, Outcome] = MappingProxyType(
    {"-1": A_BETTER, "0": TIE, "1": B_BETTER, "-1.0": A_BETTER, "0.0": TIE, "-0.0": TIE, "1.0": B_BETTER}
)
LABELS: Mapping[str, Outcome] = MappingProxyType(
    {"model_a": A_BETTER, "model_b": B_BETTER, "tie": TIE, "tie (bothbad)": BOTH_BAD, "both_bad": BOTH_BAD}
)
# Other spellings, by `plain`.
_SYNONYMS: Mapping[str, Outcome] = MappingProxyType(
    {
        **dict.fromkeys(("modela", "a", "left", "model1", "responsea", "systema", "assistanta"), A_BETTER),
        **dict.fromkeys(("modelb", "b", "right", "model2", "responseb", "systemb", "assistantb"), B_BETTER),
        **dict.fromkeys(("tie", "tied", "draw", "tiebothgood", "bothgood"), TIE),
        **dict.fromkeys(("tiebothbad", "bothbad", "bothbadtie"), BOTH_BAD),
    }
)
_ORDERS = {"": None, "1": 1, "0": 0, "1.0": 1, "0.0": 0}
_SEPARATORS = re.compile(r"[\s_()\[\]-]+")


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a file and how its outcome is read.

    labels: the allowed values of `outcome`; with `synonyms` also their other spellings.
    judge: how a row becomes an outcome; None for a row without a judgment.
    prompt_text: columns with the prompt's text, from which a name is made if no column in `prompt` has one.
    unjudged: why rows without a judgment are left out, for the warning.

    Optional names are tried in order; an empty tuple never matches.
    """

    name: str
    system_a: str
    system_b: str
    outcome: str
    labels: Mapping[str, Outcome] = field(default_factory=lambda: LABELS)
    synonyms: bool = False
    prompt: tuple[str, ...] = ("prompt_id", "question_id")
    annotator: tuple[str, ...] = ("judge", "annotator_id")
    timestamp: tuple[str, ...] = ("tstamp", "timestamp")
    category: tuple[str, ...] = ("category",)
    a_first: tuple[str, ...] = ("a_first",)
    vote_id: tuple[str, ...] = ("vote_id", "judgment_id")
    turn: tuple[str, ...] = ("turn",)
    prompt_text: tuple[str, ...] = ()
    judge: Judge | None = None
    used: tuple[str, ...] = ()
    unjudged: str = ""

    @property
    def required(self) -> tuple[str, str, str]:
        return (self.system_a, self.system_b, self.outcome)

    @property
    def known(self) -> frozenset[str]:
        """Return every column that this layout reads."""
        optional = (getattr(self, name) for name in _OPTIONAL)
        return frozenset((*self.required, *self.used)).union(*optional)

    def bound(self, columns: Collection[str]) -> Layout:
        """Return the layout with its optional columns as the file writes them."""
        found: dict[str, Any] = {
            name: tuple(filter(None, (column_like(columns, wanted) for wanted in getattr(self, name))))
            for name in _OPTIONAL
        }
        return replace(self, **found)

    def outcome_of(self, values: Mapping[str, str]) -> Outcome | None:
        """Return the outcome of a row, or None if it has no judgment. Raises FormatError for an unknown label."""
        return outcome_cell(values, self) if self.judge is None else self.judge(values, self)


_OPTIONAL = ("prompt", "annotator", "timestamp", "category", "a_first", "vote_id", "turn", "prompt_text")


def plain(text: str) -> str:
    """Return a column name or a label without case, blanks and separators."""
    return _SEPARATORS.sub("", text.casefold())


def column_like(columns: Collection[str], name: str) -> str | None:
    """Return the column of this name, or else the one that differs only in case and separators.

    Raises FormatError if several differ so.
    """
    if name in columns:
        return name
    wanted = plain(name)
    found = [column for column in columns if plain(column) == wanted]
    if len(found) > 1:
        raise FormatError(
            f"the columns {listed(found)} differ only in case or separators",
            code="ambiguous_column",
            column=found[0],
            hint=f"Keep one, and call it {name}.",
        )
    return found[0] if found else None


def text_cell(values: Mapping[str, str], column: str) -> str:
    """Return the cell without surrounding blanks, "" without one.

    Raises FormatError unless it is short plain text.
    """
    value = values.get(column, "")
    if isinstance(value, Nested):
        raise FormatError("holds a list or an object", code="bad_value", column=column, hint="Use text or a number.")
    value = value.strip()
    if len(value) > MAX_TEXT:
        raise FormatError(
            f"is longer than {MAX_TEXT} characters ({quoted(value)})",
            code="bad_value",
            column=column,
            hint="Shorten it in the file.",
        )
    if UNPRINTABLE.search(value):
        raise FormatError(
            f"holds a character that cannot be shown ({quoted(value)})",
            code="bad_value",
            column=column,
            hint="Remove it in the file.",
        )
    return value


def optional_cell(values: Mapping[str, str], columns: tuple[str, ...]) -> str | None:
    """Return the first non-empty cell of `columns`; None (unknown) without one."""
    for column in columns:
        if column in values and (value := text_cell(values, column)):
            return value
    return None


def prompt_cell(values: Mapping[str, str], layout: Layout, *, merge_turns: bool) -> str | None:
    """Return the prompt, with its turn unless turns are merged; None without a prompt."""
    prompt = optional_cell(values, layout.prompt) or _text_name(values, layout.prompt_text)
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


def _text_name(values: Mapping[str, str], columns: tuple[str, ...]) -> str | None:
    """Return a name made of the prompt's text: the text if it is short, else its beginning and a hash."""
    cell = next((values[column] for column in columns if values.get(column)), "")
    text = json.dumps(cell.value, ensure_ascii=False, default=str) if isinstance(cell, Nested) else cell
    return text_name(text) or None


def outcome_cell(values: Mapping[str, str], layout: Layout) -> Outcome:
    """Return the outcome that the label of the row stands for."""
    label = text_cell(values, layout.outcome)
    outcome = layout.labels.get(label)
    if outcome is None and layout.synonyms:
        outcome = label_outcome(label)
    if outcome is None:
        raise unknown_label(label, layout.outcome, layout.labels)
    return outcome


def label_outcome(label: str) -> Outcome | None:
    """Return what a label means in any spelling that is known."""
    return LABELS.get(label) or _SYNONYMS.get(plain(label))


def unknown_label(label: str, column: str, labels: Mapping[str, Outcome] = LABELS) -> FormatError:
    """Return the error for a label that is in no table: it is never counted as a tie."""
    allowed = "-1 (A better), 0 (tie), 1 (B better)" if "-1.0" in labels else ", ".join(labels)
    return FormatError(
        f"the label {quoted(label)} is not known" if label else "the label is missing",
        code="unknown_label",
        column=column,
        hint=f"Use one of {allowed}. Or say what it means, as with --map {_shell(label)}=tie."
        if label
        else f"Use one of {allowed}.",
    )


def _shell(label: str) -> str:
    return label if re.fullmatch(r"[\w.:-]{1,40}", label) else "LABEL"


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
            raise FormatError(
                "the name of the chatbot is missing",
                code="blank_value",
                column=column,
                hint="Fill it in, or remove the row.",
            )
    if a == b:
        raise FormatError(
            f"{quoted(a)} is compared with itself",
            code="self_comparison",
            column=layout.system_b,
            hint="Remove the row: it says nothing about the order.",
        )
    return a, b
