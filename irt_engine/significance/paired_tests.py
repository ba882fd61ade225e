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
    """What a test found.

    method      its name
    statistic   the count, z, chi-square or Q that p was read from
    p           two-sided probability of a statistic at least as extreme when nothing differs
    n           turns
    effect      the observed value of what `power` calls the difference: a difference of shares (see each test)
    df          degrees of freedom, None where the reference distribution has none
    """

    method: str
    statistic: float
    p: float
    n: int
    effect: float
    df: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Adjusted:
    """A family of k tests: p (k,) as found, adjusted (k,) as to be read; adjusted >= p."""

    method: str
    p: FloatArray
    adjusted: FloatArray

    def rejected(self, alpha: float = 0.05) -> BoolArray:
        """(k,) which tests reject while the chance of any false one stays at most alpha. Raises InvalidResponses."""
        check_probability(alpha, "alpha")
        rejected: BoolArray = self.adjusted <= alpha
        return rejected


@dataclass(frozen=True, slots=True, eq=False)
class SimultaneousContrasts:
    """Intervals (k, 2) that all hold together at `level`: mean +- critical * SE; adjusted (k,) p values to match."""

    level: float
    critical: float
    interval: FloatArray
    adjusted: FloatArray


def binomial(wins: int, n: int, *, null: float = 0.5, method: Literal["exact", "normal"] = "exact") -> Significance:
    """Is the share wins / n another than `null`? Ties are no trials: leave them out of n.

    `exact` adds up the outcomes that are no more likely than the one seen (as R's binom.test does); its statistic is
    the count. `normal` is z = (wins - n null) / sqrt(n null (1 - null)), without continuity correction.
    effect = wins / n - null. Raises InvalidResponses.
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
    """Is B selected more or less often than A in the same turns? McNemar (1947).

    Turns in which both or neither was selected hold no evidence; they only set the scale of the effect, which is
    (only_b - only_a) / all turns. `exact` is a binomial test of the discordant turns, its statistic the smaller
    count; `chi_square` is (only_a - only_b)^2 / (only_a + only_b), `corrected` for continuity on demand (Edwards
    1948), with one df. Raises InvalidResponses.
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
    """Are k chatbots chosen equally often? counts (k,) of the turns that each one won. Pearson (1900), df = k - 1.

    effect = largest minus smallest share. Raises InvalidResponses.
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
    """Are k chatbots selected equally often in the same turns? Cochran (1950), df = k - 1; for k = 2 McNemar's.

    selections (n, k) of 0 and 1: row = turn, 1 = this chatbot's reply was selected. Turns in which all or none were
    selected hold no evidence. effect = largest minus smallest share of selections. Raises InvalidResponses.
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
    """Adjusted p values (k,) by Holm's step-down rule (1979), whatever the dependence. Raises InvalidResponses."""
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
    """Intervals for k jointly normal quantities, mean (k,) and covariance (k, k), that cover all of them at `level`.

    The critical value is the quantile of the largest |z| of the family (single step; Hothorn, Bretz & Westfall
    2008), from `draws` draws: a Monte Carlo error of about 0.01 at the default. It uses the correlations, so it is
    never wider than Bonferroni's, and where differences share a chatbot it is narrower. Critical value and adjusted p
    are held to the bounds that theory sets: no smaller than for a single test, no larger than by Sidak's inequality
    (1967). The same seed gives the same numbers. Raises InvalidResponses.
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
    """(k,) validated wins of k >= 2 chatbots, at least one in all. Raises InvalidResponses."""
    won = array_of(counts, "counts")
    if won.ndim != 1 or len(won) < 2:
        raise InvalidResponses("counts is not one number per chatbot", code="shape", hint="give two or more counts")
    checked = np.array([check_count(x, "counts") for x in won.tolist()], np.int64)
    if checked.sum() == 0:
        raise InvalidResponses("nobody won a turn", code="no_votes", hint="at least one turn is needed")
    return checked


def selection_rows(selections: ArrayLike) -> IntArray:
    """(n, k) validated matched selections, n >= 1 turns of k >= 2 chatbots. Raises InvalidResponses."""
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
    """`value` as a whole number >= least; 3.0 passes, True and 3.5 do not. Raises InvalidResponses."""
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
    """A number strictly between 0 and 1. Raises InvalidResponses."""
    if not is_number(value) or not 0.0 < value < 1.0:
        raise InvalidResponses(
            f"{name} {value} is outside (0, 1)", code="bad_probability", hint="give for example 0.05"
        )
    return value


def check_method(method: str, *known: str) -> str:
    """One of the known methods. Raises InvalidResponses."""
    if str(method) not in known:
        raise InvalidResponses(f"unknown method {method!r}", code="unknown_method", hint=f"use one of {known}")
    return method


def _doubt(test: str, why: str, instead: str) -> None:
    warnings.warn(EngineWarning(f"{test} with {why} is a rough approximation; use {instead}"), stacklevel=3)
