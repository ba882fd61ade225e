"""Expected information of a pair and a prompt."""

from __future__ import annotations

import numpy as np

from irt_engine.information import InformationTable, expected_information, variance_fall
from irt_engine.simulate import draw_truth

TRUTH = draw_truth(2, 30, seed=1)


def test_without_uncertainty_it_is_the_information_at_the_mean() -> None:
    mean = np.array([0.0, 1.5])
    at_mean = expected_information(mean, np.zeros(2), TRUTH.discrimination, TRUTH.thresholds)
    wide = expected_information(mean, np.full(2, 3.0), TRUTH.discrimination, TRUTH.thresholds)
    assert at_mean.shape == (2, 30)
    assert (wide[0] < at_mean[0]).mean() > 0.9  # most prompts say most about even pairs


def test_the_table_agrees_with_the_quadrature() -> None:
    table = InformationTable.of(TRUTH.discrimination, TRUTH.thresholds)
    exact = expected_information(np.array([0.8]), np.array([0.6]), TRUTH.discrimination, TRUTH.thresholds)[0]
    assert np.allclose(table.of_pair(0.8, 0.6), exact, rtol=0.02)
    assert np.allclose(table.typical(np.array([0.8]), np.array([0.6])), exact.mean(), rtol=0.02)


def test_the_fall_of_the_variance_is_that_of_the_rank_one_update() -> None:
    root = np.random.default_rng(0).standard_normal((4, 4))
    sigma = root @ root.T
    x = np.array([-1.0, 0.0, 1.0, 0.0])
    after = np.linalg.inv(np.linalg.inv(sigma) + 0.7 * np.outer(x, x))
    projected, variance = sigma @ x @ (sigma @ x), x @ sigma @ x
    fall = variance_fall(0.7, np.asarray(projected), np.asarray(variance))
    assert np.isclose(fall, np.trace(sigma) - np.trace(after))
