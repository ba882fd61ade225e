"""Sample size and power of tests of shares: binomial and McNemar.

The methods are closed forms and exact binomial sums. For campaigns that are fitted by `fit`, see `campaign_sizes`.

Notation: d difference, alpha two-sided level, power = 1 - beta; z_a and z_b are the normal quantiles of 1 - alpha / 2
and of the power.

`quantiles="rounded"` (the default) rounds z_a and z_b to two decimals, as printed tables and published sample sizes do:
1.96 and 0.84 give 196, 667 and 126. "exact" needs up to 0.3 % more. All sizes are rounded up, and count independent
turns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from irt_engine.arrays import is_number
from irt_engine.errors import InvalidResponses
from irt_engine.significance.argument_checks import check_count, check_method, check_probability

Quantiles = Literal["rounded", "exact"]

MOST_TURNS = 1_000_000  # whose outcomes are gone through: half a second
MAX_EXACT = 5_000  # turns: beyond it exact and normal sizes agree to 2 % and the exact walk takes seconds
LEAST_DIFFERENCE = 1e-9  # of shares: more than 10^17 turns
_ROUNDING = 1e-9  # 7.84 * 0.25 / 0.1^2 is 196, whatever the floating point says
_SAME = 1e-7  # probabilities within this factor are ties (as R's binom.test has it)


def binomial_size(
    difference: float,
    *,
    null: float = 0.5,
    alpha: float = 0.05,
    power: float = 0.8,
    method: Literal["normal", "exact"] = "normal",
    quantiles: Quantiles = "rounded",
) -> int:
    """Return the number of turns for a two-sided binomial test.

    The normal method is n = (z_a + z_b)^2 null (1 - null) / d^2 with the null's variance. d = 0.1 needs 196 turns at
    null = 0.5 and 126 at null = 0.8. The exact method returns the smallest n from which on the exact test keeps the
    power, because its power is not monotone in n. At null = 0.5, d is half the gap between the two win rates: for a gap
    of 0.1, give 0.05.

    Parameters
    ----------
    difference : float
        Difference d of the share from `null`; its sign matters for the exact method.
    null : float
        Share under the null hypothesis.
    alpha : float
        Two-sided level.
    power : float
        Power.
    method : {"normal", "exact"}
        The method.
    quantiles : {"rounded", "exact"}
        Normal quantiles, rounded as in published tables or exact.

    Returns
    -------
    int
        Number of turns.

    Raises
    ------
    InvalidResponses
        If an argument is out of range.
    """
    _check_shares(difference, null)
    za, zb = _quantiles(alpha, power, quantiles)
    share = null + difference
    at_null, at_truth = null * (1.0 - null), share * (1.0 - share)  # of a share of 1, 1 - null - d may be below 0
    if check_method(method, "normal", "exact") == "normal":
        return round_up((za + zb) ** 2 * at_null / difference**2)
    guess = ((za * math.sqrt(at_null) + max(zb, 0.0) * math.sqrt(at_truth)) / difference) ** 2
    return _smallest_lasting(lambda n: _exact_binomial(n, difference, null, alpha), power, guess)


def binomial_power(
    n: int,
    difference: float,
    *,
    null: float = 0.5,
    alpha: float = 0.05,
    method: Literal["normal", "exact"] = "normal",
    quantiles: Quantiles = "rounded",
) -> float:
    """Return the power of a two-sided binomial test; the inverse of `binomial_size`.

    Parameters
    ----------
    n : int
        Number of turns.
    difference, null, alpha, method, quantiles
        As in `binomial_size`.

    Returns
    -------
    float
        The power. The normal method omits rejections on the wrong side.

    Raises
    ------
    InvalidResponses
        If an argument is out of range.
    """
    _check_shares(difference, null)
    n = check_count(n, "n", least=1)
    if check_method(method, "normal", "exact") == "exact":
        check_probability(alpha, "alpha")
        return _exact_binomial(_countable(n), difference, null, alpha)
    return _normal_power(n, difference, null * (1.0 - null), alpha, quantiles)


def mcnemar_size(
    difference: float,
    *,
    discordance: float = 0.85,
    alpha: float = 0.05,
    power: float = 0.8,
    method: Literal["normal", "exact"] = "normal",
    quantiles: Quantiles = "rounded",
) -> int:
    """Return the number of turns for McNemar's test of two shares of selection in the same turns.

    The normal method is n = (z_a + z_b)^2 discordance / d^2. The exact method averages the exact test over the number
    of discordant turns, and returns the smallest n from which on it keeps the power.

    Parameters
    ----------
    difference : float
        Difference d of the shares.
    discordance : float
        Share of turns in which exactly one is selected. 0.85 with d = 0.1 gives the published 667; a rate of your own
        is better.
    alpha : float
        Two-sided level.
    power : float
        Power.
    method : {"normal", "exact"}
        The method.
    quantiles : {"rounded", "exact"}
        As in `binomial_size`.

    Returns
    -------
    int
        Number of turns.

    Raises
    ------
    InvalidResponses
        If an argument is out of range.
    """
    _check_discordance(difference, discordance)
    za, zb = _quantiles(alpha, power, quantiles)
    size = (za + zb) ** 2 * discordance / difference**2
    if check_method(method, "normal", "exact") == "normal":
        return round_up(size)
    return _smallest_lasting(lambda n: _exact_mcnemar(n, difference, discordance, alpha), power, size)


def mcnemar_power(
    n: int,
    difference: float,
    *,
    discordance: float = 0.85,
    alpha: float = 0.05,
    method: Literal["normal", "exact"] = "normal",
    quantiles: Quantiles = "rounded",
) -> float:
    """Return the power of McNemar's test; the inverse of `mcnemar_size`.

    Parameters
    ----------
    n : int
        Number of turns.
    difference, discordance, alpha, method, quantiles
        As in `mcnemar_size`.

    Returns
    -------
    float
        The power.

    Raises
    ------
    InvalidResponses
        If an argument is out of range.
    """
    _check_discordance(difference, discordance)
    n = check_count(n, "n", least=1)
    if check_method(method, "normal", "exact") == "exact":
        check_probability(alpha, "alpha")
        return _exact_mcnemar(_countable(n), difference, discordance, alpha)
    return _normal_power(n, difference, discordance, alpha, quantiles)


def _normal_power(n: int, difference: float, variance: float, alpha: float, quantiles: Quantiles) -> float:
    za = _quantile(check_probability(alpha, "alpha") / 2.0, quantiles)
    return float(ndtr(abs(difference) * math.sqrt(n / variance) - za))


def _countable(n: int) -> int:
    """n turns, if their outcomes can be gone through one by one."""
    if n > MOST_TURNS:
        raise InvalidResponses(
            f"the outcomes of {n} turns are too many to go through", code="too_large", hint='use method "normal"'
        )
    return n


def _exact_binomial(n: int, difference: float, null: float, alpha: float) -> float:
    """P(the exact test rejects): outcomes whose likelier-or-not sum under the null is at most alpha."""
    k = np.arange(n + 1)
    under_null = binom.pmf(k, n, null)
    rising = np.sort(under_null)
    p = rising.cumsum()[np.searchsorted(rising, under_null * (1.0 + _SAME), side="right") - 1]
    return float(binom.pmf(k[p <= alpha], n, null + difference).sum())


def _exact_mcnemar(n: int, difference: float, discordance: float, alpha: float) -> float:
    """P(the exact test rejects), summed over the number m of discordant turns."""
    m = np.arange(n + 1)
    weight = binom.pmf(m, n, discordance)
    m, weight = m[weight > 1e-13], weight[weight > 1e-13]
    last = binom.ppf(alpha / 2.0, m, 0.5)
    last = np.where(binom.cdf(last, m, 0.5) <= alpha / 2.0, last, last - 1.0)  # the largest count that rejects
    up = 0.5 + 0.5 * difference / discordance
    return float(weight @ (binom.cdf(last, m, up) + binom.sf(m - last - 1.0, m, up)))


def _smallest_lasting(power_at: Callable[[int], float], power: float, guess: float) -> int:
    """The smallest n from which on the power is kept, walking down from well above a normal guess.

    Exact power goes up and down with n, so the first n that reaches it may be followed by one that does not.
    """
    n = math.ceil(1.25 * guess) + 40
    if n > MAX_EXACT:
        raise InvalidResponses(
            f"about {guess:.0f} turns are too many for the exact search", code="too_large", hint="use method='normal'"
        )
    while power_at(n) < power:
        if n > MAX_EXACT:  # rounding may keep the sum below a power so near to 1
            raise InvalidResponses(
                f"{n} turns do not reach a power of {power}", code="too_large", hint="ask for less power"
            )
        n *= 2
    while n > 1 and power_at(n - 1) >= power:
        n -= 1
    return n


def check_levels(alpha: float, power: float) -> None:
    """Check a level and a power.

    Parameters
    ----------
    alpha, power : float
        Probabilities with alpha < power.

    Raises
    ------
    InvalidResponses
        If they are anything else.
    """
    check_probability(alpha, "alpha")
    if not (is_number(power) and alpha < power < 1.0):
        raise InvalidResponses(
            f"power {power} is outside (alpha, 1)", code="bad_power", hint="a test without any data has power alpha"
        )


def check_difference(difference: float) -> None:
    """Check a difference of shares.

    Parameters
    ----------
    difference : float
        The difference.

    Raises
    ------
    InvalidResponses
        If it is almost 0, or outside -1..1.
    """
    if not (is_number(difference) and LEAST_DIFFERENCE <= abs(difference) < 1.0):
        raise InvalidResponses(
            f"a difference of {difference} cannot be found",
            code="bad_difference",
            hint=f"give the smallest difference of shares that matters, for example 0.1; at least {LEAST_DIFFERENCE:g}",
        )


def _check_shares(difference: float, null: float) -> None:
    check_probability(null, "null")
    check_difference(difference)
    if not 0.0 <= null + difference <= 1.0:
        raise InvalidResponses(
            f"a share of {null} + {difference} is outside [0, 1]",
            code="bad_difference",
            hint="give a smaller difference",
        )


def _check_discordance(difference: float, discordance: float) -> None:
    check_difference(difference)
    if not (is_number(discordance) and abs(difference) <= discordance <= 1.0):
        raise InvalidResponses(
            f"discordance {discordance} is outside [difference, 1]",
            code="bad_discordance",
            hint="two shares that differ by d are told apart in a share d of the turns at least",
        )


def _quantiles(alpha: float, power: float, quantiles: Quantiles) -> tuple[float, float]:
    """z_a and z_b."""
    check_levels(alpha, power)
    return _quantile(alpha / 2.0, quantiles), _quantile(1.0 - power, quantiles)


def _quantile(upper_tail: float, quantiles: Quantiles) -> float:
    z = -float(ndtri(upper_tail))
    return round(z, 2) if check_method(quantiles, "rounded", "exact") == "rounded" else z


def round_up(size: float) -> int:
    """Return the next whole number of turns.

    Parameters
    ----------
    size : float
        A computed size.

    Returns
    -------
    int
        The number, without excess by rounding errors.

    Raises
    ------
    InvalidResponses
        If the size is not finite (``too_large``).
    """
    if not math.isfinite(size):
        raise InvalidResponses("no number of turns is enough", code="too_large", hint="give a larger alpha")
    return max(1, math.ceil(size * (1.0 - _ROUNDING)))
