"""What a posterior of form vote says about votes that it has not seen."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from irt_engine import Posterior, Priors, ResponseTable
from irt_engine.arrays import FloatArray

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(21)


def vote_probabilities(found: Posterior, votes: ResponseTable, priors: Priors) -> FloatArray:
    """(n, 3) of a better, tie, b better; `votes` names the same chatbots and prompts as what was fitted.

    A board is asked itself: it knows what replies have shown against others. Of model pair, a comparison that was not
    fitted has the prior's theta.
    """
    if found.model == "board":
        return found.vote_probabilities(votes.a, votes.b, votes.prompt)
    mean, variance, sign = _thetas(found, votes, priors)
    alpha = found.discrimination[votes.prompt]
    spread = np.sqrt(alpha**2 * variance + (found.scales.cell or 0.0) ** 2)
    at = (alpha * mean)[:, None] + spread[:, None] * _NODES
    level = alpha[:, None] * found.thresholds[votes.prompt]
    weights = _WEIGHTS / _WEIGHTS.sum()
    better, not_worse = (expit(at - level[:, c, None]) @ weights for c in (1, 0))
    p = np.stack([1.0 - not_worse, not_worse - better, better], axis=1)
    return np.where(sign[:, None] > 0, p, p[:, ::-1])


def _thetas(found: Posterior, votes: ResponseTable, priors: Priors) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean and variance of theta (n,) in its comparison's orientation, and +1 where that is the row's own, else -1."""
    number = {name: i for i, name in enumerate(votes.chatbots)}
    M = len(votes.chatbots)
    of = np.full((M, M), -1)
    orientation = np.ones((M, M))
    for row, c in enumerate(found.comparisons):
        low, high = number[c.a], number[c.b]
        of[low, high] = of[high, low] = row
        orientation[high, low] = -1.0
    k, sign = of[votes.a, votes.b], orientation[votes.a, votes.b]
    return np.r_[found.theta, 0.0][k], np.r_[found.theta_se**2, priors.theta_sd**2][k], sign
