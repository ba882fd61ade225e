"""Display order (anchoring) and consecutive turns (cascade)."""

from itertools import pairwise, permutations

import numpy as np
import pytest

from irt_engine.arrays import IntArray
from irt_engine.selections import TurnTable, by_position, reselection, tie_repetition


def turns(
    selected: IntArray,
    *,
    conversation: list[int] | None = None,
    turn: list[int] | None = None,
    position: IntArray | None = None,
) -> TurnTable:
    n, k = selected.shape
    return TurnTable(
        tuple("ABCD"[:k]),
        np.zeros(n, np.int64) if conversation is None else np.array(conversation),
        np.arange(n) if turn is None else np.array(turn),
        selected,
        position,
    )


def test_columns_become_positions() -> None:
    found = by_position(turns(np.array([[1, 0], [1, 1], [0, 1]]), position=np.array([[2, 1], [1, 2], [2, 1]])))
    assert found is not None
    assert (found.chatbots, found.selected.tolist()) == (("1", "2"), [[0, 1], [1, 1], [1, 0]])


def test_unknown_positions_and_single_replies_have_no_table() -> None:
    assert by_position(turns(np.array([[1, 0]]))) is None
    assert by_position(turns(np.array([[1]]), position=np.array([[1]]))) is None


def test_repetitions_are_counted_within_conversations() -> None:
    selected = np.array([[1, 0, 0], [1, 0, 1], [0, 1, 0], [1, 0, 0]])
    first, *_ = reselection(turns(selected, conversation=[0, 0, 0, 1], turn=[1, 2, 3, 4]))
    assert (first.name, first.after, first.again, first.otherwise, first.anew) == ("A", 2, 1, 0, 0)


def test_a_missing_turn_breaks_a_sequence() -> None:
    (found,) = reselection(turns(np.array([[1], [1], [1]]), turn=[1, 2, 4]))
    assert (found.after, found.again) == (1, 1)


def test_expectation_and_variance_are_of_random_orders() -> None:
    events = [1, 1, 1, 0, 0, 1, 0]
    counts = [sum(a and b for a, b in pairwise(order)) for order in permutations(events)]
    (found,) = reselection(turns(np.array(events)[:, None]))
    assert found.expected == pytest.approx(np.mean(counts))
    assert found.z == pytest.approx((2 - np.mean(counts)) / np.std(counts))


def test_a_preference_throughout_is_no_cascade() -> None:
    selected = np.array([[1, 0]] * 10 + [[0, 1]] * 10)
    (a, b) = reselection(turns(selected, conversation=[0] * 10 + [1] * 10))
    assert (a.z, a.p, b.z, b.p) == (None, None, None, None)


def test_a_cascade_is_found() -> None:
    selected = np.array([[1], [1], [1], [1], [1], [0], [0], [0], [0], [0]] * 10)
    (found,) = reselection(turns(selected, conversation=[c for c in range(10) for _ in range(10)]))
    assert found.p is not None
    assert found.p < 1e-6


def test_ties_are_followed_up_where_there_can_be_any() -> None:
    selected = np.array([[1, 1], [1, 1], [0, 0], [1, 0]])
    win, loss = tie_repetition(turns(selected))
    assert (win.name, win.again, loss.name, loss.again) == ("tie-win", 1, "tie-loss", 0)
    one_best = TurnTable(("A", "B"), np.array([0]), np.array([1]), np.array([[1, 0]]), one_best=True)
    assert tie_repetition(one_best) == ()
