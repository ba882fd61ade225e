"""Selections as frozen arrays: counts of patterns, and tables with one row per turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from irt_engine.arrays import BoolArray, FloatArray, IntArray, array_of, frozen, is_names
from irt_engine.errors import InvalidResponses
from irt_engine.significance.argument_checks import check_count

MAX_TURNS = 5_000_000  # the tests expand patterns to one row per turn: 5 million turns of 4 chatbots take 160 MB


@dataclass(frozen=True, slots=True, eq=False)
class Selections:
    """Store the turns of one setting, counted by selection pattern.

    Parameters
    ----------
    chatbots : tuple of str
        The k chatbots, in the order of the columns.
    patterns : ndarray of int, shape (P, k)
        Patterns of 0 and 1; 1 means that the reply was selected.
    counts : ndarray of int, shape (P,)
        Number of turns with each pattern.
    one_best : bool
        Whether exactly one reply is selected in each turn (SOBA). False means any number (SATA).
    """

    chatbots: tuple[str, ...]
    patterns: IntArray
    counts: IntArray
    one_best: bool = False

    def __post_init__(self) -> None:
        _check_chatbots(self.chatbots)
        patterns = zeros_and_ones(self.patterns, len(self.chatbots))
        counts = np.array([check_count(count, "counts") for count in array_of(self.counts, "counts").tolist()], int)
        if counts.shape != (len(patterns),):
            raise InvalidResponses("not one count per pattern", code="shape", hint="give as many counts as patterns")
        if not 0 < counts.sum() <= MAX_TURNS:
            raise InvalidResponses(
                f"there are {counts.sum():,} turns",
                code="no_votes" if counts.sum() == 0 else "too_many",
                hint=f"give at least 1 turn, and at most {MAX_TURNS:,}",
            )
        if self.one_best and (patterns[counts > 0].sum(axis=1) != 1).any():
            raise not_one_best()
        object.__setattr__(self, "patterns", frozen(patterns, np.int64))
        object.__setattr__(self, "counts", frozen(counts, np.int64))

    @classmethod
    def from_counts(cls, chatbots: Sequence[str], counts: Mapping[str, int], *, one_best: bool = False) -> Self:
        """Return the selections of a mapping such as {"10": 62, "01": 38}.

        Parameters
        ----------
        chatbots : sequence of str
            The k chatbots.
        counts : mapping of str to int
            Turns by pattern: k digits of 0 and 1, in the order of `chatbots`.
        one_best : bool
            Whether exactly one reply is selected in each turn (SOBA).

        Returns
        -------
        Selections
            The selections, with the patterns in the order of the mapping.

        Raises
        ------
        InvalidResponses
            If a pattern does not fit the chatbots, or a count is not a whole number.

        Examples
        --------
        >>> Selections.from_counts(["A", "B"], {"10": 62, "01": 38}).turns
        100
        """
        for pattern in counts:
            if len(pattern) != len(chatbots) or not set(pattern) <= {"0", "1"}:
                raise InvalidResponses(
                    f"{pattern!r} is not a pattern of {len(chatbots)} chatbots",
                    code="bad_pattern",
                    hint="give one digit per chatbot: 1 = selected, 0 = not selected",
                )
        patterns = np.array([[int(digit) for digit in pattern] for pattern in counts]).reshape(-1, len(chatbots))
        return cls(tuple(chatbots), patterns, np.array(list(counts.values()), object), one_best)

    @property
    def turns(self) -> int:
        """Return the number of turns."""
        return int(self.counts.sum())

    @property
    def selected(self) -> IntArray:
        """Return the number of turns in which each chatbot was selected, shape (k,)."""
        selected: IntArray = self.counts @ self.patterns
        return selected

    @property
    def rows(self) -> IntArray:
        """Return one row of 0 and 1 per turn, shape (n, k)."""
        return np.repeat(self.patterns, self.counts, axis=0)

    def pair(self, a: int, b: int) -> tuple[int, int, int, int]:
        """Count the turns by which of two chatbots were selected.

        Parameters
        ----------
        a, b : int
            Columns of the two chatbots, from 0.

        Returns
        -------
        tuple of int, length 4
            Number of turns in which only a, only b, both, and neither were selected.
        """
        x, y = self.patterns[:, a], self.patterns[:, b]
        parts = (x * (1 - y), y * (1 - x), x * y, (1 - x) * (1 - y))
        only_a, only_b, both, neither = (int(self.counts @ part) for part in parts)
        return only_a, only_b, both, neither


@dataclass(frozen=True, slots=True, eq=False)
class TurnTable:
    """Store the turns of one setting, in the order of conversation and turn.

    Parameters
    ----------
    chatbots : tuple of str
        The k chatbots, in the order of the columns.
    conversation : ndarray of int, shape (n,)
        Conversation of each turn, as any whole numbers.
    turn : ndarray of int, shape (n,)
        Number of each turn in its conversation.
    selected : ndarray of int, shape (n, k)
        0 or 1; 1 means that the reply was selected.
    position : ndarray of int, shape (n, k), optional
        Display position of each reply, from 1 to k.
    one_best : bool
        Whether exactly one reply is selected in each turn (SOBA).
    """

    chatbots: tuple[str, ...]
    conversation: IntArray
    turn: IntArray
    selected: IntArray
    position: IntArray | None = None
    one_best: bool = False

    def __post_init__(self) -> None:
        _check_chatbots(self.chatbots)
        selected = zeros_and_ones(self.selected, len(self.chatbots))
        if self.one_best and (selected.sum(axis=1) != 1).any():
            raise not_one_best()
        keys = _numbered(self.conversation, self.turn, len(selected))
        if len(np.unique(keys, axis=1).T) != len(selected):
            raise InvalidResponses(
                "a turn of a conversation stands twice", code="repeated_turn", hint="give one row for each turn"
            )
        order = np.lexsort(keys[::-1])
        object.__setattr__(self, "conversation", frozen(keys[0, order], np.int64))
        object.__setattr__(self, "turn", frozen(keys[1, order], np.int64))
        object.__setattr__(self, "selected", frozen(selected[order], np.int64))
        if self.position is not None:
            object.__setattr__(self, "position", frozen(_positions(self.position, selected)[order], np.int64))

    @property
    def selections(self) -> Selections:
        """Return the turns by pattern, without regard to conversations."""
        patterns, counts = np.unique(self.selected, axis=0, return_counts=True)
        return Selections(self.chatbots, patterns, counts, self.one_best)

    @property
    def clusters(self) -> IntArray:
        """Return the conversation of each turn, numbered from 0 to G - 1, shape (n,)."""
        numbered: IntArray = np.unique(self.conversation, return_inverse=True)[1].astype(np.int64)
        return numbered


def zeros_and_ones(values: ArrayLike, k: int) -> IntArray:
    """Check selections and return them as whole numbers.

    Parameters
    ----------
    values : array_like, shape (n, k)
        Rows of 0 and 1, one per turn.
    k : int
        Number of chatbots.

    Returns
    -------
    ndarray of int, shape (n, k)
        The selections.

    Raises
    ------
    InvalidResponses
        If there is no row or the number of columns is not k, or if a value is neither 0 nor 1.
    """
    x = array_of(values, "selections")
    if x.ndim != 2 or x.shape[1] != k or len(x) == 0:
        raise InvalidResponses(
            f"selections is not a table of {k} columns with at least one row",
            code="shape",
            hint="give one column for each chatbot",
        )
    if x.dtype.kind not in "biuf" or not np.isin(x, (0, 1)).all():
        raise InvalidResponses(
            "a selection is neither 0 nor 1", code="bad_selection", hint="give 1 for selected, 0 for not selected"
        )
    return x.astype(np.int64)


def not_one_best() -> InvalidResponses:
    """Return the error for a SOBA turn without exactly one selected reply.

    Returns
    -------
    InvalidResponses
        The error, to be raised by the caller.
    """
    return InvalidResponses(
        "a turn of a one-best setting (SOBA) has no selected reply, or several",
        code="not_one_best",
        hint="correct the turn, or analyse it as select all appropriate (SATA)",
    )


def _check_chatbots(chatbots: tuple[str, ...]) -> None:
    if not is_names(chatbots) or not chatbots or len(set(chatbots)) != len(chatbots):
        raise InvalidResponses(
            "chatbots is not a tuple of different names", code="not_names", hint="give each chatbot its own name"
        )


def _numbered(conversation: ArrayLike, turn: ArrayLike, n: int) -> IntArray:
    """Return conversation and turn of each row, shape (2, n)."""
    keys = [array_of(conversation, "conversation"), array_of(turn, "turn")]
    if any(x.shape != (n,) or x.dtype.kind not in "iu" for x in keys):
        raise InvalidResponses(
            "conversation and turn are not one whole number for each row", code="shape", hint="number the turns"
        )
    return np.stack(keys).astype(np.int64)


def _positions(values: ArrayLike, selected: IntArray) -> IntArray:
    """Return the positions; each row holds 1 to k in any order."""
    x = array_of(values, "position")
    expected: FloatArray | BoolArray = np.arange(1, selected.shape[1] + 1)
    if x.shape != selected.shape or not (np.sort(x, axis=1) == expected).all():
        raise InvalidResponses(
            "the positions of a turn are not 1 to k", code="bad_position", hint="give each reply its own position"
        )
    return x.astype(np.int64)
