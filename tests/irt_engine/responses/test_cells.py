"""Votes to comparisons and cells: packed, sorted and counted, they are what the definition read aloud gives."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irt_engine import ResponseTable
from irt_engine.arrays import BoolArray, FloatArray, IntArray
from irt_engine.responses.cells import MIN_CELLS, MOST_POOLED, Cells, Comparisons, cells_of, compare, net_rating
from tests.irt_engine.cast import rebuilt, rows


def plain_compare(table: ResponseTable) -> tuple[Comparisons, IntArray]:
    """The definition: distinct (low, high, label), found by sorting."""
    low, high = np.minimum(table.a, table.b), np.maximum(table.a, table.b)
    width = max(1, len(table.labels))
    distinct, index = np.unique((low * len(table.chatbots) + high) * width + table.label, return_inverse=True)
    judgments = np.bincount(index)
    flip: BoolArray = np.bincount(index, weights=table.a > table.b) * 2 > judgments
    pair = distinct // width
    return Comparisons(
        pair // len(table.chatbots), pair % len(table.chatbots), distinct % width, flip, judgments
    ), index


def plain_cells(table: ResponseTable, comparison: IntArray, votes: bool) -> Cells:
    """The definition: distinct (comparison, prompt) with what was voted there, sorted by all their columns."""
    prompts = len(table.prompts)
    sign = np.where(table.a < table.b, 1, -1)
    code, index = np.unique(comparison * prompts + table.prompt, return_inverse=True)
    size = np.bincount(index)
    first = np.where(table.a_first == -1, 0, np.where(table.a_first == 1, -1, 1)) * sign
    side = np.bincount(index, weights=first) / size
    toward = table.outcome * sign
    counts: FloatArray
    if votes:
        counts = np.stack([np.bincount(index, weights=toward == value) for value in (-1, 0, 1)], axis=1).astype(
            np.float64
        )
    else:
        net = np.bincount(index, weights=toward).astype(np.int64)
        counts = np.add(net_rating(net, np.zeros_like(net), size), 3.0, dtype=np.float64)[:, None]
    own = np.bincount(code % prompts, minlength=prompts) >= MIN_CELLS
    if votes:
        own[code[size > MOST_POOLED] % prompts] = True
    alone = int(own.sum())
    prompt_slot = np.where(own, np.cumsum(own) - 1, alone)
    all_own = bool(own.all())
    return plain_merged(
        code // prompts, counts, side, prompt_slot[code % prompts],
        slots=alone + (not all_own), shared=-1 if all_own else alone, prompt_slot=prompt_slot,
    )  # fmt: skip


def plain_merged(
    comparison: IntArray,
    counts: FloatArray,
    side: FloatArray,
    slot: IntArray,
    *,
    slots: int,
    shared: int,
    prompt_slot: IntArray,
) -> Cells:
    order = np.lexsort((side, *counts.T[::-1], comparison, slot))
    key = np.column_stack([slot, comparison, counts, side])[order]
    new = np.ones(len(order), bool)
    new[1:] = (key[1:] != key[:-1]).any(axis=1)
    kept = order[new]
    weight = np.diff(np.append(np.flatnonzero(new), len(order))).astype(np.float64)
    return Cells(comparison[kept], slot[kept], counts[kept], side[kept], weight, slots, shared, prompt_slot, len(order))


def same(one: Comparisons | Cells, other: Comparisons | Cells) -> bool:
    """Whether they agree to the last bit, types and signs of zeros included, and lie in memory row by row."""
    for field in fields(one):
        mine, others = np.asarray(getattr(one, field.name)), np.asarray(getattr(other, field.name))
        if (mine.dtype, mine.shape, mine.tobytes()) != (others.dtype, others.shape, others.tobytes()):
            return False
        if not mine.flags.c_contiguous:
            return False
    return True


@st.composite
def tables(draw: st.DrawFn) -> ResponseTable:
    """From crowded cells to prompts and chatbots that nobody voted on."""
    chatbots, prompts = draw(st.sampled_from([2, 3, 5, 40])), draw(st.sampled_from([1, 2, 6, 50]))
    labels, n = draw(st.integers(0, 3)), draw(st.integers(1, 120))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    a = rng.integers(0, chatbots, n)
    orders = draw(st.sampled_from([[-1], [0, 1], [-1, 0, 1]]))
    verdicts = draw(st.sampled_from([[1], [-1, 1], [-1, 0, 1]]))
    return ResponseTable(
        chatbots=tuple(f"m{i}" for i in range(chatbots)),
        prompts=tuple(f"p{j}" for j in range(prompts)),
        labels=tuple(f"l{k}" for k in range(labels)),
        a=a,
        b=(a + rng.integers(1, chatbots, n)) % chatbots,
        prompt=rng.integers(0, prompts, n),
        outcome=rng.choice(verdicts, n),
        annotator=np.full(n, -1),
        a_first=rng.choice(orders, n),
        label=rng.integers(0, max(1, labels), n),
    )


@given(tables())
def test_comparisons_are_those_of_the_definition_to_the_last_bit(table: ResponseTable) -> None:
    (found, index), (defined, defined_index) = compare(table), plain_compare(table)
    assert same(found, defined)
    assert index.dtype == defined_index.dtype
    assert np.array_equal(index, defined_index)


@given(tables(), st.booleans())
def test_cells_are_those_of_the_definition_to_the_last_bit(table: ResponseTable, votes: bool) -> None:
    index = compare(table)[1]
    assert same(cells_of(table, index, votes=votes), plain_cells(table, index, votes))


@pytest.mark.parametrize("chatbots", [3, 300], ids=["counted", "sorted"])
def test_the_definition_holds_where_codes_are_many_beside_the_votes_and_where_they_are_few(chatbots: int) -> None:
    rng = np.random.default_rng(chatbots)
    n = 5000
    a = rng.integers(0, chatbots, n)
    nothing = np.zeros(n, np.int64)
    table = ResponseTable(
        tuple(f"m{i}" for i in range(chatbots)), tuple(f"p{j}" for j in range(3000)), (),
        a, (a + rng.integers(1, chatbots, n)) % chatbots, rng.integers(0, 3000, n), rng.integers(-1, 2, n),
        nothing, rng.integers(-1, 2, n), nothing,
    )  # fmt: skip
    found, index = compare(table)
    assert same(found, plain_compare(table)[0])
    for votes in (False, True):
        cells = cells_of(table, index, votes=votes)
        assert same(cells, plain_cells(table, index, votes))
        assert cells.shared >= 0  # both kinds of slot are there
        assert cells.slots > 1


@given(tables(), st.booleans(), st.integers(0, 2**32))
def test_the_order_of_the_rows_changes_nothing(table: ResponseTable, votes: bool, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(table))
    other = rebuilt(table, {name: column[order] for name, column in rows(table).items()})
    (one, index), (two, other_index) = compare(table), compare(other)
    assert same(one, two)
    assert same(cells_of(table, index, votes=votes), cells_of(other, other_index, votes=votes))
