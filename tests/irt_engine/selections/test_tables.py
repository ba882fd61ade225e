"""Selections as frozen arrays."""

import numpy as np
import pytest

from irt_engine.errors import InvalidResponses
from irt_engine.selections import Selections, TurnTable


def table(**changes: object) -> TurnTable:
    values: dict[str, object] = {
        "chatbots": ("A", "B"),
        "conversation": np.array([7, 3, 7]),
        "turn": np.array([2, 1, 1]),
        "selected": np.array([[1, 0], [1, 1], [0, 0]]),
    }
    return TurnTable(**{**values, **changes})  # type: ignore[arg-type]


def test_counts_become_patterns_and_totals() -> None:
    found = Selections.from_counts(("A", "B"), {"10": 3, "01": 2, "11": 1, "00": 4})
    assert (found.turns, found.selected.tolist(), found.pair(0, 1)) == (10, [4, 3], (3, 2, 1, 4))
    assert found.rows.shape == (10, 2)


def test_turns_are_ordered_by_conversation_and_turn() -> None:
    found = table(position=np.array([[2, 1], [1, 2], [1, 2]]))
    assert found.conversation.tolist() == [3, 7, 7]
    assert found.selected.tolist() == [[1, 1], [0, 0], [1, 0]]
    assert found.position is not None
    assert found.position.tolist() == [[1, 2], [1, 2], [2, 1]]
    assert found.clusters.tolist() == [0, 1, 1]


def test_a_table_of_turns_has_the_counts_of_its_patterns() -> None:
    found = table().selections
    assert sorted(zip(found.patterns.tolist(), found.counts.tolist(), strict=True)) == [
        ([0, 0], 1),
        ([1, 0], 1),
        ([1, 1], 1),
    ]


def test_arrays_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="read-only"):
        table().selected[0, 0] = 1


@pytest.mark.parametrize(
    ("counts", "code"),
    [
        ({"1": 1}, "bad_pattern"),
        ({"12": 1}, "bad_pattern"),
        ({"10": 0}, "no_votes"),
        ({"10": 10**9}, "too_many"),
        ({"10": -1}, "bad_count"),
        ({"10": 1.5}, "bad_count"),
        ({}, "shape"),
    ],
)
def test_impossible_counts_are_refused(counts: dict[str, int], code: str) -> None:
    with pytest.raises(InvalidResponses) as caught:
        Selections.from_counts(("A", "B"), counts)
    assert caught.value.code == code


def test_one_best_has_exactly_one_selected_reply() -> None:
    with pytest.raises(InvalidResponses):
        Selections.from_counts(("A", "B"), {"10": 1, "11": 1}, one_best=True)
    with pytest.raises(InvalidResponses):
        table(one_best=True)
    assert Selections.from_counts(("A", "B"), {"10": 1, "11": 0}, one_best=True).turns == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"turn": np.array([1, 1, 1])},
        {"turn": np.array([1, 2])},
        {"turn": np.array([1.0, 2.0, 3.0])},
        {"selected": np.array([[1, 0], [2, 0], [0, 0]])},
        {"selected": np.array([[1], [0], [0]])},
        {"chatbots": ("A", "A")},
        {"chatbots": "AB"},
        {"position": np.array([[1, 1], [1, 2], [1, 2]])},
    ],
)
def test_impossible_tables_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(InvalidResponses):
        table(**changes)
