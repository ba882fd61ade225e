"""Correlation of two metrics over chatbots or conversations, with its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import pearsonr, rankdata, spearmanr

from irt_engine.arrays import FloatArray
from irt_engine.errors import NotIdentified
from irt_engine.scorecard.estimates import LEVEL

LEAST_UNITS = 5
_LEAST_SHARE = 1e-12  # Of the mean square: a smaller variance is one of rounding alone.


@dataclass(frozen=True, slots=True)
class Correlation:
    """Pearson's and Spearman's correlation of n pairs.

    Parameters
    ----------
    n
        Number of pairs.
    pearson, pearson_p
        Pearson's r and its two-sided p value.
    lower, upper
        Bootstrap interval of r (percentiles over resampled pairs); None if too few resamples vary.
    spearman, spearman_p
        Spearman's rho and its two-sided p value.
    """

    n: int
    pearson: float
    pearson_p: float
    lower: float | None
    upper: float | None
    spearman: float
    spearman_p: float


def correlate(
    x: ArrayLike, y: ArrayLike, *, replicates: int = 2_000, seed: int = 0, level: float = LEVEL
) -> Correlation:
    """Return the correlation of x and y.

    Parameters
    ----------
    x, y : (n,)
        Two metrics of the same units.
    replicates
        Number of bootstrap resamples.
    seed
        Seed of the random generator.
    level
        Confidence level.

    Returns
    -------
    Correlation

    Raises
    ------
    NotIdentified
        If n is below 5 (`LEAST_UNITS`), or if x or y does not vary.
    """
    a, b = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if len(a) < LEAST_UNITS:
        raise NotIdentified(
            f"{len(a)} units are too few for a correlation",
            code="too_few_units",
            hint=f"a correlation needs {LEAST_UNITS} units at least",
        )
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        raise NotIdentified(
            "all units have the same value", code="constant", hint="a correlation needs values that differ"
        )
    r, rho = pearsonr(a, b), spearmanr(a, b)
    lower, upper = _interval(a, b, replicates, np.random.default_rng(seed), level)
    return Correlation(
        len(a), float(r.statistic), float(r.pvalue), lower, upper, float(rho.statistic), float(rho.pvalue)
    )


def ranks(values: ArrayLike, *, higher_is_better: bool) -> FloatArray:
    """Return ranks along the last axis, 1 for the best; equal values share the average of their ranks.

    Parameters
    ----------
    values : (..., n)
        Values of n units.
    higher_is_better
        Whether the highest value has rank 1.

    Returns
    -------
    (..., n) ranks
    """
    array = np.asarray(values, np.float64)
    return np.asarray(rankdata(-array if higher_is_better else array, axis=-1), np.float64)


def _interval(
    a: FloatArray, b: FloatArray, replicates: int, rng: np.random.Generator, level: float
) -> tuple[float | None, float | None]:
    n, found = len(a), []
    u, v = a - a.mean(), b - b.mean()
    moments = np.column_stack([u, v, u * u, v * v, u * v])
    step = max(1, 1_000_000 // n)
    for start in range(0, replicates, step):
        drawn = rng.integers(n, size=(min(step, replicates - start), n))
        places = drawn + n * np.arange(len(drawn))[:, None]
        counts = np.bincount(places.ravel(), minlength=drawn.size).reshape(drawn.shape)
        x, y, xx, yy, xy = (counts.astype(np.float64) @ moments).T / n
        scale2 = (xx - x * x) * (yy - y * y)
        varies = (xx - x * x > _LEAST_SHARE * xx) & (yy - y * y > _LEAST_SHARE * yy)
        found.append(((xy - x * y)[varies]) / np.sqrt(scale2[varies]))
    kept = np.concatenate(found)
    if len(kept) < replicates // 2:
        return None, None
    lower, upper = np.quantile(kept, [0.5 - level / 2, 0.5 + level / 2])
    return float(lower), float(upper)
