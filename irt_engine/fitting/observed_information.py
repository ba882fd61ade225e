"""Observed information, by which Newton steps are divided near the fixed point.

The expected information of q differs from it by the randomness of each prompt's votes. Steps with the expected
information are up to half too short or too long: an iteration reduces the error by a factor of 3, and with the observed
information by 5 to 6. If a slot with few votes has no positive definite observed block, its expected block is used.

Without reply effects it is taken at the mean. With them, a first fit uses the expected information, because far from
the solution the observed curvature along discriminations and replies is misleading. A fit from a warm start uses the
expectation under q, with the second derivatives of the edges (a score times a second derivative).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray
from irt_engine.fitting.problem import FitProblem
from irt_engine.fitting.schur_complement import FactoredPrecision, inverse_factors, slot_blocks
from irt_engine.models.parameters import Information, Point, Precision

if TYPE_CHECKING:
    from irt_engine.fitting.expectations import CellEvaluator, Expectations
    from irt_engine.fitting.state import FitState
    from irt_engine.models.effects import Effects


_CLEAR = 0.25  # of the expected curvature in every direction
_STEP = 1e-4  # of a log SD
_LEAST_SLOPE = 0.05  # of the cell effect's, in shares of what it is while the means stand still


@dataclass(frozen=True, slots=True, eq=False)
class Curvature:
    """Store the curvature for a joint Newton step of means and log SDs.

    Moving them in turn takes many small steps, because larger abilities compensate a wider effect.

    Parameters
    ----------
    factors : FactoredPrecision
        Observed precision of the means.
    scales : list of int
        Indices of the estimated log SDs.
    along : list of Point
        Derivative of the means with respect to each log SD.
    read : list of Point
        Derivative of each score with respect to the log posterior's gradient.
    slope : ndarray of float, shape (L, L)
        Rates at which the scores decrease while the means follow.
    """

    factors: FactoredPrecision
    scales: list[int]
    along: list[Point]
    read: list[Point]
    slope: FloatArray

    def scale_step(self, effects: Effects, log_sd: FloatArray, gradient: Point, score: FloatArray) -> FloatArray:
        """Return the Newton step of the log SDs.

        Attributes
        ----------
        log SD at its limit does not move, and the others do not count on it.

        Parameters
        ----------
        effects : Effects
            The effects.
        log_sd : ndarray of float, shape (L,)
            The log SDs.
        gradient : Point
            Gradient of the log posterior.
        score : ndarray of float, shape (L,)
            Scores of the log SDs.

        Returns
        -------
        ndarray of float, shape (L,)
            The step.
        """
        move = np.zeros_like(score)
        pairs = zip(self.scales, self.read, strict=True)
        total = np.array([score[index] + _dot(read, gradient) for index, read in pairs])
        free = [k for k, index in enumerate(self.scales) if not effects.at_limit(index, log_sd, total[k])]
        move[np.array(self.scales)[free]] = np.linalg.solve(self.slope[np.ix_(free, free)], total[free])
        return move

    def follow(self, step: Point, moved: FloatArray) -> Point:
        """Return a step of the means that includes their response to moved log SDs.

        Parameters
        ----------
        step : Point
            Step of the means for fixed log SDs.
        moved : ndarray of float, shape (L,)
            Changes of the log SDs.

        Returns
        -------
        Point
            The step.
        """
        for index, along in zip(self.scales, self.along, strict=True):
            step = step.moved(along, float(moved[index]))
        return step


def curvature_at(
    cells: CellEvaluator,
    state: FitState,
    expected: Information,
    q: tuple[FactoredPrecision, FloatArray] | None,
    expectations: Expectations,
    *,
    learn: bool,
) -> Curvature | None:
    """Return the curvature at a state.

    Parameters
    ----------
    cells : CellEvaluator
        The cells.
    state : FitState
        The state.
    expected : Information
        The information of q.
    q : tuple of (FactoredPrecision, ndarray of float), optional
        The Gaussian, as in `CellEvaluator.ask`; None evaluates at the mean.
    expectations : Expectations
        Expectations under q; unused without q.
    learn : bool
        Whether log SDs are estimated.

    Returns
    -------
    Curvature or None
        None if the observed precision is not positive definite.
    """
    problem, prior = cells.problem, cells.effects.precision(state.log_sd)
    if q is None and (learn or not problem.replies):
        expectations = cells.evaluate(state.point, state.log_sd, None, observed=True)
    bent = q is not None or not problem.replies
    seen = _mostly_bent(problem, expectations, expectations.information if q else expected, prior) if bent else expected
    expectations = replace(expectations, information=seen)  # no longer held: of a million cells it takes 48 MB
    try:
        factors = cells.factor(seen, prior)
        covariance = factors.covariance()
    except np.linalg.LinAlgError:
        return None
    if not learn:
        return Curvature(factors, [], [], [], np.zeros((0, 0)))
    return _with_scales(cells, state, q, expectations, factors, covariance)


def _mostly_bent(
    problem: FitProblem, expectations: Expectations, expected: Information, prior: Precision
) -> Information:
    """The information with its bends, and the expected one where that is not clear."""
    seen = _with_bends(problem, expectations)
    unclear = ~_clear(problem, seen, expected, prior)
    of_cells = np.repeat(unclear, np.diff(problem.starts))
    i_theta = np.where(of_cells, expected.i_theta, seen.i_theta)
    seen.cross[of_cells], seen.i_phi[unclear] = expected.cross[of_cells], expected.i_phi[unclear]
    return Information(i_theta, seen.cross, seen.i_phi)


def _with_scales(
    cells: CellEvaluator,
    state: FitState,
    q: tuple[FactoredPrecision, FloatArray] | None,
    expectations: Expectations,
    factors: FactoredPrecision,
    covariance: FloatArray,
) -> Curvature:
    effects, scales = cells.effects, cells.effects.learnable
    if q is None:
        variance = Point(np.diag(covariance), factors.own_variances(covariance, cells.each))
    else:
        variance = Point(np.diag(q[1]), expectations.phi_variance)  # known already, and a slope only steers
    changes, reads, own = [], [], []
    for index in scales:
        if effects.is_cell(index):
            change, read, fall = _by_cell_effect(cells, state, q, expectations)
        else:
            change = effects.gradient_shift(index, state.log_sd, state.point)
            read = effects.score_gradient(index, change)
            fall = effects.score_slope(index, state.log_sd, state.point, variance)
        changes.append(change)
        reads.append(read)
        own.append(fall)
    along = [factors.step(change) for change in changes]
    slope = np.diag(own) - np.array([[_dot(read, other) for other in along] for read in reads])
    least = effects.scores(state.log_sd, state.point, variance.z, variance.phi, expectations.sums)[1][scales]
    least *= [_LEAST_SLOPE if effects.is_cell(index) else 1.0 for index in scales]
    same = zip(changes, reads, along, strict=True)
    back = [step if read is change else factors.step(read) for change, read, step in same]
    return Curvature(factors, scales, along, back, _at_least(slope, least))


def _by_cell_effect(
    cells: CellEvaluator, state: FitState, q: tuple[FactoredPrecision, FloatArray] | None, expectations: Expectations
) -> tuple[Point, Point, float]:
    """How gradient and score change with the cell effect's log SD, and the score with the means: differences, because
    they only steer. What cells that were voted on again say to prompts' parameters is taken for their share of it."""
    wider = state.log_sd.copy()
    wider[-1] += _STEP
    there = cells.evaluate(state.point, wider, q)
    change = Point(
        (there.gradient.z - expectations.gradient.z) / _STEP, (there.gradient.phi - expectations.gradient.phi) / _STEP
    )
    assert cells.effects.cell is not None  # noqa: S101 - one of the learned scales is its own
    problem = cells.problem
    held = np.concatenate([[0.0], np.cumsum(problem.again)])
    shares = np.diff(held[problem.starts]) / np.maximum(np.diff(problem.starts), 1)  # a slot may be without a cell
    of_cells = np.where(problem.again, (there.d_theta - expectations.d_theta) / _STEP, 0.0)
    read = Point(problem.shared_sums(of_cells), change.phi * shares[:, None])
    if problem.replies:
        read.phi[:, problem.prompts.size :] = problem.replies.gathered(of_cells)
    read.z[problem.common] += read.phi[:, problem.prompts.first_gap : problem.prompts.size].sum(axis=0)
    return change, read, float((expectations.sums[0, 0] - there.sums[0, 0]) / _STEP + cells.effects.cell.width**-2.0)


