"""Operations on stacks of covariance matrices, one per campaign."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from irt_engine.arrays import FloatArray

_TINY = 1e-12


def inverse(S: FloatArray) -> FloatArray:
    """Return the inverses of positive definite matrices (D, n, n), by their Cholesky factors.

    Raises
    ------
    LinAlgError
        Where a matrix is not positive definite: LAPACK leaves no inverse then.
    """
    lower = np.empty_like(S)
    for one, found in zip(S, lower, strict=True):
        root, failed = dpotrf(one, lower=1)
        if failed:
            raise np.linalg.LinAlgError("a precision is not positive definite")
        found[:] = np.tril(dpotri(root, lower=1)[0])
    n = np.arange(S.shape[1])
    whole = lower + np.swapaxes(lower, 1, 2)
    whole[:, n, n] = lower[:, n, n]
    return whole


def centred(covariance: FloatArray) -> FloatArray:
    """Return the covariance (..., M, M) of abilities minus their mean."""
    half = covariance - covariance.mean(axis=-1, keepdims=True)
    whole: FloatArray = half - half.mean(axis=-2, keepdims=True)
    return whole


def without_mean(values: FloatArray) -> FloatArray:
    """Return values (D, M) minus the mean of each campaign."""
    level: FloatArray = values - values.mean(axis=1, keepdims=True)
    return level


def variances(covariance: FloatArray) -> FloatArray:
    """Return (D, M) variances, never 0."""
    variance: FloatArray = np.maximum(np.einsum("dmm->dm", covariance), _TINY)
    return variance


def class_sums(values: FloatArray) -> FloatArray:
    """Return (D, N) sums over the classes of (D, N, K), by a product: numpy adds few numbers at a time slowly."""
    total: FloatArray = values @ np.ones(values.shape[-1])
    return total
