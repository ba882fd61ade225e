"""Response table: votes as frozen, validated integer arrays. Every function of the engine takes votes in this form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self, overload

import numpy as np

from irt_engine.arrays import IntArray, check_fields, frozen
from irt_engine.errors import InvalidResponses
from irt_engine.responses.frames import REQUIRED, TURN, Frame, check_column, columns_of, is_frame, listed
from irt_engine.responses.identifiers import items_of, labels_of, names_of, optional_of

_MOST_WHOLE = 2**53  # floats tell all whole numbers up to it
_SHOWN = {"": None, "1": 1, "0": 0, "1.0": 1, "0.0": 0}  # a_first as text


@dataclass(frozen=True, slots=True, eq=False)
class ResponseTable:
    """Store n votes on M chatbots and J prompts.

    `chatbots` and `prompts` may contain names without votes. An entrant without votes has a wide posterior.

    Parameters
    ----------
    chatbots, prompts, labels : tuple of str
        Names. Labels separate repeated experiments on one pair.
    a, b : ndarray of int, shape (n,)
        Indices into `chatbots` in the order of the file; a != b.
    prompt : ndarray of int, shape (n,)
        Indices into `prompts`.
    outcome : ndarray of int, shape (n,)
        -1: A better, 0: tie, 1: B better.
    annotator : ndarray of int, shape (n,)
        Number of the annotator, or -1 for unknown.
    a_first : ndarray of int, shape (n,)
        1: A was shown first, 0: B was, -1: unknown.
    label : ndarray of int, shape (n,)
        Indices into `labels`; all 0 without labels.

    Raises
    ------
    InvalidResponses
        If a row is invalid; the message names the first one, counted from 1.
    """

    chatbots: tuple[str, ...]
    prompts: tuple[str, ...]
    labels: tuple[str, ...]
    a: IntArray
    b: IntArray
    prompt: IntArray
    outcome: IntArray
    annotator: IntArray
    a_first: IntArray
    label: IntArray

    def __post_init__(self) -> None:
        check_fields(self)
        for field in fields(self)[3:]:
            object.__setattr__(self, field.name, _int_column(getattr(self, field.name), field.name))
        _check_sizes(self)
        _check_rows(self)

    def __len__(self) -> int:
        return len(self.a)

    @overload
    @classmethod
    def from_votes(cls, system_a: Frame, /, *, label: str | None = None, turn: str | None = TURN) -> Self: ...

    @overload
    @classmethod
    def from_votes(
        cls,
        system_a: Sequence[object],
        system_b: Sequence[object],
        prompt_id: Sequence[object],
        outcome: Sequence[int],
        *,
        annotator_id: Sequence[object] | None = None,
        a_first: Sequence[int | bool | None] | None = None,
        label: Sequence[object] | None = None,
        turn: Sequence[object] | None = None,
    ) -> Self: ...

    @classmethod
    def from_votes(
        cls,
        system_a: Any,
        system_b: Any = None,
        prompt_id: Any = None,
        outcome: Any = None,
        *,
        annotator_id: Any = None,
        a_first: Any = None,
        label: Any = None,
        turn: Any = TURN,
    ) -> Self:
        """Return the table of a data frame, or of columns of equal length.

        Identifiers are scalars: text, numbers, dates or UUIDs. They are known by their text, and a whole number has no
        fraction: 81, 81.0 and "81" are one prompt. Names are sorted, so that the order of the rows has no influence on
        a fit.

        Every vote counts. If a column of the frame excludes votes (`anony`, `counted` and the like; see
        `vote_qualifiers`), an EngineWarning names it.

        Parameters
        ----------
        system_a : frame or sequence, length n
            A pandas DataFrame or a mapping with the columns system_a, system_b, prompt_id and outcome, and optionally
            annotator_id and a_first; or the column of the first chatbots.
        system_b, prompt_id : sequence, length n
            Second chatbots and prompts.
        outcome : sequence of int, length n
            -1: A better, 0: tie, 1: B better. Numbers may be text.
        annotator_id : sequence, length n, optional
            Annotators; None, NaN, NA and blank text mean unknown.
        a_first : sequence, length n, optional
            1: A was shown first, 0: B was; unknown values as for annotators.
        label : str or sequence, optional
            Name of the frame's column, or the column, that separates repeated experiments on a pair, such as
            "category".
        turn : str or sequence, optional
            Name of the frame's column, or the column, with turns. Turn 2 of prompt 81 is the item "81 (turn 2)". None
            merges all turns of a prompt.

        Returns
        -------
        ResponseTable
            The votes.

        Raises
        ------
        InvalidResponses
            If a column is absent (``missing_column``), columns have different lengths, names are empty or no scalars,
            or the table is invalid.
        """
        if is_frame(system_a):
            _only_frame(system_b, prompt_id, outcome, annotator_id, a_first)
            return cls._from_columns(**columns_of(system_a, label, turn))
        needed = {"system_a": system_a, "system_b": system_b, "prompt_id": prompt_id, "outcome": outcome}
        _check_there([name for name, column in needed.items() if column is not None])
        turns = None if isinstance(turn, str) else turn
        return cls._from_columns(**needed, annotator_id=annotator_id, a_first=a_first, label=label, turn=turns)

    @classmethod
    def _from_columns(
        cls,
        system_a: Sequence[object],
        system_b: Sequence[object],
        prompt_id: Sequence[object],
        outcome: Sequence[int],
        annotator_id: Sequence[object] | None,
        a_first: Sequence[int | bool | None] | None,
        label: Sequence[object] | None,
        turn: Sequence[object] | None,
    ) -> Self:
        _check_lengths(system_a, system_b, prompt_id, outcome, annotator_id, a_first, label, turn)
        first, second = names_of(system_a, "system_a"), names_of(system_b, "system_b")
        items = names_of(prompt_id, "prompt_id")
        if turn is not None:
            items = items_of(items, turn)
        kinds = None if label is None else labels_of(label)
        chatbots = tuple(sorted({*first, *second}))
        prompts = tuple(sorted(set(items)))
        labels = () if kinds is None else tuple(sorted(set(kinds)))
        return cls(
            chatbots=chatbots,
            prompts=prompts,
            labels=labels,
            a=_numbers(first, _places(chatbots)),
            b=_numbers(second, _places(chatbots)),
            prompt=_numbers(items, _places(prompts)),
            outcome=_int_column(outcome, "outcome"),
            annotator=_annotators(annotator_id, len(outcome)),
            a_first=_first_shown(a_first, len(outcome)),
            label=np.zeros(len(outcome), np.int64) if kinds is None else _numbers(kinds, _places(labels)),
        )


def _only_frame(*columns: object) -> None:
    if any(column is not None for column in columns):
        raise InvalidResponses(
            "there are both a frame and columns", code="two_sources", hint="give the frame alone, or columns alone"
        )


def _check_there(names: list[str]) -> None:
    missing = [name for name in REQUIRED if name not in names]
    if missing:
        raise InvalidResponses(
            f"column {missing[0]} is missing", code="missing_column", hint=f"give {', '.join(REQUIRED)}"
        )


def _int_column(values: object, name: str) -> IntArray:
    """A frozen integer column; floats pass only where they are whole numbers (NaN is refused)."""
    try:
        raw = np.asarray(values, dtype=np.float64) if not _is_int(values) else np.asarray(values)
    except (OverflowError, TypeError, ValueError) as error:
        raise InvalidResponses(
            f"column {name} holds something that is not a number",
            code="not_a_number",
            hint="outcomes are -1 (A better), 0 (tie), 1 (B better); unknown is None only where the column allows it",
        ) from error
    if raw.ndim != 1:
        raise InvalidResponses(f"column {name} is not one-dimensional", code="shape", hint="give one value per vote")
    whole = np.isfinite(raw) & (raw == np.floor(raw)) if raw.dtype.kind == "f" else np.ones(len(raw), bool)
    if not whole.all():
        row = int(np.argmin(whole))
        raise InvalidResponses(
            f"row {row + 1}: {name} is {raw[row]}, not a whole number", code="not_whole", hint="correct the row"
        )
    countable = (raw <= _MOST_WHOLE) & (raw >= -_MOST_WHOLE)  # beyond, it would become another number
    if not countable.all():
        row = int(np.argmin(countable))
        raise InvalidResponses(
            f"row {row + 1}: {name} is {raw[row]}, too large a number", code="out_of_range", hint="correct the row"
        )
    return frozen(raw, np.int64)


def _is_int(values: object) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind in "iu"


def _check_sizes(table: ResponseTable) -> None:
    lengths = {len(getattr(table, field.name)) for field in fields(table)[3:]}
    if len(lengths) != 1:
        raise InvalidResponses(
            "the columns differ in length", code="length", hint="every column needs one value per vote"
        )
    if len(table.a) == 0:
        raise InvalidResponses("there are no votes", code="no_votes", hint="at least one vote is needed")
    if len(table.chatbots) < 2:
        raise InvalidResponses(
            "there is only one chatbot", code="one_chatbot", hint="a comparison needs two different chatbots"
        )
    for kind in ("chatbots", "prompts", "labels"):
        names = getattr(table, kind)
        if len(set(names)) != len(names):
            raise InvalidResponses(f"a name occurs twice in {kind}", code="repeated_name", hint="names are unique")


def _check_rows(table: ResponseTable) -> None:
    """Every index inside its range, no chatbot against itself."""
    limits = (
        ("a", 0, len(table.chatbots)),
        ("b", 0, len(table.chatbots)),
        ("prompt", 0, len(table.prompts)),
        ("label", 0, max(1, len(table.labels))),
        ("outcome", -1, 2),
        ("a_first", -1, 2),
        ("annotator", -1, np.iinfo(np.int64).max),
    )
    for name, low, high in limits:
        column = getattr(table, name)
        if column.min() < low or column.max() >= high:
            row = int(np.argmax((column < low) | (column >= high)))
            raise InvalidResponses(
                f"row {row + 1}: {name} is {column[row]}, outside {low}..{high - 1}",
                code="out_of_range",
                hint="correct the row; an unknown verdict is never a tie",
            )
    same = table.a == table.b
    if same.any():
        row = int(np.argmax(same))
        raise InvalidResponses(
            f"row {row + 1}: {table.chatbots[table.a[row]]!r} is compared with itself",
            code="self_comparison",
            hint="remove the row, or correct one of its two names",
        )


def _check_lengths(*columns: Sequence[object] | None) -> None:
    there = [column for column in columns if column is not None]
    for column in there:
        check_column(column)
    if len(set(map(len, there))) != 1:
        raise InvalidResponses(
            "the columns differ in length", code="length", hint="every column needs one value per vote"
        )


def _places(names: Sequence[Any]) -> dict[Any, int]:
    return {name: i for i, name in enumerate(names)}


def _numbers(column: Sequence[Any], number: dict[Any, int]) -> IntArray:
    return np.fromiter(map(number.__getitem__, column), np.int64, len(column))


def _annotators(column: Sequence[object] | None, n: int) -> IntArray:
    if column is None:
        return np.full(n, -1, np.int64)
    ids = optional_of(column, "annotator_id", "bad_annotator")
    known = sorted({name for name in ids if name is not None})
    return _numbers(ids, _places(known) | {None: -1})


def _first_shown(column: Sequence[object] | None, n: int) -> IntArray:
    """(n,) 1 and 0 as they are given, be it as True and False, as 1.0 and 0.0 or as text; -1 for unknown."""
    if column is None:
        return np.full(n, -1, np.int64)
    values = [_SHOWN.get(x.strip(), x) if isinstance(x, str) else x for x in listed(column)]
    bad = next((row for row, x in enumerate(values) if x is not None and not _is_shown(x)), None)
    if bad is not None:
        raise InvalidResponses(
            f"row {bad + 1}: a_first is {values[bad]!r}, neither 1 nor 0",
            code="out_of_range",
            hint="1 where A was shown first, 0 where B was, None where it is unknown",
        )
    return frozen([-1 if x is None else int(x) for x in values], np.int64)


def _is_shown(value: object) -> bool:
    """-1 is what a table has for unknown."""
    return isinstance(value, int | float | np.bool_ | np.integer | np.floating) and value in (-1, 0, 1)
