"""Posterior of each annotator's share c_a of careless votes, on a grid.

The likelihood of an annotator's votes is the product of (1 - c_a) p + c_a g, with the chance p of a vote if it is
careful and g if it is careless. The prior is a Beta distribution, whose mean and strength are at their most likely
place given all annotators.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit, logsumexp

from irt_engine.arrays import FloatArray, IntArray

# Of logit mean and log strength: about one vote in ten careless, anything from one in fifty to a third is common.
PRIOR_CENTRE = np.array([logit(0.1), np.log(5.0)])
_PRIOR_SD = np.array([1.0, 1.0])
_GRID = expit(np.linspace(-9.0, 7.0, 81))  # of c_a
_RATIOS = np.linspace(-12.0, 12.0, 193)  # of log (chance if careless / chance if careful)


def careless_log_likelihood(ratio: FloatArray, annotator: IntArray, annotators: int) -> FloatArray:
    """Return the log likelihood of each annotator's votes on the grid, up to a constant.

    It is the sum of log(1 + c (e^ratio - 1)). Ratios are divided among the two nearest of a fixed list.

    Parameters
    ----------
    ratio : ndarray of float, shape (n,)
        Log of g / p of each vote.
    annotator : ndarray of int, shape (n,)
        0..annotators - 1, or `annotators` for an anonymous vote.
    annotators : int
        Number K of annotators.

    Returns
    -------
    ndarray of float, shape (K, grid)
        Log likelihoods.
    """
    K, R, step = annotators, len(_RATIOS), _RATIOS[1] - _RATIOS[0]
    place = (np.clip(ratio, _RATIOS[0], _RATIOS[-1] - 1e-9) - _RATIOS[0]) / step
    below = place.astype(np.int64)
    share, code = place - below, annotator * R + below
    number = np.zeros((K + 1) * R)
    for place_of, part in ((code, 1.0 - share), (code + 1, share)):
        number += np.bincount(place_of, part, minlength=(K + 1) * R)
    log_likelihood: FloatArray = number.reshape(K + 1, R)[:K] @ np.log1p(np.expm1(_RATIOS)[:, None] * _GRID)
    return log_likelihood


def learned_prior(log_likelihood: FloatArray, start: FloatArray) -> FloatArray:
    """Return the most likely prior.

    Parameters
    ----------
    log_likelihood : ndarray of float, shape (K, grid)
        Log likelihoods of the annotators.
    start : ndarray of float, shape (2,)
        Logit mean and log strength to begin with.

    Returns
    -------
    ndarray of float, shape (2,)
        Logit mean and log strength.
    """
    found: FloatArray = minimize(
        _prior_loss, start, (log_likelihood,), jac=True, method="BFGS", options={"gtol": 1e-6}
    ).x
    return found


def careless_posterior(log_likelihood: FloatArray, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the posterior of c_a.

    Parameters
    ----------
    log_likelihood : ndarray of float, shape (K, grid)
        Log likelihoods of the annotators.
    prior : ndarray of float, shape (2,)
        Logit mean and log strength of the prior.

    Returns
    -------
    tuple of two ndarray of float, shape (K,)
        Means and standard deviations.
    """
    posterior = log_likelihood + _log_prior(prior)
    posterior = np.exp(posterior - logsumexp(posterior, axis=1, keepdims=True))
    mean = posterior @ _GRID
    return mean, np.sqrt(np.maximum(posterior @ _GRID**2 - mean**2, 0.0))


def _log_prior(prior: FloatArray) -> FloatArray:
    """Return log Beta(mean strength, (1 - mean) strength) on the grid; its probabilities sum to 1 there."""
    m, k = expit(prior[0]), np.exp(prior[1])
    log_p = m * k * np.log(_GRID) + (1.0 - m) * k * np.log1p(-_GRID)
    normed: FloatArray = log_p - logsumexp(log_p)
    return normed


def _prior_loss(prior: FloatArray, log_likelihood: FloatArray) -> tuple[float, FloatArray]:
    """Return minus the log posterior of the prior's parameters, and its gradient (2,)."""
    log_p = _log_prior(prior)
    joint = log_likelihood + log_p
    total = logsumexp(joint, axis=1)
    ways = np.stack([np.log(_GRID), np.log1p(-_GRID)])
    pull = ways @ (np.exp(joint - total[:, None]).sum(axis=0) - len(log_likelihood) * np.exp(log_p))
    m, k = expit(prior[0]), np.exp(prior[1])
    along = np.array([k * m * (1.0 - m) * (pull[0] - pull[1]), k * (m * pull[0] + (1.0 - m) * pull[1])])
    off = (prior - PRIOR_CENTRE) / _PRIOR_SD
    return float(0.5 * off @ off - total.sum()), off / _PRIOR_SD - along
