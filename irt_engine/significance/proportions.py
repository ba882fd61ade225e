"""Shares of few trials: exact intervals, and tests against a required share.

Notation: k of n trials succeeded; theta is the probability of success.
"""

from __future__ import annotations

from dataclasses import dataclass

from scipy.stats import beta, binom

from irt_engine.errors import InvalidResponses
from irt_engine.significance.argument_checks import check_count, check_probability


@dataclass(frozen=True, slots=True)
class Share:
    """Store a share k / n with an interval of the true share.

    Parameters
    ----------
    k, n : int
        Successes and trials.
    value : float or None
        k / n; None without trials.
    lower, upper : float
        Interval; 0 and 1 without trials.
    """

    k: int
    n: int
    value: float | None
    lower: float
    upper: float


def share(k: int, n: int, *, level: float = 0.95) -> Share:
    """Return a share with its exact interval.

    The lower bound solves P(X >= k | theta) = (1 - level) / 2, and the upper bound P(X <= k | theta) = (1 - level) / 2.

    Parameters
    ----------
    k, n : int
        Successes and trials.
    level : float
        Least coverage.

    Returns
    -------
    Share
        The share.

    Raises
    ------
    InvalidResponses
        If an argument is out of range.

    References
    ----------
    C. J. Clopper and E. S. Pearson (1934), The use of confidence or fiducial limits illustrated in the case of the
    binomial, Biometrika 26, 404-413.
    """
    k, n = _counts(k, n)
    tail = (1.0 - check_probability(level, "level")) / 2.0
    lower = float(beta.ppf(tail, k, n - k + 1)) if k else 0.0
    upper = float(beta.ppf(1.0 - tail, k + 1, n - k)) if k < n else 1.0
    return Share(k, n, k / n if n else None, lower, upper)


def chance_below(k: int, n: int, mark: float) -> float:
    """Return P(X <= k | theta = mark), the probability of at most k successes.

    Parameters
    ----------
    k, n : int
        Successes and trials.
    mark : float
        True share.

    Returns
    -------
    float
        The probability; 1 without trials.
    """
    k, n = _counts(k, n)
    return float(binom.cdf(k, n, check_probability(mark, "mark")))


def _counts(k: int, n: int) -> tuple[int, int]:
    n, k = check_count(n, "n"), check_count(k, "k")
    if k > n:
        raise InvalidResponses(f"{k} of {n}", code="bad_count", hint="n counts the failures too")
    return k, n
