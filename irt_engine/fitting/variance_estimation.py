"""Variances of effects, from which the scales of a board with reply effects are estimated.

docs/variance-estimation.md derives the corrections and lists their assumptions. In short, variances of effects are a
weighted mean of those at the mean and those under q. The information I about a log discrimination is replaced by I^2 /
(I + loss), with

    loss = sum over the cells of i_theta var(theta | log alpha).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irt_engine.arrays import FloatArray
from irt_engine.fitting.kernel_data import Approximation, CellData
from irt_engine.fitting.schur_complement import FactoredPrecision, own_variances
from irt_engine.models.parameters import Information, Point, Precision

if TYPE_CHECKING:
    from irt_engine.fitting.expectations import CellEvaluator


_SHARED_FROM = 5_000  # cells: fewer are done before other threads are awake
_LEAST = 1e-9  # of the prior's precision: information that is none


def estimation_variances(cells: CellEvaluator, information: Information, prior: Precision, under_q: Point) -> Point:
    """Return the variances of all effects from which the log SDs are estimated.

    Parameters
    ----------
    cells : CellEvaluator
        The cells.
    information : Information
        Expected information at the means.
    prior : Precision
        Prior precision.
    under_q : Point
        Variances under q.

    Returns
    -------
    Point
        Variances of shapes (S,) and (J, W); see docs/variance-estimation.md.

    Raises
    ------
    LinAlgError
        If no precision is positive definite.
    """
    factors = cells.factor(information, prior)
    covariance = factors.covariance()
    at_mean, loss = _own(cells, factors, covariance)
    variance = _between(under_q.phi, at_mean, prior.phi, cells.effects.variance_weight(prior.phi))
    information_left = np.maximum(1.0 / variance[:, 0] - prior.phi[:, 0], _LEAST * prior.phi[:, 0])
    variance[:, 0] = 1.0 / (prior.phi[:, 0] + information_left**2 / (information_left + loss))
    return Point(_between(under_q.z, np.diag(covariance), prior.z, 1.0), variance)


def _between(under_q: FloatArray, at_mean: FloatArray, precision: FloatArray, trust: FloatArray | float) -> FloatArray:
    """Variances nearer to those at the mean the less the votes say; `precision` is the prior's."""
    weight = trust * np.minimum(at_mean * precision, 1.0) ** 2
    return weight * at_mean + (1.0 - weight) * under_q


def _own(cells: CellEvaluator, factors: FactoredPrecision, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(J, W) of the slots' own deviations, and (J,) what theta takes from the information about log alpha."""
    problem = cells.problem
    variance, loss = np.empty((problem.slots, problem.width)), np.empty(problem.slots)

    nothing = np.zeros(len(problem.weight))
    data = CellData(
        problem.starts, nothing, problem.counts, problem.weight, problem.again, problem.col, problem.coef, problem.own
    )

    def work(slots: slice) -> bool:
        with_shared, own = factors.slot_covariances(covariance, slots)
        variance[slots] = own_variances(problem, covariance, with_shared, own)
        q = Approximation(True, covariance, with_shared, own)
        return problem.kernels.theta_information(
            (slots.start, slots.stop), data, q, factors.information.i_theta, problem.prompts.size, loss
        )

    if not cells.every(work, cells.chunks, shared=len(problem.weight) >= _SHARED_FROM):
        raise np.linalg.LinAlgError("a slot's covariance is not positive")
    return variance, loss
