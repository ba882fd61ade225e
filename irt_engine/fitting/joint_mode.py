"""Joint mode of all parameters, near which a fit starts: Fisher scoring with halved steps.

The expected information is positive definite everywhere, so that every step goes uphill. The scales keep their given
values, because they cannot be estimated at a joint mode.
"""

from __future__ import annotations

from irt_engine.arrays import FloatArray
from irt_engine.fitting.expectations import CellEvaluator, Expectations
from irt_engine.fitting.progress import Progress
from irt_engine.models.parameters import Point

MOST_STEPS = 40  # published votes need 4 to 18
NEAR = 10.0  # squared decrement from which the average finds its way; nearer, this way is walked for nothing
_ROUNDING = 1e-13  # of the log posterior: about what a sum over a million cells loses
_SUFFICIENT = 1e-4  # share of the promised rise that a step must keep (Armijo)
_HALVINGS = 40


def find_joint_mode(
    cells: CellEvaluator, start: Point, *, log_sd: FloatArray | None = None, progress: Progress | None = None
) -> tuple[Point, int]:
    """Return a point near the joint mode.

    Contradictory votes can make the last steps very small; the variational iterations continue from there.

    Parameters
    ----------
    cells : CellEvaluator
        The cells.
    start : Point
        Where to start.
    log_sd : ndarray of float, shape (L,), optional
        Log SDs of the effects; by default the given ones, with almost no reply effects.
    progress : callable, optional
        Called after every step.

    Returns
    -------
    tuple of (Point, int)
        The point after at most `MOST_STEPS` steps, and the number of steps.
    """
    if log_sd is None:
        log_sd = cells.effects.start_without_replies()
    point, expectations = start, cells.evaluate(start, log_sd, None)
    for steps in range(MOST_STEPS):
        step = cells.factor(expectations.information, cells.effects.precision(log_sd)).step(expectations.gradient)
        if _decrement(expectations, step) < NEAR:
            return point, steps
        moved = _uphill(cells, point, expectations, step, log_sd)
        if moved is None:
            return point, steps
        point, expectations = moved
        if progress is not None:
            progress(steps + 1, 10 * MOST_STEPS)
    return point, MOST_STEPS


def _decrement(expectations: Expectations, step: Point) -> float:
    """Squared decrement: how far the mode is, in posterior SDs squared."""
    return float(expectations.gradient.z @ step.z + (expectations.gradient.phi * step.phi).sum())


def _uphill(
    cells: CellEvaluator, point: Point, expectations: Expectations, step: Point, log_sd: FloatArray
) -> tuple[Point, Expectations] | None:
    """Halve the step until the log posterior rises by a part of what the slope promises; None if it never does."""
    decrement = _decrement(expectations, step)
    slack = _ROUNDING * max(1.0, abs(expectations.log_posterior))
    length = 1.0
    for _ in range(_HALVINGS):
        trial = point.moved(step, length)
        there = cells.evaluate(trial, log_sd, None)
        rise = there.log_posterior - expectations.log_posterior
        if rise >= _SUFFICIENT * length * decrement - slack:
            return trial, there
        length /= 2.0
    return None
