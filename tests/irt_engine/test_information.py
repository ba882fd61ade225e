"""Information of categories, items and sets, and what one more judgment is expected to tell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from irt_engine import InvalidResponses, NotIdentified
from irt_engine.information import (
    InformationTable,
    category_information,
    expected_information,
    pair_information,
    total_information,
    vote_information,
)
from irt_engine.models.graded_response import category_probabilities, item_information
from irt_engine.posterior.moments import Scales
from irt_engine.quadrature import normal_nodes
from irt_engine.truth import draw_truth
from irt_engine.variance_reduction import expected_fall, projections, variance_fall
from tests.environment import FULL
from tests.irt_engine.posteriors import made_up

TRUTH = draw_truth(2, 30, seed=1)
VOTES = TRUTH.thresholds[:, 2:4]
WITH_EDGES = pytest.mark.parametrize("edges", [TRUTH.thresholds, VOTES, TRUTH.thresholds[:, 3:4]], ids=["7", "3", "2"])
ROOT = np.random.default_rng(0).standard_normal((5, 5))
SIGMA = ROOT @ ROOT.T
LOW, HIGH = np.array([0, 1, 3]), np.array([2, 4, 4])


@WITH_EDGES
def test_category_information_is_the_curvature_of_the_log_probability(edges: np.ndarray) -> None:
    alpha, step = TRUTH.discrimination, 1e-3
    for theta in (-1.5, 0.2, 2.5):
        log_p = [np.log(category_probabilities(np.full(30, theta + e), alpha, edges)) for e in (-step, 0.0, step)]
        curvature = -(log_p[0] - 2.0 * log_p[1] + log_p[2]) / step**2
        found = category_information(np.full(30, theta), alpha, edges)
        assert found.shape == (30, edges.shape[1] + 1)
        assert np.allclose(found, curvature, rtol=1e-4, atol=1e-7)


@WITH_EDGES
def test_item_information_is_the_sum_of_shares_and_squared_slopes(edges: np.ndarray) -> None:
    alpha, theta, step = TRUTH.discrimination, np.full(30, 0.7), 1e-5
    item = item_information(theta, alpha, edges)
    shares = category_probabilities(theta, alpha, edges) * category_information(theta, alpha, edges)
    assert np.allclose(shares.sum(axis=-1), item, rtol=1e-9)
    up, down = (category_probabilities(theta + e, alpha, edges) for e in (step, -step))
    slope = (up - down) / (2.0 * step)
    assert np.allclose((slope**2 / category_probabilities(theta, alpha, edges)).sum(axis=-1), item, rtol=1e-6)


def test_a_set_is_worth_the_sum_of_its_prompts() -> None:
    theta = np.array([-1.0, 0.0, 2.0])
    total = total_information(theta, TRUTH.discrimination, TRUTH.thresholds)
    each = [item_information(np.full(30, t), TRUTH.discrimination, TRUTH.thresholds).sum() for t in theta]
    assert total == pytest.approx(each)


@WITH_EDGES
@pytest.mark.parametrize("cell_sd", [0.4, 1.5])
def test_the_cell_effect_is_averaged_over_before_the_square(edges: np.ndarray, cell_sd: float) -> None:
    """Against a fine grid, with slopes by finite differences."""
    z = np.linspace(-8, 8, 2001)
    w = np.exp(-(z**2) / 2)
    w /= w.sum()
    alpha, b, step = TRUTH.discrimination[4], edges[4], 1e-4

    def averaged(theta: float) -> np.ndarray:
        above = w @ expit(alpha * (theta - b) + cell_sd * z[:, None])
        return -np.diff(np.concatenate([[1.0], above, [0.0]]))

    slope = (averaged(0.6 + step) - averaged(0.6 - step)) / (2.0 * step)
    found = vote_information(np.array([0.6]), np.array([alpha]), b[None, :], cell_sd)[0]
    assert found == pytest.approx((slope**2 / averaged(0.6)).sum(), rel=1e-3)


@given(st.floats(-40, 40), st.floats(0.05, 5), st.floats(0.01, 3))
def test_not_to_see_the_effect_only_takes_information_away_and_never_breaks(
    theta: float, alpha: float, cell_sd: float
) -> None:
    """The law is about who sees the effect: against no effect at all, a sharp prompt may gain between its edges."""
    at, slope, b = np.array([theta]), np.array([alpha]), np.array([[-0.4, 0.4]])
    found = vote_information(at, slope, b, cell_sd)[0]
    assert np.isfinite(found)
    assert found >= 0.0
    nodes, weights = normal_nodes(15)
    seen = item_information(theta + cell_sd * nodes / alpha, np.full(15, alpha), np.tile(b, (15, 1)))
    assert found <= weights @ seen * (1.0 + 1e-9) + 1e-12


def test_without_uncertainty_it_is_the_information_at_the_mean() -> None:
    mean = np.array([0.0, 1.5])
    at_mean = expected_information(mean, np.zeros(2), TRUTH.discrimination, TRUTH.thresholds)
    exact = item_information(np.full(30, 1.5), TRUTH.discrimination, TRUTH.thresholds)
    assert at_mean.shape == (2, 30)
    assert np.allclose(at_mean[1], exact)
    wide = expected_information(mean, np.full(2, 3.0), TRUTH.discrimination, TRUTH.thresholds)
    assert (wide[0] < at_mean[0]).mean() > 0.9  # most prompts say most about even pairs


@pytest.mark.parametrize("cell_sd", [0.0, 0.8])
def test_both_theta_and_the_prompt_are_averaged_over(cell_sd: float) -> None:
    """Against many draws of both."""
    rng, draws = np.random.default_rng(5), 400_000 if FULL else 100_000
    theta = 0.5 + 0.7 * rng.standard_normal(draws)
    log_se = 0.3
    alpha = 1.2 * np.exp(log_se * rng.standard_normal(draws))
    drawn = vote_information(theta, alpha, np.array([-0.4, 0.4]), cell_sd).mean()
    found = expected_information(
        np.array([0.5]),
        np.array([0.7]),
        np.array([1.2]),
        np.array([[-0.4, 0.4]]),
        discrimination_se=np.array([1.2 * log_se]),
        cell_sd=cell_sd,
    )
    assert found[0, 0] == pytest.approx(drawn, rel=5e-3)
    certain = expected_information(np.array([0.5]), np.array([0.7]), np.array([1.2]), np.array([[-0.4, 0.4]]))
    assert abs(found[0, 0] / certain[0, 0] - 1.0) > 0.02


def test_a_pairs_information_is_that_under_its_posterior() -> None:
    board = made_up(
        [-0.5, 0.5], 0.04 * np.array([[1.0, -1.0], [-1.0, 1.0]]), scales=Scales(0.4, 0.3, pair=0.5, cell=0.8)
    )
    found = pair_information(board, np.array([0]), np.array([1]))
    expected = expected_information(
        np.array([1.0]),
        np.sqrt([0.16 + 0.25]),
        board.discrimination,
        board.thresholds,
        discrimination_se=board.discrimination_se,
        cell_sd=0.8,
    )
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("a", "b", "code"),
    [
        ([0], [-1], "out_of_range"),
        ([2], [0], "out_of_range"),
        ([0, 1], [1, 1], "self_comparison"),
        ([0, 1], [1], "length"),
        ([0.0], [1.0], "not_whole"),
    ],
)
def test_a_pair_that_is_none_is_refused_with_a_code(a: list[int], b: list[int], code: str) -> None:
    with pytest.raises(InvalidResponses) as caught:
        pair_information(made_up([-0.5, 0.5], 0.04 * np.eye(2)), np.array(a), np.array(b))
    assert caught.value.code == code


def test_model_pair_has_no_chatbots_to_pair() -> None:
    with pytest.raises(NotIdentified):
        pair_information(made_up([], np.empty((0, 0)), model="pair"), np.array([0]), np.array([1]))


@pytest.mark.parametrize("known", [True, False])
def test_the_table_agrees_with_the_quadrature(known: bool) -> None:
    se = None if known else 0.25 * TRUTH.discrimination
    cell_sd = 0.0 if known else 0.7
    table = InformationTable.of(TRUTH.discrimination, TRUTH.thresholds, cell_sd=cell_sd, discrimination_se=se)
    exact = expected_information(
        np.array([0.8]), np.array([0.6]), TRUTH.discrimination, TRUTH.thresholds, cell_sd=cell_sd, discrimination_se=se
    )[0]
    assert np.allclose(table.of_pair(0.8, 0.6), exact, rtol=0.02)
    assert np.allclose(table.typical(np.array([0.8]), np.array([0.6])), exact.mean(), rtol=0.02)


def test_many_pairs_are_taken_in_chunks_that_change_nothing() -> None:
    mean, se = np.linspace(-3, 3, 900), np.full(900, 0.4)
    alpha, b = np.tile(TRUTH.discrimination, 10), np.tile(VOTES, (10, 1))
    all_at_once = expected_information(mean, se, alpha, b)
    assert np.array_equal(all_at_once[777:778], expected_information(mean[777:778], se[:1], alpha, b))


def test_the_nodes_integrate_a_standard_normal() -> None:
    nodes, weights = normal_nodes()
    assert weights.sum() == pytest.approx(1.0)
    assert [weights @ nodes**k for k in (1, 2, 3, 4)] == pytest.approx([0.0, 1.0, 0.0, 3.0], abs=1e-12)


def targets() -> list[np.ndarray | None]:
    contrast = np.array([1.0, -0.5, 0.0, 0.0, -0.5])
    laplacian = np.diag([2.0, 1.0, 1.0, 0.0, 0.0]) - np.outer(*[np.array([1.0, 0.5, 0.5, 0.0, 0.0])] * 2)
    return [None, contrast, laplacian]


@pytest.mark.parametrize("weight", targets(), ids=["identity", "contrast", "laplacian"])
@pytest.mark.parametrize("pair_variance", [0.0, 0.3])
def test_the_fall_of_the_target_is_that_of_the_whole_matrix_inverted(
    weight: np.ndarray | None, pair_variance: float
) -> None:
    """The pair's own effect is one more parameter, with its prior variance, which the judgment sees as well."""
    target = np.eye(5) if weight is None else np.outer(weight, weight) if weight.ndim == 1 else weight
    information = np.array([0.7, 1.3, 0.2])
    found = expected_fall(information, SIGMA, LOW, HIGH, weight=weight, pair_variance=pair_variance)
    for k in range(3):
        x = np.zeros(6)
        x[LOW[k]], x[HIGH[k]], x[5] = -1.0, 1.0, 1.0
        before = np.zeros((6, 6))
        before[:5, :5], before[5, 5] = SIGMA, max(pair_variance, 1e-12)
        after = np.linalg.inv(np.linalg.inv(before) + information[k] * np.outer(x, x))
        assert found[k] == pytest.approx(np.trace(target @ SIGMA) - np.trace(target @ after[:5, :5]), rel=1e-6)


def test_projections_of_all_pairs_are_those_of_each() -> None:
    projected, variance = projections(SIGMA, LOW, HIGH)
    for k in range(3):
        x = np.zeros(5)
        x[LOW[k]], x[HIGH[k]] = -1.0, 1.0
        assert projected[k] == pytest.approx(SIGMA @ x @ (SIGMA @ x))
        assert variance[k] == pytest.approx(x @ SIGMA @ x)
    assert expected_fall(0.7, SIGMA, LOW, HIGH) == pytest.approx(variance_fall(0.7, projected, variance))
