"""Operations on stacks of covariance matrices, one per campaign."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from irt_engine.arrays import FloatArray

_TINY = 1e-12


def inverse(S: FloatArray) -> FloatArray:
    """Return the inverses of positive definite matrices, by Cholesky factors.

    Parameters
    ----------
    S : ndarray of float, shape (D, n, n)
        The matrices.

    Returns
    -------
    ndarray of float, shape (D, n, n)
        The inverses.

    Raises
    ------
    LinAlgError
        If a matrix is not positive definite.
    """
    lower = np.empty_like(S)
    for one, found in zip(S, lower, strict=True):
        root, failed = dpotrf(one, lower=1)
        if failed:
            raise np.linalg.LinAlgError("a precision is not positive definite")
        found[:] = dpotri(root, lower=1)[0]
    lower = np.tril(lower)
    n = np.arange(S.shape[1])
    whole = lower + np.swapaxes(lower, 1, 2)
    whole[:, n, n] = lower[:, n, n]
    return whole


def centred(covariance: FloatArray) -> FloatArray:
    """Return the covariance of abilities minus their mean.

    Parameters
    ----------
    covariance : ndarray of float, shape (..., M, M)
        Covariance of the abilities.

    Returns
    -------
    ndarray of float, shape (..., M, M)
        Covariance of the centred abilities.
    """
    half = covariance - covariance.mean(axis=-1, keepdims=True)
    whole: FloatArray = half - half.mean(axis=-2, keepdims=True)
    return whole


def without_mean(values: FloatArray) -> FloatArray:
    """Return values minus the mean of each campaign.

    Parameters
    ----------
    values : ndarray of float, shape (D, M)
        Values.

    Returns
    -------
    ndarray of float, shape (D, M)
        Centred values.
    """
    level: FloatArray = values - values.mean(axis=1, keepdims=True)
    return level


def variances(covariance: FloatArray) -> FloatArray:
    """Return variances that are never 0.

    Parameters
    ----------
    covariance : ndarray of float, shape (D, M, M)
        Covariances.

    Returns
    -------
    ndarray of float, shape (D, M)
        Variances.
    """
    variance: FloatArray = np.maximum(np.einsum("dmm->dm", covariance), _TINY)
    return variance


def class_sums(values: FloatArray) -> FloatArray:
    """Return sums over the classes by a matrix product, which is faster than numpy's sum of few numbers.

    Parameters
    ----------
    values : ndarray of float, shape (D, N, K)
        Values.

    Returns
    -------
    ndarray of float, shape (D, N)
        Sums.
    """
    total: FloatArray = values @ np.ones(values.shape[-1])
    return total
