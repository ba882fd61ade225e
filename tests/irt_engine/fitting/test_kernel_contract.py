"""Both kinds of kernels say the same: numpy ones, which are the reference, and compiled ones."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from irt_engine import Priors, ResponseTable, fit
from irt_engine.fitting.design import design
from irt_engine.fitting.expectations import CellEvaluator, Expectations
from irt_engine.fitting.joint_mode import find_joint_mode
from irt_engine.fitting.kernels import Kind, kernels_for, use_kernels
from irt_engine.fitting.variance_estimation import estimation_variances
from irt_engine.models.parameters import Point
from irt_engine.models.thresholds import MIRRORED_VOTE
from tests.irt_engine.cast import random_votes, small_board
from tests.irt_engine.fitting.test_kernels import asked, pooled

KINDS: tuple[Kind, Kind] = ("reference", "compiled")

TIERS = np.array([0, 0, 1, 1, 0])
CASES: dict[str, tuple[ResponseTable, tuple[Any, ...]]] = {
    "net ratings of a board": (small_board(votes=3), ("board", "net", Priors(), None)),
    "net ratings of pairs": (small_board(votes=3), ("pair", "net", Priors(), None)),
    "few votes of a board": (small_board(votes=2), ("board", "vote", Priors(), None)),
    "more votes of a board": (small_board(votes=5), ("board", "vote", Priors(), None)),
    "many votes of pairs": (small_board(votes=12), ("pair", "vote", Priors(), None)),
    "tiers": (small_board(), ("board", "vote", Priors(), TIERS)),
    "tiers of net ratings": (small_board(), ("board", "net", Priors(), TIERS)),
    "no reply effects": (small_board(), ("board", "vote", Priors(reply_sd=0.0), None)),
    "prompts met once": (random_votes(5, 300, 400, seed=1, spread=1.0), ("board", "vote", Priors(), None)),
}


def numbers_of(kind: Kind, case: str) -> list[np.ndarray]:
    """Return all that kernels say near the mode of a case."""
    table, arguments = CASES[case]
    with use_kernels(kind):
        made = design(table, *arguments)
    found: list[np.ndarray] = []
    with CellEvaluator(made.problem, made.effects) as cells:
        near, _ = find_joint_mode(cells, made.origin)
        log_sd = made.effects.start()
        prior = made.effects.precision(log_sd)
        factors = cells.factor(cells.information(near, log_sd), prior)
        covariance = factors.covariance()
        told = cells.evaluate(near, log_sd, None)
        for q in (None, (factors, covariance)):
            for observed in (False, True):
                told = cells.evaluate(near, log_sd, q, observed=observed)
                found += arrays_of(told)
        step = factors.step(told.gradient)
        variances = estimation_variances(
            cells, factors.information, prior, Point(np.diag(covariance), told.phi_variance)
        )
    return [*found, factors.schur, covariance, step.z, step.phi, variances.phi]


def arrays_of(told: Expectations) -> list[np.ndarray]:
    """Return the arrays of one answer."""
    seen = told.information
    numbers = np.append(told.sums.ravel(), told.log_posterior)
    return [told.gradient.z, told.gradient.phi, seen.i_theta, seen.cross, seen.i_phi, told.phi_variance, numbers]


@pytest.mark.parametrize("gain", [0, 1000], ids=["slot by slot", "all slots together"])
@pytest.mark.parametrize("case", CASES)
def test_both_kinds_of_kernels_agree(case: str, gain: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irt_engine.fitting.problem._DENSE_GAIN", gain)
    reference, compiled = (numbers_of(kind, case) for kind in KINDS)
    assert all(np.allclose(one, other, rtol=1e-9, atol=1e-9) for one, other in zip(reference, compiled, strict=True))


@pytest.mark.parametrize("observed", [False, True])
@pytest.mark.parametrize("theta", [-20.0, 0.0, 2.4, 20.0])
@pytest.mark.parametrize("log_discrimination", [0.0, 3.0, 5.0])
def test_both_kinds_of_kernels_agree_far_out(log_discrimination: float, theta: float, observed: bool) -> None:
    every = itertools.product((0.0, 0.4, 1.0, 2.0, 3.05, 9.0), repeat=3)
    counts = np.array([of_cell for of_cell in every if sum(of_cell) > 0.0])
    at = np.zeros((len(counts), 1 + MIRRORED_VOTE.size))
    at[:, 0], at[:, 1] = theta, log_discrimination
    both = []
    for kind in KINDS:
        with use_kernels(kind):
            both.append(asked(MIRRORED_VOTE, counts, at, sd=1.5, observed=observed))
    assert np.isfinite(both[0].log_posterior)
    for one, other in zip(*(arrays_of(told) for told in both), strict=True):
        assert np.allclose(one, other, rtol=1e-6, atol=1e-9)


def test_few_votes_of_a_prompt_met_once_may_count_as_more() -> None:
    """Three votes of annotators who often say tie can count as more than three."""
    more = np.array([[0.0, 0.0, votes] for votes in (2.9, 3.0, 3.05, 3.9, 4.0, 5.5, 8.0, 9.0)])
    theta = np.full(len(more), 1.2)
    both = []
    for kind in KINDS:
        with use_kernels(kind):
            both.append(pooled(more, theta).information.i_theta)
    assert np.allclose(both[0], both[1], rtol=1e-9)
    assert (np.diff(both[0])[:-1] > 0.0).all(), "more votes tell more"
    assert both[0][-1] == both[0][-2], "but not without end"


def test_fit_does_not_depend_on_kernels() -> None:
    fits = []
    for kind in KINDS:
        with use_kernels(kind):
            fits.append(fit(small_board(), form="vote"))
    assert np.allclose(fits[0].covariance, fits[1].covariance, rtol=0, atol=1e-9)


def test_many_cells_use_compiled_kernels() -> None:
    with use_kernels("ready"):
        assert kernels_for(10**6).__name__ == "irt_engine.fitting.compiled"  # type: ignore[attr-defined]
