"""The variances that the scales of a board with effects of replies are learned from.

A group of effects x ~ N(0, s^2) has, at the true s and averaged over data, sum m^2 + v = n s^2: there the score of
log s (`scales`) is 0. That asks more of m and v than SEs of abilities do. Most replies are met once or twice, and leave
their effects, and with them every cell's theta, wide. The scores were measured on 27 kinds of boards drawn from known
SDs (tests/benchmarks/scale_scores), in shares of what the votes determine; 0 is right:

- Effects: under q the variances are too small, by .05 to .38. At the mean they are right where little is known of an
  effect, and too large, by up to .23, where more is. Between the two, with the square of what the votes leave open of
  an effect as the weight of the second, the scores of replies are off by .03. Beyond the true SD those at the mean do
  harm: where effects are wide, means lie where a verdict is beyond doubt and tells nothing, the score rises with the SD
  and has no end. So the weight falls as effects become wider (`Effects.variance_weight`); at the truth scores stay .03 off.
- Log discriminations: too small under both, by .1 to 3.8. What is wrong is not where the information is taken but that
  it is the expected one. With d2x / dtheta dlog alpha = alpha, a cell's observed information has, off its diagonal,
  alpha times the cell's score more. A score has mean 0 and the variance that is its information, so that eliminating
  theta takes, on average,

      loss = sum over the cells of i_theta var(theta | log alpha)

  more from log alpha's information I: a cell whose theta is open cannot tell a sharp prompt from far replies. I^2 /
  (I + loss) is I - loss to first order and stays positive, without which wide effects would ask for wider ones;
  with it the scores are a third as far off, still on the side of too small an SD.
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
