"""Tests whether chatbots differ, with one type of result.

| design | test | here |
|---|---|---|
| two chatbots, one must be chosen; or one chatbot against a fixed share | binomial | `binomial` |
| two chatbots, any may be chosen in the same turn | McNemar (1947) | `mcnemar` |
| several chatbots, one must be chosen | Pearson's chi-square | `chi_square` |
| several chatbots, any may be chosen in the same turn | Cochran's Q (1950) | `cochran_q` |

All p values are two-sided. A test without evidence (no discordant turn) has statistic 0 and p = 1. Every test treats
turns as independent, while the models of `fit` allow for votes on the same replies.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binomtest, chi2, chisquare

from irt_engine.errors import EngineWarning, InvalidResponses
from irt_engine.significance.argument_checks import (
    check_count,
    check_method,
    check_probability,
    selection_rows,
    win_counts,
)

_EXPECTED = 5.0  # counts below which the chi-square approximation is doubted (Cochran 1954)
_DISCORDANT = 25  # discordant turns below which McNemar's chi-square is doubted
_INFORMATIVE = 24  # informative entries below which Cochran's Q is doubted (Tate & Brown 1970)
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


def _doubt(test: str, why: str, instead: str) -> None:
    warnings.warn(EngineWarning(f"{test} with {why} is a rough approximation; use {instead}"), stacklevel=3)
