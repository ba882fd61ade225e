"""Approximate intervals of a share: Wilson's score interval, and Wald's for comparison with published tables.

Notation: k of n trials succeeded, p = k / n, z the normal quantile of the level. The exact interval is
`irt_engine.significance.share`.
"""

from __future__ import annotations

import math
from typing import Literal

from scipy.special import ndtri

from irt_engine.errors import InvalidResponses
from irt_engine.significance.argument_checks import check_count, check_method, check_probability
from irt_engine.significance.proportions import Share

IntervalMethod = Literal["wilson", "wald"]


def share_interval(k: int, n: int, *, method: IntervalMethod = "wilson", level: float = 0.95) -> Share:
    """Return the share k / n with an approximate interval.

    Parameters
    ----------
    k : int
        Successes.
    n : int
        Trials, at least one.
    method : {"wilson", "wald"}
        Wilson's interval holds its level also for small n and for shares near 0 or 1. Wald's is p +- z SE, cut at 0
        and 1; many published tables use it.
    level : float
        Coverage probability of the interval.

    Returns
    -------
    Share
        The share and its interval.

    Raises
    ------
    InvalidResponses
        If a count is not a whole number, k > n, or `level` is outside (0, 1).

    References
    ----------
    Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. JASA 22, 209-212.
    Brown, L. D., Cai, T. T. and DasGupta, A. (2001). Interval estimation for a binomial proportion.
    Statistical Science 16, 101-133.

    Examples
    --------
    >>> found = share_interval(111, 128, method="wald")
    >>> round(found.lower, 2), round(found.upper, 2)
    (0.81, 0.93)
    """
    n, k = check_count(n, "n", least=1), check_count(k, "k")
    if k > n:
        raise InvalidResponses(f"{k} of {n}", code="bad_count", hint="n counts the failures too")
    z = float(ndtri(0.5 + check_probability(level, "level") / 2.0))
    if check_method(method, "wilson", "wald") == "wilson":
        lower, upper = wilson_bounds(k / n, n, z)
    else:
        half = z * math.sqrt(k / n * (1.0 - k / n) / n)
        lower, upper = max(k / n - half, 0.0), min(k / n + half, 1.0)
    return Share(k, n, k / n, lower, upper)


def wilson_bounds(p: float, n: float, z: float) -> tuple[float, float]:
    """Return the bounds that solve |p - theta| = z sqrt(theta (1 - theta) / n) for theta.

    Parameters
    ----------
    p : float
        Observed share.
    n : float
        Trials. An effective sample size need not be a whole number.
    z : float
        Critical value: a normal quantile, or one of Student's t.

    Returns
    -------
    tuple of float
        Lower and upper bound; exactly 0 and 1 at the ends of the range.
    """
    centre = (p + z * z / (2.0 * n)) / (1.0 + z * z / n)
    half = z / (1.0 + z * z / n) * math.sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n))
    return (max(centre - half, 0.0) if p > 0.0 else 0.0), (min(centre + half, 1.0) if p < 1.0 else 1.0)
