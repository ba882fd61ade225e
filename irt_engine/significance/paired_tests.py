"""Tests of whether chatbots differ, one result type for all; and corrections for asking many questions at once.

| design | test | here |
|---|---|---|
| two chatbots, one must be chosen; or one chatbot against a fixed share | binomial | `binomial` |
| two chatbots, any may be chosen in the same turn | McNemar (1947) | `mcnemar` |
| several chatbots, one must be chosen | Pearson's chi-square | `chi_square` |
| several chatbots, any may be chosen in the same turn | Cochran's Q (1950) | `cochran_q` |

This is the choice of tests in Table 1 of the study of interactive evaluations whose sample sizes `power` reproduces.
All p values are two-sided; a test without any evidence (no discordant turn) has statistic 0 and p = 1.
Every test takes turns as independent: votes that share their replies are not, and the models in `fit` know that.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from scipy.stats import binomtest, chi2, chisquare

from irt_engine.arrays import BoolArray, FloatArray, IntArray, array_of, check_seed, frozen, is_number, numbers
from irt_engine.errors import EngineWarning, InvalidResponses

_EXPECTED = 5.0  # counts below which the chi-square approximation is doubted (Cochran 1954)
_DISCORDANT = 25  # discordant turns below which McNemar's chi-square is doubted
_INFORMATIVE = 24  # informative entries below which Cochran's Q is doubted (Tate & Brown 1970)
_DRAWS = 20_000
_CHUNK = 2_000  # draws at a time, so that memory does not grow with their number
MOST_COUNTED = 2**53  # up to here floating-point numbers are whole one by one
MAX_CONTRASTS = 5_000  # a covariance of 5000 x 5000 numbers is 200 MB


@dataclass(frozen=True, slots=True)
class Significance:
    """Store the result of a test.

    Parameters
    ----------
    method : str
        Name of the test.
    statistic : float
        The count, z, chi-square or Q.
    p : float
        Two-sided p value.
    n : int
        Number of turns.
    effect : float
        Observed difference of shares; see each test.
    df : int, optional
        Degrees of freedom.
    """

    method: str
    statistic: float
    p: float
    n: int
    effect: float
    df: int | None = None


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


def binomial(wins: int, n: int, *, null: float = 0.5, method: Literal["exact", "normal"] = "exact") -> Significance:
    """Test whether a share differs from a null value.

    The exact p value adds the probabilities of all outcomes that are no more likely than the observed one, as R's
    binom.test. The normal statistic is z = (wins - n null) / sqrt(n null (1 - null)), without continuity correction.

    Parameters
    ----------
    wins, n : int
        Wins and trials; ties are no trials.
    null : float
        Share under the null hypothesis.
    method : {"exact", "normal"}
        The method.

    Returns
    -------
    Significance
        The result, with effect = wins / n - null.

    Raises
    ------
    InvalidResponses
        If an argument is out of range.
    """
    n, wins = check_count(n, "n", least=1), check_count(wins, "wins")
    check_probability(null, "null")
    if wins > n:
        raise InvalidResponses(f"{wins} wins in {n} trials", code="bad_count", hint="n counts the losses too")
    effect = wins / n - null
    if check_method(method, "exact", "normal") == "exact":
        p = float(binomtest(wins, n, null).pvalue)
        return Significance("exact binomial", float(wins), min(p, 1.0), n, effect)
    from statsmodels.stats.proportion import proportions_ztest  # late: importing it takes longer than any test

    z, p = proportions_ztest(wins, n, value=null, prop_var=null)
    if n * min(null, 1.0 - null) < _EXPECTED:
        _doubt("normal binomial", f"fewer than {_EXPECTED:g} expected", "method='exact'")
    return Significance("normal binomial", float(z), float(p), n, effect)


def mcnemar(
    only_a: int,
    only_b: int,
    *,
    both: int = 0,
    neither: int = 0,
    method: Literal["exact", "chi_square"] = "exact",
    corrected: bool = False,
) -> Significance:
    """Test whether B is selected as often as A in the same turns.

    The exact method is a binomial test of the discordant turns; its statistic is the smaller count. The chi-square
    method is (only_a - only_b)^2 / (only_a + only_b) with one degree of freedom.

    Parameters
    ----------
    only_a, only_b : int
        Turns in which only A, or only B, was selected.
    both, neither : int
        Other turns; they only scale the effect.
    method : {"exact", "chi_square"}
        The method.
    corrected : bool
        Apply Edwards' continuity correction.

    Returns
    -------
    Significance
        The result, with effect = (only_b - only_a) / all turns.

    Raises
    ------
    InvalidResponses
        If an argument is out of range.

    References
    ----------
    Q. McNemar (1947), Note on the sampling error of the difference between correlated proportions or percentages,
    Psychometrika 12, 153-157.
    A. L. Edwards (1948), Note on the "correction for continuity" in testing the significance of the difference between
    correlated proportions, Psychometrika 13, 185-187.
    """
    names = ("only_a", "only_b", "both", "neither")
    counts = [check_count(x, name) for x, name in zip((only_a, only_b, both, neither), names, strict=True)]
    n, discordant = sum(counts), counts[0] + counts[1]
    if n == 0:
        raise InvalidResponses("there are no turns", code="no_votes", hint="at least one turn is needed")
    effect = (counts[1] - counts[0]) / n
    exact = check_method(method, "exact", "chi_square") == "exact"
    name, df = ("exact McNemar", None) if exact else ("McNemar", 1)
    if discordant == 0:
        return Significance(name, 0.0, 1.0, n, effect, df)
    if not exact and discordant < _DISCORDANT:
        _doubt(name, f"fewer than {_DISCORDANT} discordant turns", "method='exact'")
    if corrected and not exact and counts[0] == counts[1]:  # a correction takes no difference below 0
        return Significance(name, 0.0, 1.0, n, effect, df)
    from statsmodels.stats.contingency_tables import mcnemar as test

    found = test([[counts[2], counts[0]], [counts[1], counts[3]]], exact=exact, correction=corrected)
    return Significance(name, float(found.statistic), min(float(found.pvalue), 1.0), n, effect, df)


def chi_square(counts: ArrayLike) -> Significance:
    """Test whether k chatbots are chosen equally often, by Pearson's chi-square.

    Parameters
    ----------
    counts : array_like of int, shape (k,)
        Number of turns that each chatbot won.

    Returns
    -------
    Significance
        The result with k - 1 degrees of freedom; the effect is the largest minus the smallest share.

    Raises
    ------
    InvalidResponses
        If the values are no counts.
    """
    won = win_counts(counts)
    n, k = int(won.sum()), len(won)
    if n < _EXPECTED * k:
        _doubt("Pearson's chi-square", f"fewer than {_EXPECTED:g} expected wins", "more turns")
    found = chisquare(won)
    return Significance(
        "Pearson's chi-square", float(found.statistic), float(found.pvalue), n, float(np.ptp(won) / n), k - 1
    )


def cochran_q(selections: ArrayLike) -> Significance:
    """Test whether k chatbots are selected equally often in the same turns, by Cochran's Q.

    Turns in which all or none are selected contain no evidence. For k = 2 the test is McNemar's.

    Parameters
    ----------
    selections : array_like of int, shape (n, k)
        Rows of 0 and 1, one per turn.

    Returns
    -------
    Significance
        The result with k - 1 degrees of freedom; the effect is the largest minus the smallest share.

    Raises
    ------
    InvalidResponses
        If the values are no selections.

    References
    ----------
    W. G. Cochran (1950), The comparison of percentages in matched samples, Biometrika 37, 256-266.
    """
    x = selection_rows(selections)
    n, k = x.shape
    effect = float(np.ptp(x.mean(axis=0)))
    selected = x.sum(axis=1)
    informative = int(np.count_nonzero((selected > 0) & (selected < k)))
    if informative == 0:
        return Significance("Cochran's Q", 0.0, 1.0, n, effect, k - 1)
    if informative * k < _INFORMATIVE:
        _doubt("Cochran's Q", "few turns in which some but not all were selected", "more turns")
    from statsmodels.stats.contingency_tables import cochrans_q

    statistic = float(cochrans_q(x).statistic)
    return Significance("Cochran's Q", statistic, float(chi2.sf(statistic, k - 1)), n, effect, k - 1)


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


def win_counts(counts: ArrayLike) -> IntArray:
    """Return checked win counts.

    Parameters
    ----------
    counts : array_like of int, shape (k,)
        Wins of k >= 2 chatbots, at least one in all.

    Returns
    -------
    ndarray of int, shape (k,)
        The counts.

    Raises
    ------
    InvalidResponses
        If the values are no such counts.
    """
    won = array_of(counts, "counts")
    if won.ndim != 1 or len(won) < 2:
        raise InvalidResponses("counts is not one number per chatbot", code="shape", hint="give two or more counts")
    checked = np.array([check_count(x, "counts") for x in won.tolist()], np.int64)
    if checked.sum() == 0:
        raise InvalidResponses("nobody won a turn", code="no_votes", hint="at least one turn is needed")
    return checked


def selection_rows(selections: ArrayLike) -> IntArray:
    """Return checked matched selections.

    Parameters
    ----------
    selections : array_like of int, shape (n, k)
        n >= 1 rows of 0 and 1 for k >= 2 chatbots.

    Returns
    -------
    ndarray of int, shape (n, k)
        The selections.

    Raises
    ------
    InvalidResponses
        If the values are no such selections.
    """
    x = array_of(selections, "selections")
    if x.ndim != 2 or x.shape[1] < 2:
        raise InvalidResponses(
            "selections is not a table of turns by chatbots", code="shape", hint="give rows of two or more 0s and 1s"
        )
    if len(x) == 0:
        raise InvalidResponses("there are no turns", code="no_votes", hint="at least one turn is needed")
    if x.dtype.kind not in "biuf" or not np.isin(x, (0, 1)).all():
        raise InvalidResponses(
            "a selection is neither 0 nor 1", code="bad_selection", hint="1 = selected, 0 = not; unknown is neither"
        )
    return x.astype(np.int64)


def check_count(value: object, name: str, *, least: int = 0) -> int:
    """Return a checked whole number.

    Parameters
    ----------
    value : object
        The value; 3.0 passes, True and 3.5 do not.
    name : str
        Name of the argument, for the error.
    least : int
        Least value.

    Returns
    -------
    int
        The number.

    Raises
    ------
    InvalidResponses
        If the value is anything else.
    """
    if not is_number(value) or not -MOST_COUNTED <= value <= MOST_COUNTED or not float(value).is_integer():
        raise InvalidResponses(
            f"{name} is {value!r}, not a count", code="bad_count", hint="give a whole number, of at most 2^53"
        )
    number = int(value)
    if number < least:
        raise InvalidResponses(
            f"{name} is {value!r}, below {least}", code="bad_count", hint=f"give a whole number of at least {least}"
        )
    return number


def check_probability(value: float, name: str) -> float:
    """Return a checked number between 0 and 1, both excluded.

    Parameters
    ----------
    value : float
        The value.
    name : str
        Name of the argument, for the error.

    Returns
    -------
    float
        The number.

    Raises
    ------
    InvalidResponses
        If the value is anything else.
    """
    if not is_number(value) or not 0.0 < value < 1.0:
        raise InvalidResponses(
            f"{name} {value} is outside (0, 1)", code="bad_probability", hint="give for example 0.05"
        )
    return value


def check_method(method: str, *known: str) -> str:
    """Return a checked method.

    Parameters
    ----------
    method : str
        The method.
    *known : str
        The methods that exist.

    Returns
    -------
    str
        The method.

    Raises
    ------
    InvalidResponses
        If the method is unknown.
    """
    if str(method) not in known:
        raise InvalidResponses(f"unknown method {method!r}", code="unknown_method", hint=f"use one of {known}")
    return method


def _doubt(test: str, why: str, instead: str) -> None:
    warnings.warn(EngineWarning(f"{test} with {why} is a rough approximation; use {instead}"), stacklevel=3)
