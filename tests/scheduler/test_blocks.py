"""compose_block: the laws of a block, whatever waits and whoever reads."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import InvalidRequest
from scheduler.blocks import AnnotatorHistory, BlockItem, QueuedItem, compose_block, gold_due

BOB = AnnotatorHistory("bob")


def asks(count: int, *, pairs: int = 6, prompts: int = 50, start: int = 0) -> list[QueuedItem]:
    """So many asks, pair after pair and prompt after prompt."""
    ends = [(a, b) for b in range(1, 20) for a in range(b)][:pairs]
    return [QueuedItem(start + i, *ends[i % pairs], i % prompts) for i in range(count)]


@st.composite
def queues(draw: st.DrawFn, start: int = 0) -> list[QueuedItem]:
    """A queue with few chatbots and prompts, so that everything collides."""
    ends = st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda pair: pair[0] != pair[1])
    rows = draw(st.lists(st.tuples(ends, st.integers(0, 8)), max_size=40))
    return [QueuedItem(start + i, a, b, prompt) for i, ((a, b), prompt) in enumerate(rows)]


@st.composite
def readers(draw: st.DrawFn) -> AnnotatorHistory:
    seen = draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 8)), max_size=10))
    return AnnotatorHistory(
        draw(st.sampled_from(["bob", "dora"])),
        [(min(a, b), max(a, b), prompt) for a, b, prompt in seen],
        draw(st.sets(st.integers(0, 4), max_size=2)),
        draw(st.integers(0, 100)),
    )


CLAIMS = {
    "waiting": queues(), "reader": readers(), "gold": queues(start=1000), "size": st.integers(0, 12),
    "share": st.sampled_from([0.0, 0.05, 0.125, 0.5, 0.9]), "block": st.integers(0, 5),
}  # fmt: skip


def composed(
    waiting: list[QueuedItem], reader: AnnotatorHistory, gold: list[QueuedItem], size: int, share: float, block: int
) -> tuple[BlockItem, ...]:
    return compose_block(waiting, reader, campaign="c", block=block, size=size, gold=gold, gold_share=share)


@given(**CLAIMS)
def test_nothing_seen_nothing_of_ones_own_and_no_prompt_twice(
    waiting: list[QueuedItem], reader: AnnotatorHistory, gold: list[QueuedItem], size: int, share: float, block: int
) -> None:
    found = composed(waiting, reader, gold, size, share, block)
    rows = {ask.key: ask for ask in [*waiting, *gold]}
    shown = [rows[seat.key] for seat in found]
    assert len(found) <= size
    assert len({seat.key for seat in found}) == len(found)
    assert len({ask.prompt for ask in shown}) == len(found)
    assert not {ask.item for ask in shown} & set(reader.seen)
    assert not {end for ask in shown for end in (ask.a, ask.b)} & set(reader.own)
    assert all(seat.gold == (seat.key >= 1000) for seat in found)
    assert sum(seat.gold for seat in found) <= gold_due("c", reader, len(found), share)


@given(**CLAIMS)
def test_the_same_claim_gives_the_same_block(
    waiting: list[QueuedItem], reader: AnnotatorHistory, gold: list[QueuedItem], size: int, share: float, block: int
) -> None:
    claim = (waiting, reader, gold, size, share, block)
    assert composed(*claim) == composed(*claim)


@given(**CLAIMS)
def test_an_ask_is_passed_over_only_for_a_reason(
    waiting: list[QueuedItem], reader: AnnotatorHistory, gold: list[QueuedItem], size: int, share: float, block: int
) -> None:
    """Who was left out is seen, own, has the prompt of one that was taken, or the block is full."""
    found = composed(waiting, reader, gold, size, share, block)
    rows = {ask.key: ask for ask in [*waiting, *gold]}
    prompts = {rows[seat.key].prompt for seat in found}
    full = len(found) + gold_due("c", reader, size, share) >= size  # gold that was due may have had a place
    without_reason = [
        ask
        for ask in waiting
        if ask.item not in reader.seen and not set(reader.own) & {ask.a, ask.b} and ask.prompt not in prompts
    ]
    assert full or not without_reason


@given(st.floats(0.0, 0.99), st.lists(st.integers(0, 12), max_size=30), st.text(max_size=5))
def test_gold_has_its_share_over_any_blocks_in_a_row(share: float, sizes: list[int], name: str) -> None:
    due, given_ = 0, 0
    for size in sizes:
        of_block = gold_due("c", AnnotatorHistory(name, given=given_), size, share)
        assert abs(of_block - share * size) < 1.0 + 1e-9
        due, given_ = due + of_block, given_ + size
        assert abs(due - share * given_) < 1.0 + 1e-9
    assert given_ == sum(sizes)


def test_half_a_check_a_block_is_one_in_every_second_block_for_everybody_and_not_at_the_same_time() -> None:
    gold = asks(200, pairs=1, prompts=10_000, start=1000)
    counts = []
    for number in range(40):
        reader = AnnotatorHistory(f"annotator {number}")
        of_blocks = [
            sum(
                seat.gold
                for seat in compose_block(
                    asks(60), replace(reader, given=10 * block), campaign="c", block=block, gold=gold, gold_share=0.05
                )
            )
            for block in range(4)
        ]
        assert sorted(of_blocks) == [0, 0, 1, 1]
        counts.append(of_blocks[0])
    assert 10 <= sum(counts) <= 30


def test_the_best_come_first_but_not_all_of_one_pair() -> None:
    waiting = [QueuedItem(i, 0, 1, i) for i in range(20)] + [QueuedItem(20 + i, 2 + i, 3 + i, 20 + i) for i in range(8)]
    keys = {seat.key for seat in compose_block(waiting, BOB, campaign="c", block=0, size=10)}
    assert keys == {0, 1, 2, 3, 20, 21, 22, 23, 24, 25}


def test_one_pair_fills_a_block_where_nothing_else_waits() -> None:
    waiting = [QueuedItem(i, 0, 1, i) for i in range(20)]
    assert {seat.key for seat in compose_block(waiting, BOB, campaign="c", block=0)} == set(range(10))


def test_annotators_blocks_and_campaigns_have_orders_and_sides_of_their_own() -> None:
    waiting = asks(30, pairs=30)

    def block(annotator: str, campaign: str, number: int) -> tuple[BlockItem, ...]:
        return compose_block(waiting, AnnotatorHistory(annotator), campaign=campaign, block=number, size=30)

    blocks = [block(name, campaign, number) for name in ("bob", "dora") for campaign in "cd" for number in (0, 1)]
    assert len({tuple(seat.key for seat in found) for found in blocks}) == 8
    assert len({frozenset(seat.key for seat in found if seat.swapped) for found in blocks}) == 8
    assert {frozenset(seat.key for seat in found) for found in blocks} == {frozenset(range(30))}


def test_sides_and_places_favour_nobody() -> None:
    swapped, first = Counter[int](), Counter[int]()
    for number in range(400):
        found = compose_block(asks(10, pairs=10), AnnotatorHistory(str(number)), campaign="c", block=0)
        swapped.update(seat.key for seat in found if seat.swapped)
        first[found[0].key] += 1
    assert all(150 < swapped[key] < 250 for key in range(10))  # five SDs of 400 fair coins
    assert all(10 < first[key] < 70 for key in range(10))


def test_an_item_was_seen_whichever_side_it_was_shown_on() -> None:
    reader = AnnotatorHistory("bob", seen=[(1, 3, 2)])
    found = compose_block([QueuedItem(0, 3, 1, 2), QueuedItem(1, 3, 1, 4)], reader, campaign="c", block=0)
    assert [seat.key for seat in found] == [1]


def test_a_block_that_runs_out_of_asks_has_the_gold_of_its_own_length() -> None:
    """Half of ten seats would be five checks; two asks make a block of four or five."""
    gold = [QueuedItem(1000 + i, 0, 1, 100 + i) for i in range(20)]
    for number in range(20):
        reader = AnnotatorHistory(str(number))
        found = compose_block(asks(2), reader, campaign="c", block=0, gold=gold, gold_share=0.5)
        assert sum(not seat.gold for seat in found) == 2
        assert sum(seat.gold for seat in found) <= gold_due("c", reader, len(found), 0.5) <= 3


@pytest.mark.parametrize("size", [1, 10])
def test_checks_alone_are_no_block_where_nothing_waits(size: int) -> None:
    gold = asks(5, start=1000)
    for number in range(5):
        reader = AnnotatorHistory(str(number))
        assert compose_block([], reader, campaign="c", block=0, size=size, gold=gold, gold_share=0.9) == ()


def test_who_asks_for_one_at_a_time_is_given_gold_by_its_share() -> None:
    gold = asks(400, pairs=1, prompts=10_000, start=1000)
    for name in ("bob", "dora", "carl"):
        readers = [AnnotatorHistory(name, given=given) for given in range(1000)]
        found = [compose_block(asks(9), reader, campaign="c", block=reader.given, size=1, gold=gold, gold_share=0.3)
                 for reader in readers]  # fmt: skip
        assert {len(block) for block in found} == {1}
        assert abs(sum(seat.gold for (seat,) in found) - 300) <= 1


def test_one_seat_is_an_asks_where_gold_is_due_and_all_of_it_is_known() -> None:
    gold = asks(2, prompts=2, start=1000)
    for number in range(20):
        reader = AnnotatorHistory(str(number), seen=[check.item for check in gold])
        found = compose_block(asks(60), reader, campaign="c", block=0, size=1, gold=gold, gold_share=0.9)
        assert [seat.gold for seat in found] == [False]


def test_without_gold_that_is_new_to_the_reader_asks_take_its_place() -> None:
    gold = asks(2, prompts=2, start=1000)
    reader = AnnotatorHistory("bob", seen=[check.item for check in gold])
    found = compose_block(asks(60), reader, campaign="c", block=0, gold=gold, gold_share=0.5)
    assert len(found) == 10
    assert not any(seat.gold for seat in found)


@pytest.mark.parametrize(("size", "share"), [(-1, 0.0), (10, 1.0), (10, -0.1), (10, float("nan"))])
def test_a_block_that_cannot_be_is_refused(size: int, share: float) -> None:
    with pytest.raises(InvalidRequest):
        compose_block([], BOB, campaign="c", block=0, size=size, gold_share=share)
