"""average: the fit settles where verdicts are one-sided and cells few, and says so where it does not."""

from __future__ import annotations

import numpy as np
import pytest

from irt_engine import EngineWarning, ResponseTable, fit
from irt_engine.fit import Model
from tests.irt_engine.cast import ladder, random_votes, small_board

MODELS = pytest.mark.parametrize("model", ["pair", "board"])


@MODELS
def test_a_ladder_of_three_settles(model: Model) -> None:
    """Its gaps are so vague that mean and variance chase each other when both move all the way in a round."""
    found = fit(ladder(), model)
    assert found.converged
    assert found.iterations <= 60


@MODELS
def test_the_end_does_not_depend_on_the_first_share(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    brisk = fit(ladder(), model)
    monkeypatch.setattr("irt_engine.average._SHARE", 0.3)
    monkeypatch.setattr("irt_engine.average._SHARES", (0.3, 0.3))
    calm = fit(ladder(), model)
    assert calm.converged
    assert np.abs((brisk.theta - calm.theta) / calm.theta_se).max() < 2e-3
    assert np.abs(brisk.theta_se / calm.theta_se - 1.0).max() < 2e-3


@MODELS
@pytest.mark.parametrize("seed", range(6))
def test_votes_on_one_prompt_settle(model: Model, seed: int) -> None:
    """The scale of one prompt is nearly all prior; its joint mode lies far from the average."""
    assert fit(random_votes(6, 1, 200, seed=seed, spread=3.0), model).converged


@MODELS
@pytest.mark.parametrize(("chatbots", "prompts", "votes"), [(2, 1, 1), (2, 30, 30), (3, 3, 10), (6, 5, 100)])
def test_a_table_where_the_stronger_always_wins_settles(model: Model, chatbots: int, prompts: int, votes: int) -> None:
    assert fit(random_votes(chatbots, prompts, votes, seed=1, spread=1e6), model).converged


def test_an_average_that_does_not_settle_is_said_and_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    table: ResponseTable = small_board()
    monkeypatch.setattr("irt_engine.average._MAX_ROUNDS", 2)
    with pytest.warns(EngineWarning, match="did not settle"):
        found = fit(table)
    assert not found.converged
    monkeypatch.setattr("irt_engine.average.MAX_CELLS", 0)
    mode = fit(table)
    assert mode.converged
    assert np.array_equal(found.ability, mode.ability)
    assert np.array_equal(found.se, mode.se)
