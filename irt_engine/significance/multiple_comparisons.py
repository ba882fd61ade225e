"""Multiple comparisons: Holm's step-down procedure and simultaneous intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri
from scipy.stats import chi2

from irt_engine.arrays import BoolArray, FloatArray, check_seed, frozen, numbers
from irt_engine.errors import InvalidResponses
from irt_engine.significance.argument_checks import check_count, check_probability
from irt_engine.significance.paired_tests import MAX_CONTRASTS

_DRAWS = 20_000
_CHUNK = 2_000  # draws at a time, so that memory does not grow with their number


@dataclass(frozen=True, slots=True, eq=False)
class Adjusted:
    """Store the adjusted p values of a family of k tests.

    Parameters
    ----------
    method : str
        Name of the adjustment.
    p, adjusted : ndarray of float, shape (k,)
        p values before and after the adjustment.
    """

    method: str
    p: FloatArray
    adjusted: FloatArray

    def rejected(self, alpha: float = 0.05) -> BoolArray:
        """Return the rejected hypotheses at a familywise error rate.

        Parameters
        ----------
        alpha : float
            Largest probability of any false rejection.

        Returns
        -------
        ndarray of bool, shape (k,)
            Whether the hypothesis is rejected.

        Raises
        ------
        InvalidResponses
            If alpha is not between 0 and 1.
        """
        check_probability(alpha, "alpha")
        rejected: BoolArray = self.adjusted <= alpha
        return rejected


@dataclass(frozen=True, slots=True, eq=False)
class SimultaneousContrasts:
    """Store simultaneous intervals of k quantities.

    Parameters
    ----------
    level : float
        Joint probability.
    critical : float
        Critical value; the interval is mean +- critical * SE.
    interval : ndarray of float, shape (k, 2)
        Lower and upper bounds.
    adjusted : ndarray of float, shape (k,)
        Adjusted p values.
    """

    level: float
    critical: float
    interval: FloatArray
    adjusted: FloatArray


def holm(p: Sequence[float] | FloatArray) -> Adjusted:
    """Return p values adjusted by Holm's step-down procedure, for any dependence.

    Parameters
    ----------
    p : sequence of float, length k
        p values.

    Returns
    -------
    Adjusted
        The adjusted p values.

    Raises
    ------
    InvalidResponses
        If a value is no probability.

    References
    ----------
    S. Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6,
    65-70.
    """
    raw = numbers(p, "p")
    if raw.ndim != 1 or len(raw) == 0:
        raise InvalidResponses("p is not a list of p values", code="shape", hint="give one p value per test")
    if not ((raw >= 0.0) & (raw <= 1.0)).all():
        raise InvalidResponses("a p value is outside [0, 1]", code="bad_probability", hint="correct the p value")
    # By hand: statsmodels' multipletests collects the garbage of the whole process, some 50 ms, at every call.
    order = np.argsort(raw, kind="stable")
    stepped = np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1))
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(stepped, 1.0)
    return Adjusted("Holm", frozen(raw, np.float64), frozen(adjusted, np.float64))


def simultaneous(
    mean: FloatArray, covariance: FloatArray, *, level: float = 0.95, draws: int = _DRAWS, seed: int = 0
) -> SimultaneousContrasts:
    """Return simultaneous intervals for k jointly normal quantities.

    The critical value is the quantile of the largest |z| (single step). It uses the correlations, so that it is never
    wider than Bonferroni's. It lies between the value of a single test and Sidak's bound. The Monte Carlo error is
    about 0.01 with the default draws.

    Parameters
    ----------
    mean : ndarray of float, shape (k,)
        Means.
    covariance : ndarray of float, shape (k, k)
        Covariance.
    level : float
        Joint probability.
    draws : int
        Number of draws.
    seed : int
        Seed of the draws.

    Returns
    -------
    SimultaneousContrasts
        Intervals and adjusted p values.

    Raises
    ------
    InvalidResponses
        If an argument is out of range.

    References
    ----------
    T. Hothorn, F. Bretz and P. Westfall (2008), Simultaneous inference in general parametric models, Biometrical
    Journal 50, 346-363.
    Z. Sidak (1967), Rectangular confidence regions for the means of multivariate normal distributions, Journal of the
    American Statistical Association 62, 626-633.
    """
    check_probability(level, "level")
    m, cov = _normal(mean, covariance)
    se = np.sqrt(np.diag(cov))
    z = np.abs(m) / se
    root = _root(cov / np.outer(se, se))
    largest = np.sort(_largest(root, check_count(draws, "draws", least=100), check_seed(seed)))
    k = len(m)
    bounds = ndtri(0.5 + 0.5 * np.array([level, level ** (1.0 / k)]))
    critical = float(np.clip(np.quantile(largest, level), *bounds))
    raw = chi2.sf(z * z, 1)
    beyond = (1 + len(largest) - np.searchsorted(largest, z)) / (1 + len(largest))
    adjusted = np.clip(beyond, raw, -np.expm1(k * np.log1p(-np.minimum(raw, 1.0 - 1e-16))))
    interval = np.stack([m - critical * se, m + critical * se], axis=1)
    return SimultaneousContrasts(level, critical, frozen(interval, np.float64), frozen(adjusted, np.float64))


def _root(correlation: FloatArray) -> FloatArray:
    """(k, rank) R with R R' = correlation (k, k), which may be singular. Raises InvalidResponses."""
    values, vectors = np.linalg.eigh(correlation)
    if values[0] < -1e-8 * values[-1]:
        raise InvalidResponses(
            "covariance has a direction of negative variance", code="bad_covariance", hint="take it from one posterior"
        )
    kept = values > 1e-12 * values[-1]
    root: FloatArray = vectors[:, kept] * np.sqrt(values[kept])
    return root


def _largest(root: FloatArray, draws: int, seed: int) -> FloatArray:
    """(draws,) the largest |z| of families whose correlation is root root'."""
    rng = np.random.default_rng(seed)
    sizes = [min(_CHUNK, draws - done) for done in range(0, draws, _CHUNK)]
    parts = [np.abs(rng.standard_normal((size, root.shape[1])) @ root.T).max(axis=1) for size in sizes]
    return np.concatenate(parts)


def _normal(mean: FloatArray, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    m, cov = numbers(mean, "mean"), numbers(covariance, "covariance")
    if m.ndim != 1 or len(m) == 0 or cov.shape != (len(m), len(m)):
        raise InvalidResponses("mean is not (k,) or covariance not (k, k)", code="shape", hint="give one mean per row")
    if len(m) > MAX_CONTRASTS:
        raise InvalidResponses(
            f"{len(m)} quantities are more than {MAX_CONTRASTS}",
            code="too_many",
            hint="use holm, or ask fewer questions",
        )
    if not (np.isfinite(m).all() and np.isfinite(cov).all() and (np.diag(cov) > 0).all() and np.allclose(cov, cov.T)):
        raise InvalidResponses(
            "covariance is not symmetric with positive variances, or something is not finite",
            code="bad_covariance",
            hint="leave out quantities that are known exactly",
        )
    return m, cov
