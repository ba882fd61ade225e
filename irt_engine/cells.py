"""From votes to cells: what was voted on every (comparison, prompt), in canonical order.

Notation: a comparison is an unordered pair of chatbots (x label). Inside the engine it is oriented low -> high index;
`flip` says that the table has it the other way round. u = 3 (wins_B - wins_A) / n on the grid -3..3 (Sedoc & Ungar
2020, section 4.2); category = u + 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import BoolArray, FloatArray, IntArray
from .responses import ResponseTable

MIN_CELLS = 2  # a prompt seen in fewer cells says nothing about its own parameters


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
    have fewer than MIN_CELLS cells. Equal cells of the shared slot are one row with a weight, which is what keeps
    a million votes with a million prompts small.
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


def compare(table: ResponseTable) -> tuple[Comparisons, IntArray]:
    """The comparisons of a table, and for each vote the number of its comparison, (n,)."""
    low, high = np.minimum(table.a, table.b), np.maximum(table.a, table.b)
    width = max(1, len(table.labels))
    code = (low * len(table.chatbots) + high) * width + table.label
    distinct, index = np.unique(code, return_inverse=True)
    judgments = np.bincount(index)
    flipped = np.bincount(index, weights=table.a > table.b)
    pair = distinct // width
    return Comparisons(
        low=pair // len(table.chatbots),
        high=pair % len(table.chatbots),
        label=distinct % width,
        flip=flipped * 2 > judgments,
        judgments=judgments,
    ), index


def net_rating(wins_b: IntArray, wins_a: IntArray, votes: IntArray) -> IntArray:
    """u = 3 (wins_b - wins_a) / votes, rounded to -3..3 with halves away from zero: swapping A and B negates it.

    Integer arithmetic, because 3 * 1/6 must be a half on every machine.
    """
    net = wins_b - wins_a
    size = (6 * np.abs(net) + votes) // (2 * votes)
    rating: IntArray = np.sign(net) * size
    return rating


def cells_of(table: ResponseTable, comparison: IntArray, *, votes: bool = False) -> Cells:
    """Votes -> cells, each its net rating or (`votes`) its votes; `comparison` (n,) as `compare` gives it."""
    J = len(table.prompts)
    sign = np.where(table.a < table.b, 1, -1)
    code, index = np.unique(comparison * J + table.prompt, return_inverse=True)
    size = np.bincount(index)
    first = np.where(table.a_first == -1, 0, np.where(table.a_first == 1, -1, 1)) * sign
    side = np.bincount(index, weights=first) / size
    toward = table.outcome * sign
    if votes:
        counts: FloatArray = np.stack([np.bincount(index, weights=toward == value) for value in (-1, 0, 1)], axis=1)
    else:
        net = np.bincount(index, weights=toward).astype(np.int64)
        counts = np.asarray(net_rating(net, np.zeros_like(net), size)[:, None] + 3.0, np.float64)
    slot_of, slots, shared = _slots(np.bincount(code % J, minlength=J))
    return _merged(code // J, slot_of[code % J], counts, side, slots, shared, slot_of)


def _slots(cells_per_prompt: IntArray) -> tuple[IntArray, int, int]:
    """Prompt -> slot; own slots come first in the prompts' order, the shared slot last."""
    own = cells_per_prompt >= MIN_CELLS
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
    """Sort cells canonically and count equal ones once; only cells of the shared slot can be equal."""
    order = np.lexsort((side, *counts.T[::-1], comparison, slot))
    key = np.column_stack([slot, comparison, counts])[order]
    new = np.ones(len(order), bool)
    new[1:] = (key[1:] != key[:-1]).any(axis=1) | (np.diff(side[order]) != 0)
    weight = np.diff(np.append(np.flatnonzero(new), len(order))).astype(np.float64)
    kept = order[new]
    return Cells(
        comparison=comparison[kept],
        slot=slot[kept],
        counts=counts[kept],
        side=side[kept],
        weight=weight,
        slots=slots,
        shared=shared,
        prompt_slot=prompt_slot,
        total=len(order),
    )
