"""The joint mode of a problem: Newton steps on the observed information, halved where they go too far.

Near the mode the observed information is positive definite and the steps converge quadratically. Farther away it need
not be, and `linearise_exactly` bends it until it is, so that every step goes uphill and some part of it is always
accepted.
"""

from __future__ import annotations

from collections.abc import Callable

from .arrow import Point, Problem, System, linearise_exactly, linearise_safely, log_posterior, newton_step
from .errors import DidNotConverge

Progress = Callable[[int, int], None]

MAX_ITERATIONS = 200  # published votes need 6 to 21
_TOLERANCE = 1e-12  # squared Newton decrement: a millionth of a posterior SD
_ROUNDING = 1e-13  # of the log posterior: about what a sum over a million cells loses
_UNSEEN = 1e-9  # a decrement below this is a rise that the log posterior of a few cells may not show either
_SUFFICIENT = 1e-4  # share of the promised rise that a step must keep (Armijo)
_HALVINGS = 40


def find_mode(problem: Problem, start: Point, progress: Progress | None = None) -> tuple[Point, int]:
    """The mode to a millionth of a posterior SD, and the number of iterations. Raises DidNotConverge."""
    point, value = start, log_posterior(problem, start)
    for iteration in range(1, MAX_ITERATIONS + 1):
        system = linearise_exactly(problem, point)
        if newton_step(problem, system)[1] < _TOLERANCE:
            return point, iteration
        moved = _uphill(problem, point, system, value) or _uphill(
            problem, point, linearise_safely(problem, point), value
        )
        if moved is None:
            raise DidNotConverge(
                "the log posterior does not rise along the Newton direction",
                code="line_search",
                hint="use tighter priors; report the votes if it persists",
            )
        point, value = moved
        if progress is not None:
            progress(iteration, MAX_ITERATIONS)
    raise DidNotConverge(
        f"no mode after {MAX_ITERATIONS} iterations",
        code="no_convergence",
        hint="look for a prompt or chatbot with contradictory extreme votes, or use tighter priors",
    )


def _uphill(problem: Problem, point: Point, system: System, value: float) -> tuple[Point, float] | None:
    """Halve the step until the log posterior rises by a part of what the slope promises; None if it never does.

    A rise that rounding hides is taken on trust: the slope is exact where the sum is not.
    """
    step, decrement = newton_step(problem, system)
    slack = _ROUNDING * max(1.0, abs(value))
    length = 1.0
    for _ in range(_HALVINGS):
        trial = point.moved(step, length)
        reached = log_posterior(problem, trial)
        if decrement < max(_UNSEEN, slack) or reached >= value + _SUFFICIENT * length * decrement - slack:
            return trial, reached
        length /= 2.0
    return None
