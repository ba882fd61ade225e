"""Means and shares of clustered observations, with intervals.

Notation: observation i has the value y_i, the weight w_i and the cluster g(i); G is the number of clusters.
m = sum w_i y_i / sum w_i. Its variance is G / (G - 1) * sum_g (sum_{i in g} w_i (y_i - m))^2 / (sum w_i)^2, the
linearised variance of a ratio (Cochran 1977, Sampling Techniques, 3rd ed., section 6.3 and chapter 9A).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t

from irt_engine.arrays import FloatArray, IntArray
from irt_engine.errors import InvalidResponses

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic of one chatbot.

    Parameters
    ----------
    value
        The statistic.
    lower, upper
        Limits of its interval; None if the data hold one cluster only.
    n
        Number of observations, such as ratings, replies or conversations.
    """

    value: float
    lower: float | None
    upper: float | None
    n: int


def clustered_mean(
    values: ArrayLike,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    level: float = LEVEL,
) -> Estimate:
    """Return the weighted mean with an interval that allows for dependence within clusters.

    Parameters
    ----------
    values : (n,)
        Observations, for example ratings.
    clusters : (n,), optional
        The cluster of each observation, for example its user. By default each observation is a cluster.
    weights : (n,), optional
        Positive weights, for example 1 / (assignment probability). By default 1.
    level
        Confidence level of the interval: Student's t with G - 1 degrees of freedom.

    Returns
    -------
    Estimate

    Raises
    ------
    InvalidResponses
        If there is no observation, or lengths differ, or a weight is not positive.

    Examples
    --------
    >>> clustered_mean([1, 2, 3]).value
    2.0
    """
    y, g, w = _checked(values, clusters, weights)
    mean = float((w @ y) / w.sum())
    error, freedom = _standard_error(y, g, w, mean)
    if error is None:
        return Estimate(mean, None, None, len(y))
    half = float(t.ppf(0.5 + level / 2, freedom)) * error
    return Estimate(mean, mean - half, mean + half, len(y))


def clustered_share(values: ArrayLike, clusters: ArrayLike | None = None, *, level: float = LEVEL) -> Estimate:
    """Return the mean of values between 0 and 1 with an interval inside 0 to 1.

    The interval is Wilson's (1927) with the effective number of observations p (1 - p) / Var(p), the variance being
    that of `clustered_mean`. If all values are equal the variance is 0, and each cluster counts as one observation.

    Parameters
    ----------
    values : (n,)
        Shares, for example 1 for an erroneous reply and 0 for others.
    clusters : (n,), optional
        The cluster of each observation, for example its conversation.
    level
        Confidence level.

    Returns
    -------
    Estimate

    Raises
    ------
    InvalidResponses
        As `clustered_mean`, and for values outside 0 to 1.
    """
    y, g, w = _checked(values, clusters, None)
    if y.min() < 0 or y.max() > 1:
        raise InvalidResponses("a share is outside 0 to 1", code="bad_share", hint="give values between 0 and 1")
    p = float(y.mean())
    error, freedom = _standard_error(y, g, w, p)
    if error is None:
        return Estimate(p, None, None, len(y))
    effective = p * (1 - p) / error**2 if error > 0 else float(freedom + 1)
    z2 = float(t.ppf(0.5 + level / 2, freedom)) ** 2
    middle = (p + z2 / (2 * effective)) / (1 + z2 / effective)
    half = np.sqrt(z2 * (p * (1 - p) / effective + z2 / (4 * effective**2))) / (1 + z2 / effective)
    return Estimate(p, max(0.0, float(middle - half)), min(1.0, float(middle + half)), len(y))


def cluster_numbers(clusters: ArrayLike) -> IntArray:
    """Return (n,) numbers from 0 for the labels of clusters, in order of the sorted labels.

    Parameters
    ----------
    clusters : (n,)
        Label of each observation's cluster.

    Returns
    -------
    (n,) integers
    """
    return np.unique(np.asarray(clusters), return_inverse=True)[1].astype(np.int64).ravel()


def _checked(
    values: ArrayLike, clusters: ArrayLike | None, weights: ArrayLike | None
) -> tuple[FloatArray, IntArray, FloatArray]:
    y = np.asarray(values, dtype=np.float64)
    g = np.arange(len(y)) if clusters is None else cluster_numbers(clusters)
    w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
    if len(y) == 0:
        raise InvalidResponses("there is no observation", code="empty", hint="give one value at least")
    if not len(y) == len(g) == len(w):
        raise InvalidResponses(
            f"{len(y)} values have {len(g)} clusters and {len(w)} weights", code="bad_length", hint="give one each"
        )
    if not (np.isfinite(y).all() and np.isfinite(w).all() and (w > 0).all()):
        raise InvalidResponses(
            "a value is not finite, or a weight is not positive", code="bad_value", hint="leave out unknown values"
        )
    return y, g, w


def _standard_error(y: FloatArray, g: IntArray, w: FloatArray, mean: float) -> tuple[float | None, int]:
    """Return the standard error (None for a single cluster) and its degrees of freedom."""
    totals = np.bincount(g, weights=w * (y - mean))
    count = int(g.max()) + 1
    if count < 2:
        return None, 0
    return float(np.sqrt(count / (count - 1) * (totals**2).sum()) / w.sum()), count - 1
