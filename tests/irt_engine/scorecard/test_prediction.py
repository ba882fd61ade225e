"""Errors of predicted ratings, their ceiling, and intervals."""

import numpy as np
import pytest

from irt_engine.errors import InvalidResponses, NotIdentified
from irt_engine.scorecard import prediction_error, rating_ceiling, residual_limits


def test_error_of_calibrated_predictions_follows_from_r_and_sd() -> None:
    rng = np.random.default_rng(1)
    known, noise = rng.normal(3, 0.8, 400), rng.normal(0, 1.1, 400)
    line = np.polyfit(known, known + noise, 1)
    found = prediction_error(known + noise, np.polyval(line, known))
    assert found.slope == pytest.approx(1)
    assert found.intercept == pytest.approx(0, abs=1e-9)
    assert found.rmse == pytest.approx(found.rmse_if_calibrated)


@pytest.mark.parametrize(("rmse", "pearson"), [(1.340, 0.351), (1.392, 0.235)])
def test_published_errors_of_two_models_agree_on_the_deviation(rmse: float, pearson: float) -> None:
    assert rmse / np.sqrt(1 - pearson**2) == pytest.approx(1.4315, abs=0.0015)


def test_uncalibrated_predictions_have_a_greater_error() -> None:
    observed = [1.0, 2, 3, 4, 5, 3]
    found = prediction_error(observed, [value + 2 for value in observed])
    assert found.rmse == pytest.approx(2)
    assert found.rmse_if_calibrated == pytest.approx(0, abs=1e-6)


def test_constant_predictions_have_no_correlation() -> None:
    found = prediction_error([1, 2, 3], [2, 2, 2])
    assert (found.pearson, found.spearman, found.slope) == (None, None, None)
    assert found.rmse == pytest.approx(found.sd)


def test_values_without_predictions_are_refused() -> None:
    with pytest.raises(InvalidResponses):
        prediction_error([1, 2, 3], [1, 2])


def test_ceiling_is_that_of_a_predictor_who_knows_the_truth() -> None:
    rng = np.random.default_rng(2)
    truth = rng.normal(0, 0.5, 3000)
    ratings = [value + rng.normal(0, 1, rng.integers(1, 5)) for value in truth]
    found = rating_ceiling(ratings, replicates=50)
    reached = prediction_error([one.mean() for one in ratings], truth).pearson
    assert found.pearson == pytest.approx(reached, abs=0.05)
    assert found.icc == pytest.approx(0.2, abs=0.04)
    assert found.lower <= found.pearson <= found.upper


@pytest.mark.parametrize("ratings", [[[1], [2], [3]], [[1, 2]], [[3, 3], [3, 3]]], ids=["single", "one", "equal"])
def test_ceiling_needs_raters_who_can_disagree(ratings: list[list[float]]) -> None:
    with pytest.raises(NotIdentified):
        rating_ceiling(ratings, replicates=10)


def test_limits_hold_their_share_of_new_residuals() -> None:
    rng = np.random.default_rng(3)
    held = []
    for _ in range(300):
        lower, upper = residual_limits(rng.exponential(size=99))
        new = rng.exponential(size=20)
        held.append(((lower <= new) & (new <= upper)).mean())
    assert np.mean(held) == pytest.approx(0.96, abs=0.01)  # 2 of 99 + 1 on each side


def test_limits_need_a_residual() -> None:
    with pytest.raises(InvalidResponses):
        residual_limits([])
