"""Cells: the votes on every comparison and prompt, in canonical order.

Notation: a comparison is an unordered pair of chatbots with a label. Inside the engine its orientation is low -> high
index; `flip` marks tables with the other orientation. The net rating is u = 3 (wins_B - wins_A) / n on the grid -3..3
(Sedoc and Ungar 2020, section 4.2), and its category is u + 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray, IntArray

from .style import StyleDifferences
from .table import ResponseTable

MIN_CELLS = 2  # a prompt seen in fewer cells says next to nothing about its own parameters
MOST_POOLED = 3  # votes of a cell whose prompt is pooled: the kernel goes through all their outcomes
_VOTE_BITS = 4  # of a packed vote: verdict and order, two bits each
_MOST_CODES_PER_VOTE = 4  # up to here counting is faster than sorting, and its tables about as large as the votes


@dataclass(frozen=True, slots=True, eq=False)
class Comparisons:
    """Store the comparisons of a table, sorted by (low, high, label).

    Parameters
    ----------
    low, high : ndarray of int, shape (C,)
        Indices of the two chatbots, low < high.
    label : ndarray of int, shape (C,)
        Index of the label.
    flip : ndarray of bool, shape (C,)
        Whether most rows have the orientation high -> low. The rows' order has no influence.
    judgments : ndarray of int, shape (C,)
        Number of judgments.
    """

    low: IntArray  # (C,)
    high: IntArray  # (C,)
    label: IntArray  # (C,)
    flip: BoolArray  # (C,)
    judgments: IntArray  # (C,)


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Store distinct cells (comparison x prompt), sorted by slot and oriented low -> high.

    A slot is one set of prompt parameters. Prompts with fewer than MIN_CELLS cells, of few votes, have the pooled slot
    in common. Equal cells of the pooled slot are one row with a weight, so that a million votes on a million prompts
    stay small.

    Parameters
    ----------
    comparison, slot : ndarray of int, shape (n,)
        Comparison and slot of each cell.
    counts : ndarray of float, shape (n, 1) or (n, 3)
        Category 0..6 of the net rating, or votes (low better, tie, high better).
    side : ndarray of float, shape (n,)
        Mean over the votes of +1 (high shown first), -1 (low shown first) and 0 (unknown).
    weight : ndarray of float, shape (n,)
        Number of equal cells.
    slots : int
        Number of slots.
    shared : int
        Index of the pooled slot; -1 if every prompt has its own.
    prompt_slot : ndarray of int, shape (J,)
        Slot of each prompt.
    total : int
        Number of cells before equal ones were merged.
    style : ndarray of float, shape (n, k), optional
        Mean over the votes of the standardised differences of style, high minus low.
    """

    comparison: IntArray  # (n,)
    slot: IntArray  # (n,)
    counts: FloatArray  # (n, 1) category 0..6 of the net rating, or (n, 3) votes low better, tie, high better
    side: FloatArray  # (n,) mean over votes of +1 high shown first, -1 low shown first, 0 unknown
    weight: FloatArray  # (n,)
    slots: int
    shared: int  # index of the shared slot, -1 if every prompt has its own
    prompt_slot: IntArray  # (J,)
    total: int  # number of cells before equal ones were merged
    style: FloatArray | None = None  # (n, k) mean over the votes of the differences of style, high minus low

    @property
    def observations(self) -> FloatArray:
        """Return the number of observations of each cell: its votes, or one net rating."""
        return self.counts.sum(axis=1) if self.counts.shape[1] == 3 else np.ones(len(self.counts))

    @property
    def again(self) -> BoolArray:
        """Return whether each cell has two or more votes."""
        return self.observations > 1.0


def compare(table: ResponseTable) -> tuple[Comparisons, IntArray]:
    """Return the comparisons of a table, and the comparison of each vote.

    Parameters
    ----------
    table : ResponseTable
        The n votes.

    Returns
    -------
    tuple of (Comparisons, ndarray of int, shape (n,))
        Comparisons, and indices into them.
    """
    M, width = len(table.chatbots), max(1, len(table.labels))
    low, high = np.minimum(table.a, table.b), np.maximum(table.a, table.b)
    distinct, index = numbered((low * M + high) * width + table.label, M * M * width)
    judgments = np.bincount(index)
    flipped = np.bincount(index, weights=table.a > table.b)
    pair = distinct // width
    return Comparisons(
        low=pair // M,
        high=pair % M,
        label=distinct % width,
        flip=flipped * 2 > judgments,
        judgments=judgments,
    ), index


