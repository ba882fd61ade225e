"""The graded response model: its laws, and the net ratings it is about."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from irt_engine.models.graded_response import category_probabilities, edges, item_information, log_likelihood
from irt_engine.models.thresholds import MIRRORED
from irt_engine.responses.cells import net_rating

theta_values = st.floats(-1e3, 1e3)
slopes = st.floats(0.01, 20.0)
gaps = st.lists(st.floats(1e-6, 5.0), min_size=5, max_size=5)


@given(theta_values, slopes, gaps)
def test_probabilities_are_positive_and_sum_to_one(theta: float, alpha: float, gap: list[float]) -> None:
    b = np.cumsum([-3.0, *gap])
    p = category_probabilities(np.array(theta), np.array(alpha), b)
    assert np.isclose(p.sum(), 1.0, atol=1e-12)
    assert (p >= 0).all()


@given(st.floats(-5, 5), st.floats(0.01, 2), slopes, gaps)
def test_a_better_b_raises_every_cumulative_probability(
    theta: float, more: float, alpha: float, gap: list[float]
) -> None:
    b = np.cumsum([-3.0, *gap])
    at_least = [category_probabilities(np.array(t), np.array(alpha), b)[::-1].cumsum() for t in (theta, theta + more)]
    assert (at_least[1] >= at_least[0] - 1e-9).all()


def test_the_log_likelihood_is_the_log_of_the_probability() -> None:
    b = np.tile([-2.0, -1.0, -0.3, 0.4, 1.0, 2.5], (7, 1))
    theta, alpha = np.full(7, 0.7), np.full(7, 1.3)
    p = category_probabilities(theta, alpha, b)[0]
    assert np.allclose(np.exp(log_likelihood(edges(theta, alpha, b), np.arange(7))), p, rtol=1e-12)


def test_it_stays_finite_far_out() -> None:
    b = np.tile([-2.0, -1.0, -0.3, 0.4, 1.0, 2.5], (2, 1))
    theta = np.array([-1e6, 1e6])
    for k in range(7):
        assert np.isfinite(log_likelihood(edges(theta, np.ones(2), b), np.full(2, k))).all()
    assert np.isfinite(item_information(theta, np.ones(2), b)).all()


def test_mirrored_thresholds_mirror() -> None:
    b = MIRRORED.thresholds(np.random.default_rng(2).standard_normal((5, 4)))
    assert np.array_equal(b, -b[:, ::-1])


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_net_ratings_mirror_and_round_halves_away_from_zero(wins_a: int, wins_b: int, ties: int) -> None:
    n = wins_a + wins_b + ties
    if n == 0:
        return
    u = int(net_rating(np.array(wins_b), np.array(wins_a), np.array(n)))
    assert u == -int(net_rating(np.array(wins_a), np.array(wins_b), np.array(n)))
    exact = 3 * abs(wins_b - wins_a) / n
    assert abs(abs(u) - exact) <= 0.5 + 1e-9
    assert abs(u) >= exact - 0.5
    if abs(exact - round(exact)) == 0.5:
        assert abs(u) > exact
