"""find_mode: the joint mode is found from anywhere, in few iterations, on votes that defeat simpler steps."""

from __future__ import annotations

import numpy as np
import pytest

from irt_engine import ResponseTable
from irt_engine.arrow import Point, Problem, linearise, log_posterior, newton_step
from irt_engine.cells import cells_of, compare
from irt_engine.errors import DidNotConverge
from irt_engine.fit import _problem
from irt_engine.mode import find_mode
from irt_engine.priors import DEFAULT_PRIORS
from tests.irt_engine.cast import ladder, random_votes, small_board

FEW = 30
MODELS = pytest.mark.parametrize("model", ["pair", "board"])


def problem_of(table: ResponseTable, model: str) -> Problem:
    comparisons, index = compare(table)
    return _problem(table, model, comparisons, cells_of(table, index), DEFAULT_PRIORS)


def origin(problem: Problem) -> Point:
    return Point(np.zeros(problem.shaft), np.zeros((problem.slots, problem.prompts.size)))


def climbed(problem: Problem, start: Point | None = None) -> tuple[Point, int]:
    """The mode, after checking that it is one."""
    point, iterations = find_mode(problem, start or origin(problem))
    _, decrement = newton_step(problem, linearise(problem, point))
    assert abs(decrement) < 1e-9
    return point, iterations


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


@MODELS
def test_a_prompt_that_contradicts_all_others_takes_few_iterations(model: str) -> None:
    """Its expected information is far from its curvature: Fisher scoring creeps or swings there."""
    problem = problem_of(crossed({"p03": -1, "p11": 0}), model)
    assert climbed(problem)[1] <= FEW


@MODELS
@pytest.mark.parametrize("seed", range(8))
def test_verdicts_at_random_on_two_prompts_take_few_iterations(model: str, seed: int) -> None:
    assert climbed(problem_of(random_votes(4, 2, 300, seed=seed), model))[1] <= FEW


@MODELS
def test_categories_that_never_occur_take_few_iterations(model: str) -> None:
    """One vote a cell: four of the seven categories are empty and their gaps shrink to what the prior allows."""
    problem = problem_of(small_board(votes=1), model)
    assert set(problem.category) <= {0, 3, 6}
    point, iterations = climbed(problem)
    assert iterations <= FEW
    assert np.abs(point.z[problem.common]).max() < 10.0


@MODELS
@pytest.mark.parametrize("log_alpha", [-6.0, 2.0, 4.0])
def test_it_comes_back_from_where_the_likelihood_is_saturated(model: str, log_alpha: float) -> None:
    """There the expected information is nothing and the slope is steep: a step by it would be endless."""
    problem = problem_of(small_board(votes=3), model)
    home, _ = climbed(problem)
    start = origin(problem)
    start.z[: problem.shaft - problem.prompts.gaps] = np.linspace(-3.0, 3.0, problem.shaft - problem.prompts.gaps)
    start.phi[:, 0] = log_alpha
    back, iterations = climbed(problem, start)
    assert iterations <= 2 * FEW
    assert log_posterior(problem, back) == pytest.approx(log_posterior(problem, home), abs=1e-6)


@MODELS
def test_rounding_of_a_large_sum_does_not_stop_it(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a log posterior near 1e11 its own rounding is far above the last improvements, and may show a fall."""
    problem = problem_of(small_board(), model)
    home, _ = climbed(problem)
    monkeypatch.setattr("irt_engine.mode.log_posterior", lambda p, x: log_posterior(p, x) - 1e11)
    point, iterations = climbed(problem)
    assert iterations <= FEW
    assert np.allclose(point.z, home.z, atol=1e-5)


def test_a_mode_that_is_not_reached_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irt_engine.mode.MAX_ITERATIONS", 2)
    problem = problem_of(ladder(), "pair")
    with pytest.raises(DidNotConverge, match="no mode after 2 iterations"):
        find_mode(problem, origin(problem))
