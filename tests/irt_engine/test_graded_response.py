"""The graded response model and its derivatives against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irt_engine.cells import net_rating
from irt_engine.grm import category_probabilities, edges, item_information, log_likelihood
from irt_engine.prompts import FREE, MIRRORED, PromptModel

MODELS = pytest.mark.parametrize("model", [FREE, MIRRORED], ids=lambda m: m.name)
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


@MODELS
def test_the_gradient_is_the_finite_difference(model: PromptModel) -> None:
    rng = np.random.default_rng(0)
    category = np.arange(7)
    at = 0.5 * rng.standard_normal((7, 1 + model.size))
    terms = model.cell_terms(at[:, 0], at[:, 1:], category)
    analytic = np.column_stack([terms.d_theta, terms.d_phi])
    for p in range(at.shape[1]):
        e = np.zeros(at.shape[1])
        e[p] = 1e-6
        up, down = (model.log_likelihood((at + s * e)[:, 0], (at + s * e)[:, 1:], category) for s in (1, -1))
        assert np.allclose(analytic[:, p], (up - down) / 2e-6, atol=1e-7)


@MODELS
def test_the_information_is_the_expected_square_of_the_score(model: PromptModel) -> None:
    rng = np.random.default_rng(1)
    at = np.tile(0.5 * rng.standard_normal(1 + model.size), (7, 1))
    terms = model.cell_terms(at[:, 0], at[:, 1:], np.arange(7))
    score = np.column_stack([terms.d_theta, terms.d_phi])
    p = category_probabilities(at[0, 0], np.exp(at[0, 1]), model.thresholds(at[:1, 1:])[0])
    expected = (p[:, None] * score).T @ score
    assert np.allclose(terms.i_theta[0], expected[0, 0])
    assert np.allclose(terms.cross[0], expected[0, 1:])
    assert np.allclose(terms.i_phi[0], expected[1:, 1:])
    alpha, b = np.exp(at[:1, 1]), model.thresholds(at[:1, 1:])
    assert np.allclose(item_information(at[:1, 0], alpha, b), expected[0, 0])


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


@MODELS
def test_the_observed_information_is_the_second_difference(model: PromptModel) -> None:
    rng = np.random.default_rng(1)
    category = np.arange(7)
    at = 0.5 * rng.standard_normal((7, 1 + model.size))
    terms = model.bent_terms(at[:, 0], at[:, 1:], category)
    information = np.empty((7, 1 + model.size, 1 + model.size))
    information[:, 0, 0] = terms.i_theta
    information[:, 1:, 0] = information[:, 0, 1:] = terms.cross
    information[:, 1:, 1:] = terms.i_phi + model.edge_curvature(terms.d_phi)
    information[:, 0, 1] -= terms.d_theta
    information[:, 1, 0] -= terms.d_theta
    for p in range(at.shape[1]):
        e = np.zeros(at.shape[1])
        e[p] = 1e-5
        ends = [model.cell_terms((at + s * e)[:, 0], (at + s * e)[:, 1:], category) for s in (1, -1)]
        up, down = (np.column_stack([t.d_theta, t.d_phi]) for t in ends)
        assert np.allclose((down - up) / 2e-5, information[:, p], atol=1e-7)


@MODELS
def test_both_forms_of_the_gradient_agree_far_out(model: PromptModel) -> None:
    """Where a probability underflows the log-likelihood is still a straight line, and so is its slope."""
    category = np.arange(7)
    for theta in (-900.0, -80.0, 80.0, 900.0):
        phi = np.zeros((7, model.size))
        at = np.full(7, theta)
        terms, bent = model.cell_terms(at, phi, category), model.bent_terms(at, phi, category)
        ends = [model.log_likelihood(at + s, phi, category) for s in (0.5, -0.5)]
        assert np.allclose(terms.d_theta, ends[0] - ends[1], atol=1e-9)
        assert np.allclose(bent.d_theta, terms.d_theta, atol=1e-12)
        assert np.allclose(bent.d_phi, terms.d_phi, atol=1e-9)
