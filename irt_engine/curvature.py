"""The curvature that a step divides by, once the average is near: the observed information at the mean.

The expected information, which q rests on, differs from it by the luck of every prompt's votes: measured, steps with it
end between half too short and half too long, and a round gains a factor of 3; with the observed one a factor of 5 to 6.
Where few votes leave a slot's observed block without a clear curvature of its own, its expected one stands in. So it
does wherever replies have effects: those of a slot lean against its discrimination together, and while they are not yet
where they belong, the observed curvature along that direction leads astray.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .arrays import BoolArray, FloatArray
from .arrow import Arrow, Information, Point, Precision, Problem, factored, inverse_factors

if TYPE_CHECKING:
    from .average import Cells, State, Told
    from .scales import Effects

_CLEAR = 0.25  # of the expected curvature in every direction
_STEP = 1e-4  # of a log SD
_LEAST_SLOPE = 0.05  # of the cell effect's, in shares of what it is while the means stand still


@dataclass(frozen=True, slots=True, eq=False)
class Curvature:
    """What a step of means and learned scales divides by.

    along: by how much the means follow each log SD. slope (L, L): how fast the log SDs' scores fall while the means do
    so. One after the other, they would take many small steps: a wider effect is made up for by abilities farther apart.
    """

    arrow: Arrow
    scales: list[int]
    along: list[Point]
    slope: FloatArray

    def scale_step(self, effects: Effects, log_sd: FloatArray, gradient: Point, score: FloatArray) -> FloatArray:
        """Newton's step (L,) of the log SDs, from the gradient of the means and their own score (L,).

        One that stands at its limit takes no part: the others must not count on its moving.
        """
        move = np.zeros_like(score)
        pairs = zip(self.scales, self.along, strict=True)
        total = np.array([score[index] + _dot(along, gradient) for index, along in pairs])
        free = [k for k, index in enumerate(self.scales) if not effects.stands(index, log_sd, total[k])]
        move[np.array(self.scales)[free]] = np.linalg.solve(self.slope[np.ix_(free, free)], total[free])
        return move

    def follow(self, step: Point, moved: FloatArray) -> Point:
        """A step of the means together with what they owe to the log SDs' having moved."""
        for index, along in zip(self.scales, self.along, strict=True):
            step = step.moved(along, float(moved[index]))
        return step


def curved(cells: Cells, state: State, *, learn: bool) -> Curvature | None:
    """The precision that steps from a state divide by, factored; None where it is not positive."""
    problem, prior = cells.problem, cells.effects.precision(state.log_sd)
    told = cells.ask(state.point, state.log_sd, None, observed=True)
    seen = state.information if problem.replies else _mostly_observed(problem, state, told, prior)
    try:
        arrow = factored(problem, seen, prior)
        covariance = arrow.covariance()
    except np.linalg.LinAlgError:
        return None
    if not learn:
        return Curvature(arrow, [], [], np.zeros((0, 0)))
    return _with_scales(cells, state, told, arrow, covariance)


def _mostly_observed(problem: Problem, state: State, told: Told, prior: Precision) -> Information:
    """The observed information, and the expected one where that is not clear."""
    seen = _with_bends(problem, told)
    unclear = ~_clear(problem, seen.i_phi, state.information.i_phi, prior)
    of_cells = np.repeat(unclear, np.diff(problem.starts))
    for own, expected, where in (
        (seen.i_theta, state.information.i_theta, of_cells),
        (seen.cross, state.information.cross, of_cells),
        (seen.i_phi, state.information.i_phi, unclear),
    ):
        own[where] = expected[where]
    return seen


def _with_scales(cells: Cells, state: State, told: Told, arrow: Arrow, covariance: FloatArray) -> Curvature:
    effects, scales = cells.effects, cells.effects.learnable
    variance = Point(np.diag(covariance), arrow.own_variances(covariance))
    changes, own = [], []
    for index in scales:
        if effects.is_cell(index):
            change, fall = _by_cell_effect(cells, state, told)
        else:
            change = effects.pull(index, state.log_sd, state.point)
            fall = effects.own_slope(index, state.log_sd, state.point, variance)
        changes.append(change)
        own.append(fall)
    along = [arrow.step(change) for change in changes]
    slope = np.diag(own) - np.array([[_dot(change, other) for other in along] for change in changes])
    least = effects.scores(state.log_sd, state.point, variance.z, variance.phi, told.sums)[1][scales]
    least *= [_LEAST_SLOPE if effects.is_cell(index) else 1.0 for index in scales]
    return Curvature(arrow, scales, along, _at_least(0.5 * (slope + slope.T), least))


def _by_cell_effect(cells: Cells, state: State, told: Told) -> tuple[Point, float]:
    """How gradient and score change with the cell effect's log SD: differences, because they only steer."""
    wider = state.log_sd.copy()
    wider[-1] += _STEP
    there = cells.ask(state.point, wider, None)
    change = Point((there.gradient.z - told.gradient.z) / _STEP, (there.gradient.phi - told.gradient.phi) / _STEP)
    assert cells.effects.cell is not None  # noqa: S101 - one of the learned scales is its own
    return change, float((told.sums[0, 0] - there.sums[0, 0]) / _STEP + cells.effects.cell.width**-2.0)


def _at_least(slope: FloatArray, least: FloatArray) -> FloatArray:
    """The slopes (L, L) with no direction flatter than `least` (L,)."""
    scale = np.sqrt(np.outer(least, least))
    value, vector = np.linalg.eigh(slope / scale)
    raised: FloatArray = (vector * np.maximum(value, 1.0)) @ vector.T * scale
    return raised


def _dot(a: Point, b: Point) -> float:
    return float(a.z @ b.z + (a.phi * b.phi).sum())


def _with_bends(problem: Problem, told: Told) -> Information:
    """The edges' observed information, less the scores times the edges' own second derivatives:

    d2x / dtheta dlog alpha = alpha, d2x / dlog alpha2 = x, d2x / dlog alpha dphi_p = U_p, d2x / dgap2 = U_gap.
    """
    information = told.information
    if problem.parts is None:
        _bend(information.cross, information.i_phi, told, problem.prompts.gaps)
        return information
    (K, P), n = told.d_phi.shape, len(told.d_theta)
    bent = Information(information.i_theta, np.zeros((n, P)), np.zeros((K, P, P)))
    _bend(bent.cross, bent.i_phi, told, problem.prompts.gaps)
    bends = problem.gathered(told.d_phi, bent)[1]
    return Information(information.i_theta, information.cross + bends.cross, information.i_phi + bends.i_phi)


def _bend(cross: FloatArray, i_phi: FloatArray, told: Told, gaps: int) -> None:
    """Take the bends away from (n, P) and (K, P, P)."""
    cross[:, 0] -= told.d_theta
    i_phi[:, 0, :] -= told.d_phi
    i_phi[:, 1:, 0] -= told.d_phi[:, 1:]
    of_gaps = np.arange(told.d_phi.shape[1] - gaps, told.d_phi.shape[1])
    i_phi[:, of_gaps, of_gaps] -= told.d_phi[:, of_gaps]


def _clear(problem: Problem, observed: FloatArray, expected: FloatArray, prior: Precision) -> BoolArray:
    """(J,) whether a slot's observed block is at least a share of its expected one in every direction."""
    P = np.arange(problem.prompts.size)
    own, usual = observed.copy(), expected.copy()
    own[:, P, P] += prior.phi
    usual[:, P, P] += prior.phi
    return inverse_factors(own - _CLEAR * usual)[1]
