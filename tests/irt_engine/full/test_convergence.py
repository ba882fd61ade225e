"""r_hat and effective_sizes: what they say of chains whose behaviour is known, and beside ArviZ."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
import pytest

from irt_engine import InvalidResponses
from irt_engine.full.convergence import Diagnostics, effective_sizes, r_hat


def wanderers(chains: int, draws: int, memory: list[float], *, seed: int = 0) -> np.ndarray:
    """(chains, draws, K) autoregressive chains of variance 1; `memory` is the correlation of neighbours."""
    noise = np.random.default_rng(seed).standard_normal((chains, draws, len(memory)))
    rho = np.array(memory)
    for t in range(1, draws):
        noise[:, t] = rho * noise[:, t - 1] + np.sqrt(1.0 - rho**2) * noise[:, t]
    return noise


def test_independent_draws_count_in_full() -> None:
    draws = wanderers(4, 2000, [0.0] * 5)
    bulk, tail = effective_sizes(draws)
    assert np.allclose(bulk, 8000, rtol=0.12)
    assert np.allclose(tail, 8000, rtol=0.12)
    assert (r_hat(draws) < 1.005).all()


@pytest.mark.parametrize("rho", [0.5, 0.9])
def test_an_autoregressive_chain_counts_by_its_known_correlation_time(rho: float) -> None:
    bulk, _ = effective_sizes(wanderers(4, 5_000, [rho] * 20))
    assert bulk.mean() == pytest.approx(20_000 * (1 - rho) / (1 + rho), rel=0.1)


def test_chains_in_different_places_are_seen() -> None:
    draws = wanderers(4, 500, [0.0, 0.0])
    draws[0, :, 1] += 2.0
    values = r_hat(draws)
    assert values[0] < 1.01
    assert values[1] > 1.1


def test_chains_with_different_widths_are_seen() -> None:
    draws = wanderers(4, 500, [0.0])
    draws[0] *= 4.0
    assert r_hat(draws)[0] > 1.05


def test_one_chain_that_drifts_disagrees_with_itself() -> None:
    draws = wanderers(1, 1000, [0.0])
    draws[0, :, 0] += np.linspace(0.0, 4.0, 1000)
    assert r_hat(draws)[0] > 1.3


def test_heavy_tails_do_no_harm() -> None:
    draws = np.random.default_rng(1).standard_cauchy((4, 1000, 1))
    assert r_hat(draws)[0] < 1.01
    assert effective_sizes(draws)[0][0] > 3000


def test_a_quantity_that_does_not_move_has_not_converged() -> None:
    draws = wanderers(2, 200, [0.0, 0.0])
    draws[:, :, 1] = 3.0
    assert r_hat(draws)[1] == np.inf
    assert [size[1] for size in effective_sizes(draws)] == [0.0, 0.0]


def test_many_quantities_are_looked_at_one_by_one() -> None:
    draws = wanderers(2, 200, [0.3] * 150)
    together, alone = effective_sizes(draws), effective_sizes(draws[:, :, [140]])
    assert together[0][140] == pytest.approx(alone[0][0])
    assert together[1][140] == pytest.approx(alone[1][0])


@pytest.mark.parametrize("bad", [np.zeros((2, 3, 1)), np.full((2, 10, 1), np.nan)])
def test_too_few_or_broken_draws_are_refused(bad: np.ndarray) -> None:
    with pytest.raises(InvalidResponses) as caught:
        r_hat(bad)
    assert caught.value.code == "bad_draws"


@pytest.mark.full
def test_they_agree_with_arviz() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arviz: Any = importlib.import_module("arviz")
    draws = wanderers(4, 500, [0.0, 0.6, 0.95], seed=5)
    draws[1, :, 1] += 0.3
    bulk, tail = effective_sizes(draws)
    assert bulk.shape == tail.shape == (3,)
    for k, found in enumerate(zip(r_hat(draws), bulk, tail, strict=True)):
        one = draws[:, :, k]
        theirs = [arviz.rhat(one), arviz.ess(one, method="bulk"), arviz.ess(one, method="tail", prob=(0.05, 0.95))]
        assert found == pytest.approx([float(value) for value in theirs], rel=0.01)


def run(**changes: float) -> Diagnostics:
    values = {"r_hat": 1.002, "ess_bulk": 900, "ess_tail": 800, "divergences": 0, "draws": 1000, "tune": 1000}
    return Diagnostics(**{**values, **changes}, chains=2, sampler="test")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "flaw", [{"r_hat": 1.011}, {"r_hat": np.inf}, {"ess_bulk": 399}, {"ess_tail": 399}, {"divergences": 1}]
)
def test_one_flaw_is_enough_not_to_have_converged(flaw: dict[str, float]) -> None:
    assert run().converged
    assert not run(**flaw).converged