def numbered(code: IntArray, codes: int) -> tuple[IntArray, IntArray]:
    """Return the distinct values of a code in ascending order, and the index of each element's value.

    The counting needs a table of length `codes`, unless there are few elements.

    Parameters
    ----------
    code : ndarray of int, shape (n,)
        The codes.
    codes : int
        Number of possible codes.

    Returns
    -------
    tuple of ndarray of int
        Distinct values, and indices (n,) into them.
    """
    if codes > _MOST_CODES_PER_VOTE * len(code):
        distinct, index = np.unique(code, return_inverse=True)
        return distinct, index
    distinct = np.flatnonzero(np.bincount(code, minlength=codes))
    number = np.empty(codes, np.int64)
    number[distinct] = np.arange(len(distinct))
    return distinct, number[code]


def net_rating(wins_b: IntArray, wins_a: IntArray, votes: IntArray) -> IntArray:
    """Return the net rating u = 3 (wins_b - wins_a) / votes, rounded to -3..3.

    Halves are rounded away from zero, so that exchanging A and B negates u. Integer arithmetic makes the rounding
    exact.

    Parameters
    ----------
    wins_b, wins_a, votes : ndarray of int, shape (n,)
        Votes for b, votes for a, and all votes.

    Returns
    -------
    ndarray of int, shape (n,)
        Net ratings.
    """
    net = wins_b - wins_a
    size = (6 * np.abs(net) + votes) // (2 * votes)
    rating: IntArray = np.sign(net) * size
    return rating


def cells_of(
    table: ResponseTable,
    comparison: IntArray,
    *,
    votes: bool = False,
    pool: bool = True,
    style: StyleDifferences | None = None,
) -> Cells:
    """Return the cells of a table.

    Parameters
    ----------
    table : ResponseTable
        The n votes.
    comparison : ndarray of int, shape (n,)
        Comparison of each vote, from `compare`.
    votes : bool
        Store votes instead of net ratings.
    pool : bool
        Give prompts with few cells the pooled slot; otherwise each prompt has its own slot.
    style : StyleDifferences, optional
        Differences of style of the n votes.

    Returns
    -------
    Cells
        The cells.
    """
    J, C = len(table.prompts), int(comparison.max()) + 1
    packed = _packed(table, comparison, C)
    vote = np.sort(packed)
    first, size = _runs(vote >> _VOTE_BITS)
    code = vote[first] >> _VOTE_BITS
    prompt = code // C
    toward = ((vote >> 2) & 3) - 1
    shown = (vote & 3) - 1
    side = np.add.reduceat(shown, first) / size
    if votes:
        counts = np.stack([np.add.reduceat(toward == value, first, dtype=np.float64) for value in (-1, 0, 1)], axis=1)
    else:
        net = np.add.reduceat(toward, first)
        counts = (net_rating(net, np.zeros_like(net), size) + 3.0)[:, None]
    slot_of, slots, shared = _slots(prompt, size if votes else np.ones_like(size), J, fewest=MIN_CELLS if pool else 1)
    of_style = None if style is None else _style(table, style, np.argsort(packed, kind="stable"), first, size)
    return _merged(code - prompt * C, slot_of[prompt], counts, side, of_style, slots, shared, slot_of)


def separate_cells(
    table: ResponseTable, comparison: IntArray, style: StyleDifferences | None = None
) -> tuple[Cells, IntArray]:
    """Return the cells with votes, without merging equal ones, and the cell of each vote.

    Parameters
    ----------
    table : ResponseTable
        The n votes.
    comparison : ndarray of int, shape (n,)
        Comparison of each vote, from `compare`.
    style : StyleDifferences, optional
        Differences of style of the n votes.

    Returns
    -------
    tuple of (Cells, ndarray of int, shape (n,))
        Cells, and indices into them.
    """
    J, C = len(table.prompts), int(comparison.max()) + 1
    distinct, index = numbered(table.prompt * C + comparison, J * C)
    prompt, n = distinct // C, len(distinct)
    toward, shown = low_to_high(table)
    counts = np.bincount(3 * index + toward + 1, minlength=3 * n).reshape(n, 3).astype(np.float64)
    side = np.bincount(index, shown, minlength=n) / counts.sum(axis=1)
    slot_of, slots, shared = _slots(prompt, counts.sum(axis=1), J)
    size = counts.sum(axis=1).astype(np.int64)
    first = np.cumsum(size) - size
    of_style = None if style is None else _style(table, style, np.argsort(index, kind="stable"), first, size)
    order = np.argsort(slot_of[prompt], kind="stable")
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    cells = Cells(
        comparison=(distinct - prompt * C)[order],
        slot=slot_of[prompt[order]],
        counts=counts[order],
        side=side[order],
        weight=np.ones(n),
        slots=slots,
        shared=shared,
        prompt_slot=slot_of,
        total=n,
        style=None if of_style is None else of_style[order],
    )
    return cells, place[index]


