"""From votes to cells: what was voted on every (comparison, prompt), in canonical order.

Notation: a comparison is an unordered pair of chatbots (x label). Inside the engine it is oriented low -> high index;
`flip` says that the table has it the other way round. u = 3 (wins_B - wins_A) / n on the grid -3..3 (Sedoc & Ungar
2020, section 4.2); category = u + 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray, IntArray

from .table import ResponseTable

MIN_CELLS = 2  # a prompt seen in fewer cells says next to nothing about its own parameters
MOST_POOLED = 3  # votes of a cell whose prompt is pooled: the kernel goes through all their outcomes
_VOTE_BITS = 4  # of a packed vote: verdict and order, two bits each
_MOST_CODES_PER_VOTE = 4  # up to here counting is faster than sorting, and its tables about as large as the votes


@dataclass(frozen=True, slots=True, eq=False)
class Comparisons:
    """C comparisons sorted by (low, high, label).

    `flip` is the orientation that most of the comparison's rows have (low -> high when they are even), so that it is
    the file's own wherever the file has one, and yet does not depend on the order of the rows.
    """

    low: IntArray  # (C,)
    high: IntArray  # (C,)
    label: IntArray  # (C,)
    flip: BoolArray  # (C,)
    judgments: IntArray  # (C,)


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """n distinct cells sorted by slot, oriented low -> high.

    A slot is what carries one set of prompt parameters: a prompt of its own, or (slot `shared`) all prompts that
    have fewer than MIN_CELLS cells, of few votes. Equal cells of the shared slot are one row with a weight, which is
    what keeps a million votes with a million prompts small.
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

    @property
    def observations(self) -> FloatArray:
        """(n,) votes, or the one net rating."""
        return self.counts.sum(axis=1) if self.counts.shape[1] == 3 else np.ones(len(self.counts))

    @property
    def again(self) -> BoolArray:
        """(n,) whether a cell was voted on twice or more."""
        return self.observations > 1.0


def compare(table: ResponseTable) -> tuple[Comparisons, IntArray]:
    """The comparisons of a table, and for each vote the number of its comparison, (n,)."""
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
    """The distinct values of `code` (n,), ascending, and for each of its elements the number of its value, (n,).

    `codes` is how many values there could be: a table of that length is counted, not sorted, unless votes are few.
    """
    if codes > _MOST_CODES_PER_VOTE * len(code):
        distinct, index = np.unique(code, return_inverse=True)
        return distinct, index
    distinct = np.flatnonzero(np.bincount(code, minlength=codes))
    number = np.empty(codes, np.int64)
    number[distinct] = np.arange(len(distinct))
    return distinct, number[code]


def net_rating(wins_b: IntArray, wins_a: IntArray, votes: IntArray) -> IntArray:
    """u = 3 (wins_b - wins_a) / votes, rounded to -3..3 with halves away from zero: swapping A and B negates it.

    Integer arithmetic, because 3 * 1/6 must be a half on every machine.
    """
    net = wins_b - wins_a
    size = (6 * np.abs(net) + votes) // (2 * votes)
    rating: IntArray = np.sign(net) * size
    return rating


def cells_of(table: ResponseTable, comparison: IntArray, *, votes: bool = False, pool: bool = True) -> Cells:
    """Votes -> cells, each its net rating or (`votes`) its votes; `comparison` (n,) as `compare` gives it.

    Not `pool`: every prompt that was judged has a slot of its own.
    """
    J, C = len(table.prompts), int(comparison.max()) + 1
    vote = np.sort(_packed(table, comparison, C))
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
    return _merged(code - prompt * C, slot_of[prompt], counts, side, slots, shared, slot_of)


def separate_cells(table: ResponseTable, comparison: IntArray) -> tuple[Cells, IntArray]:
    """As `cells_of` with votes, but no two cells are merged; and for each vote the number of its cell, (n,)."""
    J, C = len(table.prompts), int(comparison.max()) + 1
    distinct, index = numbered(table.prompt * C + comparison, J * C)
    prompt, n = distinct // C, len(distinct)
    toward, shown = low_to_high(table)
    counts = np.bincount(3 * index + toward + 1, minlength=3 * n).reshape(n, 3).astype(np.float64)
    side = np.bincount(index, shown, minlength=n) / counts.sum(axis=1)
    slot_of, slots, shared = _slots(prompt, counts.sum(axis=1), J)
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
    )
    return cells, place[index]


def low_to_high(table: ResponseTable) -> tuple[IntArray, IntArray]:
    """(n,) verdicts: 1 the chatbot of the higher index is better; (n,) orders: 1 it was shown first, 0 unknown."""
    turned = table.a > table.b
    toward = np.where(turned, -table.outcome, table.outcome)
    shown = np.where(turned, table.a_first == 1, table.a_first == 0).astype(np.int64)
    shown -= np.where(turned, table.a_first == 0, table.a_first == 1)
    return toward, shown


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
    slots: int,
    shared: int,
    prompt_slot: IntArray,
) -> Cells:
    """Cells sorted by (prompt, comparison) in canonical order, equal ones counted once: those of the shared slot.

    A prompt's own cells are in order as they come, and no two of them are equal.
    """
    if shared < 0:
        weight = np.ones(len(slot))
        return Cells(comparison, slot, counts, side, weight, slots, shared, prompt_slot, total=len(slot))
    own, other = np.flatnonzero(slot != shared), np.flatnonzero(slot == shared)
    columns = [comparison[other], *counts[other].T, side[other]]
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
    )