def _at_least(slope: FloatArray, least: FloatArray) -> FloatArray:
    """The slopes (L, L) with no direction flatter than `least` (L,).

    That is said of their symmetric part; the rest stays as it is, and makes no step longer. The slopes lean to one side
    where an SD is learned only from what was judged again: its score then hardly follows the other SDs, while theirs
    follow it. With half of it given to each, the SD of cells of which few were judged again went to and fro for
    hundreds of rounds.
    """
    scale = np.sqrt(np.outer(least, least))
    value, vector = np.linalg.eigh(0.5 * (slope + slope.T) / scale)
    raised: FloatArray = (vector * np.maximum(value, 1.0)) @ vector.T * scale + 0.5 * (slope - slope.T)
    return raised


def _dot(a: Point, b: Point) -> float:
    return float(a.z @ b.z + (a.phi * b.phi).sum())


def _with_bends(problem: FitProblem, expectations: Expectations) -> Information:
    """The edges' information, less the scores times the edges' own second derivatives:

    d2x / dtheta dlog alpha = alpha, d2x / dlog alpha2 = x, d2x / dlog alpha dphi_p = U_p, d2x / dgap2 = U_gap.
    """
    information = expectations.information
    if problem.parts is None:
        bent = Information(information.i_theta, information.cross.copy(), information.i_phi.copy())
        _bend(bent.cross, bent.i_phi, expectations, problem.prompts.gaps)
        return bent
    (K, P), n = expectations.d_phi.shape, len(expectations.d_theta)
    bent = Information(information.i_theta, np.zeros((n, P)), np.zeros((K, P, P)))
    _bend(bent.cross, bent.i_phi, expectations, problem.prompts.gaps)
    bends = problem.gathered(expectations.d_phi, bent)[1]
    cross = np.add(bends.cross, information.cross, out=bends.cross)
    return Information(information.i_theta, cross, information.i_phi + bends.i_phi)


def _bend(cross: FloatArray, i_phi: FloatArray, expectations: Expectations, gaps: int) -> None:
    """Take the bends away from (n, P) and (K, P, P)."""
    cross[:, 0] -= expectations.d_theta
    i_phi[:, 0, :] -= expectations.d_phi
    i_phi[:, 1:, 0] -= expectations.d_phi[:, 1:]
    of_gaps = np.arange(expectations.d_phi.shape[1] - gaps, expectations.d_phi.shape[1])
    i_phi[:, of_gaps, of_gaps] -= expectations.d_phi[:, of_gaps]


def _clear(problem: FitProblem, seen: Information, expected: Information, prior: Precision) -> BoolArray:
    """(J,) whether a slot's block is at least a share of its expected one in every direction."""
    clear = slot_blocks(problem, seen, prior) - _CLEAR * slot_blocks(problem, expected, prior)
    return inverse_factors(problem, clear)[1]
