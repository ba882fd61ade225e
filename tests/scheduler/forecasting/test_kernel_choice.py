"""Choice of a forecast's kernels, and equality of both kinds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irt_engine.arrays import FloatArray
from irt_engine.fitting.kernels import Kind, use_kernels
from scheduler.forecasting import kernel_choice, kernels, reference_kernels
from scheduler.forecasting.forecast import Forecast, ForecastTerms, forecast, unjudged_state
from scheduler.forecasting.goals import AllAbilities
from scheduler.forecasting.inputs import CLASSES

ROOT = Path(__file__).resolve().parents[3]
POINTS = 145
BOTH = (kernels, reference_kernels)


class Campaigns:
    """Random campaigns: the arguments of the kernels."""

    def __init__(self, seed: int, draws: int, chatbots: int) -> None:
        rng = np.random.default_rng(seed)
        self.ends = np.stack(np.triu_indices(chatbots, 1)).astype(np.int64)
        shape = (draws, self.ends.shape[1], CLASSES)
        self.chatbots, self.size = chatbots, float(rng.integers(1, 20))
        self.place = rng.uniform(0.0, POINTS - 1.001, shape[:2])
        self.tables = rng.uniform(0.1, 1.0, (POINTS, kernels.ENTRIES, CLASSES))
        self.room = rng.uniform(0.0, 3.0, shape) * self.size
        self.votes = rng.choice([0.0, 0.5, 1.0], shape) * self.room
        self.wanted = rng.uniform(0.0, 1.0, shape[:2]) * (self.room - self.votes).sum(axis=-1)
        self.theta = rng.choice([0.2, 0.5, 0.9], shape)  # with equal values, whose order is to be the same
        self.roots = rng.uniform(0.1, 1.0, (3, draws, CLASSES))
        self.noise, self.pair_variance = rng.uniform(0.5, 2.0, shape[:2]), rng.uniform(0.0, 1.0, (draws, 1))
        self.picked, self.alone = rng.uniform(0.0, 1.0, 2)

    def board(self, module: Any) -> list[FloatArray]:
        """Return what `add_board_information` writes."""
        draws, size = len(self.votes), self.chatbots + 1
        precision, common = np.zeros((draws, size, size)), np.zeros((draws, 2, size, CLASSES))
        module.add_board_information(
            self.votes, self.place, self.tables, self.ends, self.roots, self.size, self.alone, self.noise,
            self.pair_variance, precision, common,
        )  # fmt: skip
        return [precision, common]

    def mixed(self, module: Any) -> FloatArray:
        """Return votes of which a quarter stays in its class."""
        votes = self.votes.copy()
        module.mix_classes(votes, 0.25)
        return votes

    def results(self, module: Any) -> list[FloatArray]:
        """Return the results of all kernels of a module."""
        steps = np.linspace(-1.5, 1.5, CLASSES)
        return [
            *module.information_at(self.votes, self.place, np.ascontiguousarray(self.tables[:, 0]), steps),
            module.chatbot_sums(self.wanted, self.ends, self.chatbots),
            module.spread_over_classes(self.wanted, self.picked, self.theta, self.votes, self.room, self.size),
            self.mixed(module),
            module.votes_on_grid(self.votes, self.place, POINTS),
            *self.board(module),
        ]


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32), draws=st.integers(1, 4), chatbots=st.integers(2, 7))
def test_both_kinds_of_kernels_agree(seed: int, draws: int, chatbots: int) -> None:
    campaigns = Campaigns(seed, draws, chatbots)
    compiled, reference = (campaigns.results(module) for module in BOTH)
    assert all(np.allclose(one, other, rtol=1e-9, atol=1e-9) for one, other in zip(compiled, reference, strict=True))


def forecast_with(kind: Kind) -> Forecast:
    with use_kernels(kind):
        return forecast(unjudged_state(4, 40), ForecastTerms(AllAbilities(0.4)))


def test_forecast_does_not_depend_on_kernels() -> None:
    compiled, reference = forecast_with("compiled"), forecast_with("reference")
    assert compiled.judgments == reference.judgments
    assert compiled.reached == pytest.approx(reference.reached)


def test_numpy_is_used_until_all_kernels_are_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    ready = [False, True]
    monkeypatch.setattr(kernel_choice, "all_compiled", lambda module: ready.pop(0))
    monkeypatch.setattr(kernel_choice, "_found_ready", [])
    assert [kernel_choice.forecast_kernels() for _ in range(3)] == [reference_kernels, kernels, kernels]


def test_forecast_compiles_nothing_on_a_new_machine(tmp_path: Path) -> None:
    program = (
        "from scheduler.forecasting.forecast import ForecastTerms, forecast, unjudged_state\n"
        "from scheduler.forecasting.goals import AllAbilities\n"
        "forecast(unjudged_state(3, 10), ForecastTerms(AllAbilities(0.5)))"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, check=True)
    assert list(tmp_path.rglob("*.nbi")) == []
