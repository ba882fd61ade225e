"""Our own columns, the arena's columns, and other spellings of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from evalsite.exchange.errors import FormatError, listed, quoted
from evalsite.exchange.record_reading import Records
from evalsite.exchange.vote_columns import LABELS, NUMBERS, Layout, Outcome, column_like, plain
from evalsite.exchange.vote_formats.base import VoteFormat

NATIVE = ("system_a", "system_b", "outcome")
ARENA = ("model_a", "model_b", "winner")
_PAIRS = (
    *(("system_a", "system_b"), ("model_a", "model_b"), ("model_1", "model_2"), ("left", "right"), ("a", "b")),
    *(("model_left", "model_right"), ("left_model", "right_model"), ("chatbot_a", "chatbot_b")),
    *(("system_1", "system_2"), ("assistant_a", "assistant_b"), ("bot_a", "bot_b")),
)
_OUTCOMES = ("outcome", "winner", "vote", "choice", "verdict", "preference", "preferred")
CONVERT = "Or name the columns, as with --a COLUMN --b COLUMN --winner COLUMN."


class OwnColumns(VoteFormat):
    name = "own"
    title = "votes in Touchstone's columns"
    needed = NATIVE

    def recognises(self, records: Records) -> bool:
        return set(self.needed) <= set(records.columns)

    def layout(self, records: Records, first: Mapping[str, str]) -> Layout:
        return own_layout(*NATIVE)


class ArenaColumns(OwnColumns):
    name = "arena"
    title = "votes of a chatbot arena"
    needed = ARENA

    def layout(self, records: Records, first: Mapping[str, str]) -> Layout:
        return arena_layout(*ARENA)


class OtherSpellings(VoteFormat):
    """Columns of chatbots and outcome under other names: the last format that is tried."""

    name = "synonyms"
    title = "votes on pairs of chatbots"
    needed = ARENA

    def recognises(self, records: Records) -> bool:
        return True

    def check(self, records: Records) -> None:
        """Leave the check to `layout`."""

    def layout(self, records: Records, first: Mapping[str, str]) -> Layout:
        a, b, outcome = spelled_columns(list(records.columns))
        return own_layout(a, b, outcome) if plain(outcome) == "outcome" else arena_layout(a, b, outcome)


def own_layout(a: str, b: str, outcome: str) -> Layout:
    return Layout("native", a, b, outcome, NUMBERS, prompt=("prompt_id",), annotator=("annotator_id",),
                  timestamp=("timestamp",))  # fmt: skip


def arena_layout(a: str, b: str, outcome: str) -> Layout:
    return Layout("arena", a, b, outcome, LABELS, synonyms=True)


def mapped_layout(columns: Collection[str], mapping: Mapping[str, str], labels: Mapping[str, Outcome]) -> Layout:
    """Return the layout of columns that a person names: a, b, and winner.

    Raises FormatError for a column that the file does not have.
    """
    found = {}
    for option, name in mapping.items():
        column = column_like(columns, name)
        if column is None:
            raise FormatError(
                f"there is no column {quoted(name)}, which --{option} asks for",
                code="unknown_column",
                hint=f"The columns are {listed(columns, most=30)}.",
            )
        found[option] = column
    numeric = plain(found["winner"]) == "outcome"
    known = NUMBERS if numeric else LABELS
    return Layout("mapped", found["a"], found["b"], found["winner"], {**known, **labels}, synonyms=not numeric)


def spelled_columns(columns: Sequence[str]) -> tuple[str, str, str]:
    """Return the columns of both chatbots and of the outcome.

    Raises FormatError if one is missing, or if several columns could be it.
    """
    _refuse_both(columns)
    pairs = {
        pair: (column_like(columns, pair[0]), column_like(columns, pair[1]))
        for pair in _PAIRS
        if any(column_like(columns, name) for name in pair)
    }
    whole = {(a, b): None for a, b in pairs.values() if a is not None and b is not None}
    outcomes = list(dict.fromkeys(filter(None, (column_like(columns, name) for name in _OUTCOMES))))
    if len(whole) == 1 and len(outcomes) == 1:
        (a, b) = next(iter(whole))
        return a, b, outcomes[0]
    if len(whole) > 1 or (whole and len(outcomes) > 1):
        _refuse_ambiguous([f"{a} and {b}" for a, b in whole] if len(whole) > 1 else outcomes)
    raise _missing(columns, next(iter(whole), None))


def _refuse_both(columns: Collection[str]) -> None:
    if {*NATIVE, *ARENA} <= set(columns):
        raise FormatError(
            "has the columns of both layouts, which may contradict each other",
            code="ambiguous_layout",
            hint=f"Remove {', '.join(NATIVE)} or {', '.join(ARENA)}.",
        )


def _refuse_ambiguous(candidates: Sequence[str]) -> None:
    raise FormatError(
        f"has several columns that can be meant: {listed(candidates)}",
        code="ambiguous_layout",
        hint="Say which, as with --a COLUMN --b COLUMN --winner COLUMN.",
    )


def _missing(columns: Sequence[str], pair: tuple[str, str] | None) -> FormatError:
    nearest = max((NATIVE, ARENA), key=lambda names: sum(column_like(columns, name) is not None for name in names))
    missing = [name for name in nearest if column_like(columns, name) is None]
    if pair is not None:
        missing = ["outcome" if pair == NATIVE[:2] else "winner"]
    needed = f"{', '.join(NATIVE)}, or {', '.join(ARENA)}"
    hint = f"The file needs {needed}. It has {listed(columns)}. {CONVERT}"
    if len(columns) == 1 and re.search("[;\t]", columns[0]):
        hint = f"The columns must be separated by commas. {hint}"
    return FormatError(
        f"there is no column {' or '.join(missing)}", code="missing_column", column=missing[0], hint=hint
    )
