"""The test that decides on one board or two."""

import numpy as np
import pytest

from irt_engine.errors import InvalidResponses, NotIdentified
from irt_engine.selections import ModeAbilities, mode_test


def mode(chatbots: str, ability: list[float], variance: float = 0.01) -> ModeAbilities:
    return ModeAbilities(tuple(chatbots), np.array(ability), variance * np.eye(len(chatbots)))


def test_equal_abilities_stand_on_one_board() -> None:
    found = mode_test(mode("ABC", [0.2, 0.0, -0.2]), mode("ABC", [1.2, 1.0, 0.8]))
    assert (found.statistic, found.p) == pytest.approx((0.0, 1.0), abs=1e-9)
    assert (found.method, found.df, found.one_board) == ("Wald (chi-square)", (2,), True)


def test_reversed_abilities_stand_on_two_boards() -> None:
    found = mode_test(mode("AB", [0.5, -0.5]), mode("AB", [-0.5, 0.5]))
    assert found.statistic == pytest.approx(2.0**2 / 0.04)
    assert not found.one_board
    assert found.shifts == {"A": pytest.approx(-1.0), "B": pytest.approx(1.0)}


def test_chatbots_of_one_mode_are_left_out() -> None:
    assert mode_test(mode("ABX", [0.1, 0.0, 5.0]), mode("YBA", [-5.0, 0.0, 0.1])).chatbots == ("A", "B")


def test_few_conversations_are_judged_by_f() -> None:
    live = ModeAbilities(("A", "B", "C"), np.array([0.4, -0.2, -0.2]), 0.02 * np.eye(3), conversations=8)
    known = mode_test(mode("ABC", [0.0, 0.0, 0.0]), mode("ABC", [0.4, -0.2, -0.2], 0.02))
    found = mode_test(mode("ABC", [0.0, 0.0, 0.0], 0.01), live)
    assert (found.method, found.df) == ("Wald (F)", (2, 7))
    assert found.statistic == pytest.approx(known.statistic / 2)
    assert found.p > known.p


def test_false_alarms_of_estimated_covariances_stay_near_the_level() -> None:
    """Abilities and covariance of 25 clusters, against abilities that are known as well."""
    rng, p = np.random.default_rng(11), []
    for _ in range(400):
        clusters = rng.normal(0.0, 0.5, (25, 3))
        live = ModeAbilities(("A", "B", "C"), clusters.mean(axis=0), np.cov(clusters.T) / 25, conversations=25)
        p.append(mode_test(mode("ABC", list(rng.normal(0.0, 0.1, 3))), live).p)
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.03)


def test_false_alarms_keep_the_level() -> None:
    rng = np.random.default_rng(3)
    p = [mode_test(mode("ABC", list(x)), mode("ABC", list(y))).p for x, y in rng.normal(0.0, 0.1, (500, 2, 3))]
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.03)


def test_too_few_shared_chatbots_are_refused() -> None:
    with pytest.raises(NotIdentified, match="1 chatbots"):
        mode_test(mode("AB", [0.0, 0.0]), mode("BC", [0.0, 0.0]))
    with pytest.raises(InvalidResponses):
        ModeAbilities(("A", "B"), np.zeros(3), np.eye(2))
