"""Abilities from selections, with the covariance clustered by conversation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irt_engine.errors import InvalidResponses, NotIdentified
from irt_engine.selections import TurnTable, abilities_of


def table(selected: list[list[int]], length: int = 2, names: str = "ABCD", *, one_best: bool = False) -> TurnTable:
    n = len(selected)
    return TurnTable(
        tuple(names[: len(selected[0])]),
        np.arange(n) // length,
        np.arange(n) % length,
        np.array(selected),
        None,
        one_best,
    )


def drawn(k: int, conversations: int, seed: int = 1) -> TurnTable:
    rng = np.random.default_rng(seed)
    return table((rng.random((conversations * 4, k)) < np.linspace(0.3, 0.7, k)).astype(int).tolist(), 4)


def test_one_best_of_two_gives_the_log_odds() -> None:
    found = abilities_of([table([[1, 0]] * 30 + [[0, 1]] * 10, one_best=True)])
    assert found.ability[0] - found.ability[1] == pytest.approx(np.log(3), abs=1e-3)
    assert found.threshold == 0.0


def test_single_turn_conversations_have_the_binomial_variance() -> None:
    found = abilities_of([table([[1, 0]] * 300 + [[0, 1]] * 100, 1, one_best=True)])
    difference, lower, upper = found.difference("A", "B")
    se = (upper - lower) / 2.0 / 1.966
    assert se == pytest.approx(np.sqrt(1 / 300 + 1 / 100), rel=0.01)
    assert lower < difference < upper


def test_ties_widen_the_threshold_and_keep_the_order() -> None:
    few = abilities_of([table([[1, 0]] * 20 + [[0, 1]] * 10 + [[1, 1]] * 4)])
    many = abilities_of([table([[1, 0]] * 20 + [[0, 1]] * 10 + [[0, 0]] * 40)])
    assert 0.0 < few.threshold < many.threshold
    assert many.ability[0] > 0.0


def test_twice_the_same_conversations_halve_the_variance() -> None:
    once = drawn(3, 30)
    one, two = abilities_of([once]), abilities_of([once, once])
    assert two.ability == pytest.approx(one.ability, abs=1e-8)
    assert two.covariance == pytest.approx(one.covariance / 2.0 * (60 / 59) / (30 / 29), rel=1e-6)
    assert (two.conversations, two.turns) == (60, 240)


@given(st.permutations([0, 1, 2]))
def test_order_of_chatbots_has_no_influence(order: list[int]) -> None:
    one = drawn(3, 12)
    turned = TurnTable(tuple("ABC"[i] for i in order), one.conversation, one.turn, one.selected[:, order])
    assert abilities_of([turned]).ability == pytest.approx(abilities_of([one]).ability, abs=1e-7)
    assert abilities_of([turned]).covariance == pytest.approx(abilities_of([one]).covariance, abs=1e-7)


@given(st.lists(st.lists(st.integers(0, 1), min_size=3, max_size=3), min_size=6, max_size=20))
def test_abilities_have_mean_zero(rows: list[list[int]]) -> None:
    try:
        found = abilities_of([table(rows)])
    except NotIdentified:
        return
    assert found.ability.sum() == pytest.approx(0.0, abs=1e-8)
    assert np.linalg.eigvalsh(found.covariance)[0] > -1e-8


def test_chatbots_of_different_sets_are_linked() -> None:
    left, right = table([[1, 0]] * 9 + [[0, 1]] * 3), table([[1, 0]] * 9 + [[0, 1]] * 3)
    right = TurnTable(("B", "C"), right.conversation, right.turn, right.selected)
    found = abilities_of([left, right])
    assert found.chatbots == ("A", "B", "C")
    assert found.ability[0] > found.ability[1] > found.ability[2]


def test_a_chatbot_that_always_wins_has_a_finite_ability() -> None:
    assert np.isfinite(abilities_of([table([[1, 0]] * 20)]).ability).all()


@pytest.mark.parametrize(
    ("tables", "error", "code"),
    [
        ([table([[1, 1], [0, 0]] * 4)], NotIdentified, "all_ties"),
        ([table([[1, 0], [0, 1]])], InvalidResponses, "too_few_conversations"),
        ([table([[1], [0]] * 4)], InvalidResponses, "too_few_conversations"),
    ],
    ids=["ties only", "one conversation", "one chatbot"],
)
def test_what_cannot_be_estimated_is_refused(tables: list[TurnTable], error: type[Exception], code: str) -> None:
    with pytest.raises(error) as caught:
        abilities_of(tables)
    assert getattr(caught.value, "code", "") == code


def test_separate_sets_are_refused() -> None:
    other = table([[1, 0]] * 9 + [[0, 1]] * 3)
    with pytest.raises(NotIdentified, match="connect"):
        abilities_of([other, TurnTable(("C", "D"), other.conversation, other.turn, other.selected)])
