"""Laws of the graded response model for any number of categories."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from irt_engine.models.graded_response import category_probabilities, item_information

thetas = st.floats(-30, 30)
slopes = st.floats(0.05, 8.0)
thresholds = st.tuples(st.floats(-4, 2), st.lists(st.floats(1e-4, 3.0), max_size=7)).map(
    lambda drawn: np.cumsum([drawn[0], *drawn[1]])
)


def probabilities(theta: float, alpha: float, b: np.ndarray) -> np.ndarray:
    return category_probabilities(np.array(theta), np.array(alpha), b)


def information(theta: float, alpha: float, b: np.ndarray) -> float:
    return float(item_information(np.array(theta), np.array(alpha), b))


@given(thetas, slopes, thresholds)
def test_there_is_one_category_more_than_edges_and_they_sum_to_one(theta: float, alpha: float, b: np.ndarray) -> None:
    p = probabilities(theta, alpha, b)
    assert p.shape == (len(b) + 1,)
    assert (p >= 0.0).all()
    assert np.isclose(p.sum(), 1.0, atol=1e-12)


@given(st.floats(-8, 8), slopes, thresholds)
def test_cumulated_from_above_they_are_the_boundary_curves(theta: float, alpha: float, b: np.ndarray) -> None:
    above = probabilities(theta, alpha, b)[::-1].cumsum()[::-1][1:]
    assert np.allclose(above, expit(alpha * (theta - b)), atol=1e-9)


@given(thetas, st.floats(0, 10), slopes, thresholds)
def test_a_higher_theta_never_lowers_the_chance_of_reaching_a_category(
    theta: float, more: float, alpha: float, b: np.ndarray
) -> None:
    low, high = (probabilities(t, alpha, b)[::-1].cumsum() for t in (theta, theta + more))
    assert (high >= low - 1e-9).all()


@given(thetas, slopes, thresholds)
def test_swapping_a_and_b_mirrors_probabilities_and_keeps_information(
    theta: float, alpha: float, b: np.ndarray
) -> None:
    """B's view of (theta, b) is A's view of (-theta, -b reversed)."""
    assert np.allclose(probabilities(theta, alpha, b), probabilities(-theta, alpha, -b[::-1])[::-1], atol=1e-12)
    assert np.isclose(information(theta, alpha, b), information(-theta, alpha, -b[::-1]), rtol=1e-9, atol=1e-300)


@given(thetas, slopes, thresholds, st.floats(0.1, 10))
def test_stretching_the_scale_changes_no_probability(theta: float, alpha: float, b: np.ndarray, stretch: float) -> None:
    assert np.allclose(
        probabilities(theta, alpha, b), probabilities(stretch * theta, alpha / stretch, stretch * b), atol=1e-7
    )


@given(st.floats(-6, 6), slopes, thresholds.filter(lambda b: len(b) > 1))
def test_merging_two_categories_never_adds_information(theta: float, alpha: float, b: np.ndarray) -> None:
    assert information(theta, alpha, b[1:]) <= information(theta, alpha, b) * (1.0 + 1e-9)


@given(st.floats(-6, 6), slopes, st.floats(-2, 2))
def test_a_single_edge_is_the_two_parameter_model(theta: float, alpha: float, b: float) -> None:
    p = expit(alpha * (theta - b))
    assert np.isclose(probabilities(theta, alpha, np.array([b]))[1], p)
    assert np.isclose(information(theta, alpha, np.array([b])), alpha**2 * p * expit(-alpha * (theta - b)))