def low_to_high(table: ResponseTable) -> tuple[IntArray, IntArray]:
    """Return votes and orders in the orientation low -> high.

    Parameters
    ----------
    table : ResponseTable
        The n votes.

    Returns
    -------
    tuple of ndarray of int, shape (n,)
        Votes (1: the chatbot of higher index is better), and orders (1: it was shown first; 0: unknown).
    """
    turned = table.a > table.b
    toward = np.where(turned, -table.outcome, table.outcome)
    shown = np.where(turned, table.a_first == 1, table.a_first == 0).astype(np.int64)
    shown -= np.where(turned, table.a_first == 0, table.a_first == 1)
    return toward, shown


def _style(
    table: ResponseTable, style: StyleDifferences, order: IntArray, first: IntArray, size: IntArray
) -> FloatArray:
    """(n, k) means over the votes of each cell, whose votes lie together in `order`, in the orientation low -> high."""
    toward = np.where(table.a > table.b, -1.0, 1.0)[:, None] * style.values
    mean: FloatArray = np.add.reduceat(toward[order], first, axis=0) / size[:, None]
    return mean


def _packed(table: ResponseTable, comparison: IntArray, C: int) -> IntArray:
    """(n,) a vote as one number, (prompt, comparison, verdict, order): sorted, votes lie cell by cell, cells by prompt.

    One column sorts several times faster than the order of several can be found. 63 bits leave room for 5e17
    pairs of a prompt and a comparison.
    """
    toward, shown = low_to_high(table)
    packed: IntArray = ((table.prompt * C + comparison) << _VOTE_BITS) + ((toward + 1) << 2) + (shown + 1)
    return packed


def _runs(column: IntArray) -> tuple[IntArray, IntArray]:
    """Where each run of equal neighbours begins, and how long it is."""
    first = np.flatnonzero(np.append(True, column[1:] != column[:-1]))
    return first, np.diff(np.append(first, len(column)))


def _slots(
    prompt: IntArray, votes: IntArray | FloatArray, prompts: int, *, fewest: int = MIN_CELLS
) -> tuple[IntArray, int, int]:
    """Prompt -> slot, of each cell's prompt and votes; own slots come first in the prompts' order, the shared last."""
    own = np.bincount(prompt, minlength=prompts) >= fewest
    own[prompt[votes > MOST_POOLED]] = True
    count = int(own.sum())
    slot = np.where(own, np.cumsum(own) - 1, count)
    if own.all():
        return slot, count, -1
    return slot, count + 1, count


def _merged(
    comparison: IntArray,
    slot: IntArray,
    counts: FloatArray,
    side: FloatArray,
    style: FloatArray | None,
    slots: int,
    shared: int,
    prompt_slot: IntArray,
) -> Cells:
    """Cells sorted by (prompt, comparison) in canonical order, equal ones counted once: those of the shared slot.

    A prompt's own cells are in order as they come, and no two of them are equal.
    """
    if shared < 0:
        weight = np.ones(len(slot))
        return Cells(comparison, slot, counts, side, weight, slots, shared, prompt_slot, total=len(slot), style=style)
    own, other = np.flatnonzero(slot != shared), np.flatnonzero(slot == shared)
    columns = [comparison[other], *counts[other].T, side[other], *(() if style is None else style[other].T)]
    order = np.lexsort(columns[::-1])
    new = np.ones(len(other), bool)
    new[1:] = np.any([np.diff(column[order]) != 0 for column in columns], axis=0)
    first = np.flatnonzero(new)
    kept = np.concatenate([own, other[order[first]]])
    return Cells(
        comparison=comparison[kept],
        slot=slot[kept],
        counts=counts[kept],
        side=side[kept],
        weight=np.concatenate([np.ones(len(own)), np.diff(np.append(first, len(other)))]),
        slots=slots,
        shared=shared,
        prompt_slot=prompt_slot,
        total=len(slot),
        style=None if style is None else style[kept],
    )
