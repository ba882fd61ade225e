"""Variational Gaussian approximation of the posterior.

The Gaussian q solves

    E_q[d log p / dx] = 0,   precision = E_q[expected information] + prior precision,

together with the scales of its effects (`models.effects`). It is the fixed point of Gaussian variational inference with
the Gauss-Newton form of the curvature (Opper and Archambeau 2009, Neural Computation 21, 786-792).

A joint mode would be overconfident, because hundreds of prompt parameters are fitted to the abilities. Expectations are
taken cell by cell over the marginal of (phi_j, theta), with a fixed set of sigma points, so that the result is
deterministic. Slots with many cells are averaged, too. Each of them has a small uncertainty, but their errors add up in
the common scale of the abilities: at the means, 20 prompts of 990 cells gave errors of two to three times the SEs.

The information under q is unknown before q. An iteration therefore takes the information at the mean, and adds the
*excess*: the difference between the information under the last q and at its mean, which changes little. With the
information under the last q instead, information and means oscillate, and a fit takes a third more iterations. Anderson
acceleration mixes the iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from irt_engine.arrays import FloatArray
from irt_engine.errors import DidNotConverge
from irt_engine.fitting.expectations import CellEvaluator
from irt_engine.fitting.iterations import (
    CAREFUL,
    NEARBY,
    PATIENT,
    QUICK,
    TIERED,
    TOGETHER,
    TOLERANCE,
    IterationPlan,
    _Iterations,
    _most,
    _round,
    _straight,
)
from irt_engine.fitting.problem import FitProblem
from irt_engine.fitting.progress import Progress
from irt_engine.fitting.state import FitState, Solution
from irt_engine.models.parameters import Information, Point

MAX_SWEEPS = 12  # of the scales, one after the other
_SHORTER = 4  # times that a stride along a scale is halved
MOST_ROUNDS = 2000  # under all of them: a board that needs more is fitted with its scales as given, minutes earlier
_STRIDE = 0.1  # of a log SD, the first on the way to where its score changes its sign
_WIDE = 0.3  # SD of replies' effects: narrower, they and the cells' change places while means hardly move


def solve(cells: CellEvaluator, first: FitState, steps: int = 0, progress: Progress | None = None) -> Solution:
    """Return the fixed point from a state near the joint mode.

    The scales are estimated on the way. If they do not converge together with the means, each scale moves separately to
    the end of the means.

    Parameters
    ----------
    cells : CellEvaluator
        The cells.
    first : FitState
        The state.
    steps : int
        Iterations before this one.
    progress : callable, optional
        Called after every iteration.

    Returns
    -------
    Solution
        The fixed point.

    Raises
    ------
    DidNotConverge
        If there is no fixed point.
    """
    try:
        found = settle(cells, first, cells.effects.learned, steps, progress)
    except DidNotConverge:
        if not cells.effects.learned:
            raise
        found = _settle_apart(cells, first, steps, progress)
    return _at_the_mean(cells, found)


def state_at(cells: CellEvaluator, point: Point) -> FitState:
    """Return the state at a point, with the scales at which they start.

    Parameters
    ----------
    cells : CellEvaluator
        The cells.
    point : Point
        The point.

    Returns
    -------
    FitState
        The state, without excess information.
    """
    return FitState(point, cells.effects.start(), no_excess(cells.problem))


def no_excess(problem: FitProblem) -> Information:
    """Return excess information 0.

    Parameters
    ----------
    problem : FitProblem
        The problem.

    Returns
    -------
    Information
        Zeros.
    """
    n, J, P = len(problem.weight), problem.slots, problem.prompts.size
    return Information(np.zeros(n), np.zeros((n, P)), np.zeros((J, P, P)))


def solve_from(cells: CellEvaluator, state: FitState, progress: Progress | None = None) -> Solution | None:
    """Return the fixed point from the end of an earlier fit.

    Parameters
    ----------
    cells : CellEvaluator
        The cells.
    state : FitState
        The end of the earlier fit.
    progress : callable, optional
        Called after every iteration.

    Returns
    -------
    Solution or None
        None if the iterations do not converge.
    """
    way = NEARBY if cells.effects.reply_sd(state.log_sd) > _WIDE else None
    try:
        return _at_the_mean(cells, settle(cells, state, cells.effects.learned, 0, progress, way))
    except (DidNotConverge, np.linalg.LinAlgError):
        return None


def _at_the_mean(cells: CellEvaluator, found: Solution) -> Solution:
    """The same means and scales, with the covariance that the information at the mean gives.

    Averaged over q, the information is too large (it grows faster than linearly with a discrimination) and leaves out
    how the skewness of the votes widens the posterior. At the mean both are absent, and nearly cancel: against 8,000
    draws by NUTS, SEs under q are 4 % too small, at the mean within 0.5 % on the whole.
    """
    factors = cells.factor(found.at_mean, cells.effects.precision(found.state.log_sd))
    return replace(found, factors=factors, covariance=factors.covariance())


def _settle_apart(cells: CellEvaluator, state: FitState, steps: int, progress: Progress | None) -> Solution:
    """Each scale in turn to where its score vanishes, and then together from there.

    Few votes that all lean one way may leave a scale nearly open: its score comes close to zero, turns, and vanishes
    only far beyond. Mixed rounds get caught there, and a search between two signs does not.
    """
    apart = _ScalesApart(cells, steps, progress)
    for _ in range(MAX_SWEEPS):
        before = state.log_sd
        for index in cells.effects.learnable:
            state = apart.along(state, index)
        try:
            return apart.settled(state, learn=True)
        except DidNotConverge:
            if _most(state.log_sd - before) < TOLERANCE * 10.0:
                found = apart.settled(state)
                if _most(apart.moves(found)) < TOLERANCE * 100.0:  # and not a place where a score jumps
                    return replace(found, learned=True)
    raise _no_average(f"the scales did not settle in {MAX_SWEEPS} sweeps")


class _ScalesApart:
    """Scales that move by themselves, each time to the end of the means."""

    def __init__(self, cells: CellEvaluator, rounds: int, progress: Progress | None) -> None:
        self.cells, self.rounds, self.progress = cells, rounds, progress

    def settled(self, state: FitState, *, learn: bool = False) -> Solution:
        """The end of the means, and of the scales with them or not. Raises DidNotConverge."""
        if self.rounds > MOST_ROUNDS:
            raise _no_average(f"the scales did not settle in {MOST_ROUNDS} rounds")
        found = _settled(self.cells, state, learn, self.rounds, self.progress)
        self.rounds = found.rounds
        if isinstance(found, Unsettled):
            raise _no_average(f"the average did not settle at these scales (error {found.error:.1e} SD)")
        return found

    def moves(self, found: Solution) -> FloatArray:
        """How far each log SD would go from there."""
        after = _round(self.cells, found.state, _straight, CAREFUL, learn=True).after
        return after.log_sd - found.state.log_sd

    def along(self, state: FitState, index: int) -> FitState:
        """The state where one scale's score vanishes, or where the scale is at its limit, in the direction in which it
        leads. Raises DidNotConverge."""
        ends: dict[float, tuple[float, FitState]] = {}

        def move(log_sd: float) -> float:
            nonlocal state
            if log_sd not in ends:  # an end that is asked for again must not change its sign by a rounding error
                there = state.log_sd.copy()
                there[index] = log_sd
                found = self.settled(replace(state, log_sd=there))
                ends[log_sd] = float(self.moves(found)[index]), found.state
            far, state = ends[log_sd]
            return far

        at = float(state.log_sd[index])
        here = move(at)
        reach = float(np.sign(here)) * max(_STRIDE, abs(here))
        shorter = 0
        while abs(here) > TOLERANCE:
            ahead = float(np.clip(at + reach, *self.cells.effects.limits(index)))
            try:
                there = move(ahead)
            except DidNotConverge:  # the means may have no end so far away, and the score vanish before
                shorter += 1
                if shorter > _SHORTER:
                    raise
                reach = 0.5 * (ahead - at)
                continue
            if here * there <= 0.0:
                move(_root(move, at, ahead))
                break
            at, here, reach = ahead, there, 2.0 * reach
        return state


def _root(move: Callable[[float], float], low: float, high: float) -> float:
    """Where a scale no longer moves, between two that move toward each other. Raises DidNotConverge."""
    from scipy.optimize import brentq  # late: few fits need it

    try:
        return float(brentq(move, low, high, xtol=TOLERANCE))
    except (ValueError, RuntimeError) as error:
        raise _no_average(f"no scale was found at which its score vanishes ({error})") from error


def settle(
    cells: CellEvaluator,
    state: FitState,
    learn: bool,
    steps: int,
    progress: Progress | None,
    way: IterationPlan | None = None,
) -> Solution:
    """Return the fixed point from one state.

    Parameters
    ----------
    cells : CellEvaluator
        The cells.
    state : FitState
        The state.
    learn : bool
        Whether the scales move too.
    steps : int
        Iterations before this one.
    progress : callable or None
        Called after every iteration.
    way : IterationPlan, optional
        The first plan to try.

    Returns
    -------
    Solution
        The fixed point.

    Raises
    ------
    DidNotConverge
        If no plan leads to a fixed point.
    """
    found = _settled(cells, state, learn, steps, progress, way)
    if isinstance(found, Unsettled):
        raise _no_average(f"the average did not settle in {found.rounds} rounds (error {found.error:.1e} SD)")
    return found


def settle_roughly(cells: CellEvaluator, state: FitState, tolerance: float) -> FitState:
    """Return a state near the fixed point, or the given one if no plan leads there.

    Parameters
    ----------
    cells : CellEvaluator
        The cells.
    state : FitState
        Where to start.
    tolerance : float
        Size of the last step, in posterior SDs.

    Returns
    -------
    FitState
        The state before the last step.
    """
    way = replace(_first_plan(cells.problem), tolerance=tolerance)
    found = _go(cells, state, cells.effects.learned, 0, None, way)
    return found.state if isinstance(found, Solution) else state


@dataclass(frozen=True, slots=True)
class Unsettled:
    """Report iterations without a fixed point.

    Parameters
    ----------
    rounds : int
        Number of iterations.
    error : float
        Size of the last step, in posterior SDs.
    """

    rounds: int
    error: float


def _first_plan(problem: FitProblem) -> IterationPlan:
    """Return the plan that is tried first."""
    if problem.replies:
        return TOGETHER
    return TIERED if problem.parts else QUICK


def _settled(
    cells: CellEvaluator,
    state: FitState,
    learn: bool,
    steps: int,
    progress: Progress | None,
    way: IterationPlan | None = None,
) -> Solution | Unsettled:
    """One way after the other, each from the same state."""
    ways = [way or _first_plan(cells.problem), *([PATIENT] if cells.problem.replies else [])]
    found: Solution | Unsettled = Unsettled(steps, np.inf)
    for next_way in [*ways, CAREFUL]:
        found = _go(cells, state, learn, steps, progress, next_way)
        if isinstance(found, Solution):
            break
        steps = found.rounds
    return found


def _go(
    cells: CellEvaluator, state: FitState, learn: bool, steps: int, progress: Progress | None, way: IterationPlan
) -> Solution | Unsettled:
    """One way, for its rounds, and for up to `_LONGEST` times as many while the error is halved every so often."""
    rounds = _Iterations(cells, learn, way)
    error = least = np.inf
    count = halved = 0  # when it last was
    while way.goes_on(count, halved):
        count += 1
        try:
            taken = rounds.take(state)
        except np.linalg.LinAlgError:
            safe = rounds.back()
            if safe is None:
                break
            state = safe
            continue
        error = taken.error
        if not np.isfinite(error):
            break
        if error < way.tolerance:
            return Solution(state, taken.at_mean, taken.factors, taken.covariance, steps + count, learned=learn)
        if error < 0.5 * least:
            least, halved = error, count
        if progress is not None:
            progress(10 + round(90.0 * max(0.0, np.log(error) / np.log(TOLERANCE))), 100)
        state = rounds.mix(state, taken)
    return Unsettled(steps + count, error)


def _no_average(what: str) -> DidNotConverge:
    return DidNotConverge(what, code="no_average", hint="use tighter priors; report the votes if it persists")
