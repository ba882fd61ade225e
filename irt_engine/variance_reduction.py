"""Expected decrease of the variance of abilities by one more judgment."""

from __future__ import annotations

import numpy as np

from irt_engine.arrays import FloatArray, IntArray


def variance_fall(information: FloatArray | float, projected: FloatArray, variance: FloatArray) -> FloatArray:
    """Return the decrease of trace(W Sigma) by one judgment, a rank-one update.

    It is I x' Sigma W Sigma x / (1 + I x' Sigma x) (Sherman-Morrison formula).

    Parameters
    ----------
    information : ndarray of float or float
        Information I of the judgment.
    projected : ndarray of float
        x' Sigma W Sigma x.
    variance : ndarray of float
        x' Sigma x, of the same shape.

    Returns
    -------
    ndarray of float
        Decrease of the target variance.
    """
    fall: FloatArray = information * projected / (1.0 + information * variance)
    return fall


def projections(
    covariance: FloatArray, low: IntArray, high: IntArray, weight: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return x' Sigma W Sigma x and x' Sigma x for x = e_high - e_low.

    Parameters
    ----------
    covariance : ndarray of float, shape (M, M)
        Covariance Sigma of the abilities.
    low, high : ndarray of int, shape (n,)
        Indices of the chatbots of each pair.
    weight : ndarray of float, shape (M, M) or (M,), optional
        The target: a matrix W, or a contrast c with W = c c'. None is the identity.

    Returns
    -------
    tuple of ndarray of float, shape (n,)
        Both quadratic forms.
    """
    if weight is None:
        target = covariance @ covariance
    elif weight.ndim == 1:
        toward = covariance @ weight
        target = np.outer(toward, toward)
    else:
        target = covariance @ weight @ covariance
    return _across(target, low, high), _across(covariance, low, high)


def _across(Q: FloatArray, low: IntArray, high: IntArray) -> FloatArray:
    """x' Q x for x = e_high - e_low."""
    value: FloatArray = Q[low, low] + Q[high, high] - Q[low, high] - Q[high, low]
    return value


def expected_fall(
    information: FloatArray | float,
    covariance: FloatArray,
    low: IntArray,
    high: IntArray,
    *,
    weight: FloatArray | None = None,
    pair_variance: FloatArray | float = 0.0,
) -> FloatArray:
    """Return the expected decrease of the target variance by one more judgment on each pair.

    Parameters
    ----------
    information : ndarray of float, shape (n,), or float
        Expected information about theta.
    covariance : ndarray of float, shape (M, M)
        Covariance of the abilities.
    low, high : ndarray of int, shape (n,)
        Indices of the chatbots of each pair.
    weight : ndarray of float, optional
        As in `projections`.
    pair_variance : ndarray of float, shape (n,), or float
        Variance of the pair effect in theta = s_high - s_low + effect. The formula is exact if the effect is
        independent of the abilities, as for a new pair.

    Returns
    -------
    ndarray of float, shape (n,)
        Expected decrease.
    """
    projected, variance = projections(covariance, low, high, weight)
    return variance_fall(information, projected, variance + pair_variance)
