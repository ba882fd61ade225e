"""SEs of thresholds: the delta method of their logarithms, and as wide as the thresholds are wrong."""

from __future__ import annotations

import numpy as np
import pytest

from irt_engine import Priors, ResponseTable, fit
from irt_engine.fitting.design import design
from irt_engine.fitting.everyday import Form, Model
from irt_engine.fitting.expectations import CellEvaluator
from irt_engine.fitting.joint_mode import find_joint_mode
from irt_engine.fitting.prompt_estimates import prompt_parameters
from irt_engine.fitting.variational import solve, state_at
from irt_engine.simulate import all_cells, comparison_cells, draw_votes
from irt_engine.truth import draw_truth
from tests.irt_engine.cast import small_board

SHAPES = pytest.mark.parametrize(
    ("model", "form"), [("pair", "net"), ("board", "net"), ("pair", "vote"), ("board", "vote")]
)


@SHAPES
def test_threshold_errors_follow_from_finite_differences(model: Model, form: Form) -> None:
    made = design(small_board(), model, form, Priors())
    prompts = made.problem.prompts
    with CellEvaluator(made.problem, made.effects) as cells:
        found = solve(cells, state_at(cells, find_joint_mode(cells, made.origin)[0]))
    phi, every = made.problem.total_phi(found.state.point), slice(0, made.problem.slots)
    steps = 1e-6 * np.eye(prompts.size)
    bends = np.stack([prompts.thresholds(phi + step) - prompts.thresholds(phi - step) for step in steps], axis=2) / 2e-6
    own = found.factors.slot_covariances(found.covariance, every)[1][:, : prompts.size, : prompts.size]
    variance = np.einsum("jep,jpq,jeq->je", bends, own, bends)
    told = prompt_parameters(made, found, fit(small_board(), model, form=form).scales)
    assert made.cells.shared < 0
    assert told.thresholds == pytest.approx(prompts.thresholds(phi))
    assert told.thresholds_se == pytest.approx(np.sqrt(variance), rel=1e-6)


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
