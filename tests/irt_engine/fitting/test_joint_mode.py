"""The joint mode: its neighbourhood is found from anywhere in few iterations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from irt_engine import Priors, ResponseTable, fit
from irt_engine.fitting.design import design
from irt_engine.fitting.everyday import Form, Model
from irt_engine.fitting.expectations import CellEvaluator
from irt_engine.fitting.joint_mode import MOST_STEPS, NEAR, find_joint_mode
from irt_engine.models.parameters import Point
from tests.environment import FULL
from tests.irt_engine.cast import random_votes, small_board

FEW = 30
SHAPES = pytest.mark.parametrize(
    ("model", "form"), [("pair", "net"), ("board", "net"), ("pair", "vote"), ("board", "vote")]
)


@contextmanager
def cells_of(table: ResponseTable, model: str, form: str) -> Iterator[CellEvaluator]:
    made = design(table, model, form, Priors(learn=False))
    with CellEvaluator(made.problem, made.effects) as cells:
        yield cells


def origin(cells: CellEvaluator) -> Point:
    return Point(np.zeros(cells.problem.shared_size), np.zeros((cells.problem.slots, cells.problem.width)))


def height(cells: CellEvaluator, point: Point) -> float:
    return cells.evaluate(point, cells.effects.start(), None).log_posterior


def crossed(outcomes: dict[str, int]) -> ResponseTable:
    """Twenty chatbots in a clear order on forty prompts, and prompts whose verdicts are all turned round (-1)."""
    rows = [(a, b, j) for a in range(20) for b in range(a + 1, 20) for j in range(40) if (a + b + j) % 7 == 0]
    names = [f"m{k:02d}" for k in range(20)]
    return ResponseTable.from_votes(
        [names[a] for a, _, _ in rows],
        [names[b] for _, b, _ in rows],
        [f"p{j:02d}" for _, _, j in rows],
        [outcomes.get(f"p{j:02d}", 1) for _, _, j in rows],
    )


@pytest.mark.parametrize(
    ("model", "form"),
    [
        ("pair", "vote"),
        ("board", "net"),
        pytest.param("pair", "net", marks=pytest.mark.full),
        pytest.param("board", "vote", marks=pytest.mark.full),
    ],
)
@pytest.mark.filterwarnings("ignore:the SDs of the effects could not be learned")  # verdicts without any doubt
def test_a_prompt_that_contradicts_all_others_does_not_hold_it_up(model: Model, form: Form) -> None:
    """Its expected information is far from its curvature: scoring creeps there, and the fit settles all the same."""
    table = crossed({"p03": -1, "p11": 0})
    with cells_of(table, model, form) as cells:
        assert find_joint_mode(cells, origin(cells))[1] <= MOST_STEPS
    if FULL or form == "vote":  # of this many net ratings a fit takes seconds
        assert fit(table, model, form=form).converged


@SHAPES
@pytest.mark.parametrize("seed", range(4))
def test_verdicts_at_random_on_two_prompts_take_few_steps(model: str, form: str, seed: int) -> None:
    with cells_of(random_votes(4, 2, 300, seed=seed), model, form) as cells:
        assert find_joint_mode(cells, origin(cells))[1] <= FEW


@SHAPES
@pytest.mark.parametrize("log_alpha", [-6.0, 2.0, 4.0])
def test_it_comes_back_from_where_the_likelihood_is_saturated(model: str, form: str, log_alpha: float) -> None:
    """There the expected information is nothing and the slope is steep: a step by it would be endless."""
    with cells_of(small_board(votes=3), model, form) as cells:
        home, _ = find_joint_mode(cells, origin(cells))
        start = origin(cells)
        own = cells.problem.shared_size - cells.problem.prompts.gaps
        start.z[:own] = np.linspace(-3.0, 3.0, own)
        start.phi[:, 0] = log_alpha
        back, _ = find_joint_mode(cells, start)
        assert height(cells, back) > height(cells, home) - NEAR


@SHAPES
def test_near_the_mode_little_is_left_to_gain(model: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with cells_of(small_board(), model, form) as cells:
        point, _ = find_joint_mode(cells, origin(cells))
        left = NEAR  # twice what a parabola would leave
        monkeypatch.setattr("irt_engine.fitting.joint_mode.NEAR", 1e-10)
        monkeypatch.setattr("irt_engine.fitting.joint_mode.MOST_STEPS", 1000)
        mode, steps = find_joint_mode(cells, point)
        gradient = cells.evaluate(mode, cells.effects.start(), None).gradient
        assert steps < 1000
        assert np.abs(gradient.z).max() < 1e-3
        assert height(cells, mode) - height(cells, point) < left
