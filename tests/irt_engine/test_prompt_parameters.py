"""SEs of thresholds: the delta method of their logarithms, and as wide as the thresholds are wrong."""

from __future__ import annotations

import numpy as np
import pytest

from irt_engine import Priors, ResponseTable, fit
from irt_engine.design import design
from irt_engine.fit import Form, Model
from irt_engine.prompt_parameters import _threshold_bends
from irt_engine.simulate import all_cells, comparison_cells, draw_truth, draw_votes
from tests.irt_engine.cast import small_board

SHAPES = pytest.mark.parametrize(
    ("model", "form"), [("pair", "net"), ("board", "net"), ("pair", "vote"), ("board", "vote")]
)


@SHAPES
def test_thresholds_bend_as_their_finite_differences(model: Model, form: Form) -> None:
    made = design(small_board(), model, form, Priors())
    prompts = made.problem.prompts
    phi = 0.5 * np.random.default_rng(0).standard_normal((4, prompts.size))
    bends = _threshold_bends(made, phi)
    assert bends.shape == (4, len(prompts.spread), prompts.size)
    for p in range(prompts.size):
        step = 1e-6 * np.eye(prompts.size)[p]
        rise = (prompts.thresholds(phi + step) - prompts.thresholds(phi - step)) / 2e-6
        assert np.allclose(bends[:, :, p], rise, atol=1e-8)


@pytest.mark.parametrize(("model", "form"), [("pair", "net"), ("board", "vote")])
def test_thresholds_are_as_far_off_as_their_standard_errors_say(model: Model, form: Form) -> None:
    truth = draw_truth(8, 60, seed=5, model=model, form=form)
    cells = comparison_cells(4, 60) if model == "pair" else all_cells(8, 60)
    found = fit(draw_votes(truth, cells, seed=6, form=form), model, form=form)
    off = (found.thresholds - truth.thresholds) / found.thresholds_se
    assert 0.7 < np.sqrt((off**2).mean()) < 1.3


@SHAPES
def test_a_prompt_of_a_single_cell_is_any_prompt(model: Model, form: Form) -> None:
    names = [f"p{j}" for j in range(12)]
    table = ResponseTable.from_votes(
        ["x", "y"] * 6 + ["x"], ["y", "x"] * 6 + ["y"], [*names, "p0"], [1, 0, -1] * 4 + [1], label=["l"] * 12 + ["m"]
    )
    found = fit(table, model, form=form)
    alone = found.thresholds_se[1:]
    assert np.allclose(alone, alone[0])
    assert (alone > 0.0).all()
    assert np.isfinite(found.thresholds_se).all()
