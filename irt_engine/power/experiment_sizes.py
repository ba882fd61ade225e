"""How many judgments an experiment needs, and what power a given number has.

For the tests of `significance`: closed forms, exact binomial sums, noncentral chi-squares, and a simulation for
Cochran's Q. A campaign whose votes are fitted by `fit` is `campaign_sizes`' business.

Notation: d difference, alpha two-sided level, power = 1 - beta; z_a and z_b are the normal quantiles of 1 - alpha / 2
and of power.

`quantiles="rounded"` (the default) rounds z_a and z_b to two decimals, as the printed tables and the published sample
sizes of interactive evaluations do (1.96 and 0.84 give 196, 667 and 126); "exact" does not, and asks for up to 0.3 %
more. All sizes are rounded up, and count independent turns.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chndtrinc, ndtr, ndtri
from scipy.stats import binom, chi2, ncx2

from irt_engine.arrays import FloatArray, check_seed, is_number
from irt_engine.errors import InvalidResponses, NotIdentified
from irt_engine.significance.paired_tests import (
    check_count,
    check_method,
    check_probability,
    selection_rows,
    win_counts,
)

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
        return _up((za + zb) ** 2 * at_null / difference**2)
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
        return _up(size)
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


def chi_square_size(difference: float | None, pilot: ArrayLike, *, alpha: float = 0.05, power: float = 0.8) -> int:
    """Return the number of turns for Pearson's chi-square test that k chatbots differ.

    One chatbot is chosen per turn. n = lambda / w^2 with w^2 = k sum (p_i - 1/k)^2, and lambda is the noncentrality of
    k - 1 degrees of freedom with this power. For a given d the result depends on the shape of the shares, by a factor
    of up to k / 2. A small pilot without d promises too much: chance adds (k - 1) / n_pilot to w^2.

    Parameters
    ----------
    difference : float or None
        Largest gap d, to which the pilot's shares are stretched around 1 / k; None keeps them.
    pilot : array_like of int, shape (k,)
        Win counts.
    alpha : float
        Level.
    power : float
        Power.

    Returns
    -------
    int
        Number of turns.

    Raises
    ------
    InvalidResponses
        If an argument is out of range.
    NotIdentified
        If all counts are equal.

    References
    ----------
    J. Cohen (1988), Statistical power analysis for the behavioral sciences, 2nd ed., chapter 7.
    """
    per_turn, df = _chi_square_information(difference, pilot)
    return _up(_noncentrality(df, alpha, power) / per_turn)


def chi_square_power(n: int, difference: float | None, pilot: ArrayLike, *, alpha: float = 0.05) -> float:
    """Return the power of Pearson's chi-square test; the inverse of `chi_square_size`.

    Parameters
    ----------
    n : int
        Number of turns.
    difference, pilot, alpha
        As in `chi_square_size`.

    Returns
    -------
    float
        The power.

    Raises
    ------
    InvalidResponses
        If an argument is out of range.
    """
    per_turn, df = _chi_square_information(difference, pilot)
    return _noncentral_power(check_count(n, "n", least=1) * per_turn, df, alpha)


def cochran_size(
    difference: float | None,
    pilot: ArrayLike,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    method: Literal["noncentral", "simulated"] = "noncentral",
    draws: int = 20_000,
    seed: int = 0,
) -> int:
    """Return the number of turns for Cochran's Q test that k chatbots differ.

    Any number of chatbots may be selected in a turn. The pilot's rows are reweighted, with the smallest
    Kullback-Leibler distance, until the largest gap of the shares is d. The noncentral method is n = lambda / (k (k -
    1) sum (p_i - mean p)^2 / E[u (k - u)]), where u of the k chatbots are selected in a turn. For k = 2 it is the
    normal size of `mcnemar_size`. The simulated method needs neither large samples nor equal correlations; its Monte
    Carlo error is about 1 % of n. A pilot usually has 150-200 turns.

    Parameters
    ----------
    difference : float or None
        Largest gap d; None keeps the pilot's shares.
    pilot : array_like of int, shape (n, k)
        Rows of 0 and 1, one per turn.
    alpha : float
        Level.
    power : float
        Power.
    method : {"noncentral", "simulated"}
        The method.
    draws : int
        Simulated experiments.
    seed : int
        Seed of the simulation.

    Returns
    -------
    int
        Number of turns.

    Raises
    ------
    InvalidResponses
        If an argument is out of range.
    NotIdentified
        If all shares are equal.
    """
    rows = _matched(difference, pilot)
    simulated = check_method(method, "noncentral", "simulated") == "simulated"
    size = _up(_noncentrality(rows.k - 1, alpha, power) / rows.information)
    if not simulated:
        return size
    draws = check_count(draws, "draws", least=100)
    high = size
    while _simulated_q(rows, high, alpha, draws, seed) < power:
        high *= 2
    return 1 + bisect_left(range(1, high), power, key=lambda n: _simulated_q(rows, n, alpha, draws, seed))


def cochran_power(
    n: int,
    difference: float | None,
    pilot: ArrayLike,
    *,
    alpha: float = 0.05,
    method: Literal["noncentral", "simulated"] = "noncentral",
    draws: int = 20_000,
    seed: int = 0,
) -> float:
    """Return the power of Cochran's Q test; the inverse of `cochran_size`.

    Parameters
    ----------
    n : int
        Number of turns.
    difference, pilot, alpha, method, draws, seed
        As in `cochran_size`.

    Returns
    -------
    float
        The power.

    Raises
    ------
    InvalidResponses
        If an argument is out of range.
    """
    n, rows = check_count(n, "n", least=1), _matched(difference, pilot)
    if check_method(method, "noncentral", "simulated") == "simulated":
        check_probability(alpha, "alpha")
        return _simulated_q(rows, n, alpha, check_count(draws, "draws", least=100), seed)
    return _noncentral_power(n * rows.information, rows.k - 1, alpha)


def _chi_square_information(difference: float | None, pilot: ArrayLike) -> tuple[float, int]:
    """w^2, what one turn adds to the noncentrality, and the df."""
    counts = win_counts(pilot)
    k = len(counts)
    shares = _stretched(counts / counts.sum(), difference)
    if shares.min() < 0.0:
        raise _out_of_reach(difference)
    return float(k * ((shares - 1.0 / k) ** 2).sum()), k - 1


def _stretched(shares: FloatArray, difference: float | None) -> FloatArray:
    """(k,) shares whose largest gap is |d|, with the mean and the shape of the pilot's."""
    gap = float(np.ptp(shares))
    if gap == 0.0:
        raise NotIdentified(
            "the pilot's shares are all equal",
            code="no_difference",
            hint="give the shape that you expect, for example 30, 25, 25, 20, as the pilot",
        )
    if difference is None:
        return shares
    _check_difference(difference)
    mean = shares.mean()
    stretched: FloatArray = mean + (shares - mean) * abs(difference) / gap
    return stretched


def _noncentrality(df: int, alpha: float, power: float) -> float:
    """lambda with P(chi-square(df, lambda) > critical value) = power."""
    _check_levels(alpha, power)
    return float(chndtrinc(chi2.isf(alpha, df), df, 1.0 - power))


def _noncentral_power(noncentrality: float, df: int, alpha: float) -> float:
    check_probability(alpha, "alpha")
    return float(ncx2.sf(chi2.isf(alpha, df), df, noncentrality))


@dataclass(frozen=True, slots=True, eq=False)
class _Matched:
    """The distinct rows (P, k) of matched selections, and the probability (P,) of each."""

    rows: FloatArray
    weight: FloatArray

    @property
    def k(self) -> int:
        return int(self.rows.shape[1])

    @property
    def contrast(self) -> FloatArray:
        """(P,) u (k - u): how many pairs of chatbots the turn tells apart."""
        u = self.rows.sum(axis=1)
        contrast: FloatArray = u * (self.k - u)
        return contrast

    @property
    def information(self) -> float:
        """What one turn adds to the noncentrality of Q."""
        shares = self.weight @ self.rows
        return float(self.k * (self.k - 1) * ((shares - shares.mean()) ** 2).sum() / (self.weight @ self.contrast))


def _matched(difference: float | None, pilot: ArrayLike) -> _Matched:
    rows, counts = np.unique(selection_rows(pilot), axis=0, return_counts=True)
    matched = _Matched(rows.astype(np.float64), counts / counts.sum())
    shares = matched.weight @ matched.rows
    target = _stretched(shares, difference)
    return matched if difference is None else _tilted(matched, target, difference)


def _tilted(matched: _Matched, target: FloatArray, difference: float) -> _Matched:
    """The reweighting w exp(t x) of the rows x that has the target's shares: Newton's steps on its convex dual."""
    t = np.zeros(matched.k)
    weight = matched.weight
    for _ in range(100):
        lacking = target - weight @ matched.rows
        if np.abs(lacking).max() < 1e-10:
            return _Matched(matched.rows, weight)
        centred = matched.rows - weight @ matched.rows
        step = np.linalg.lstsq((weight[:, None] * centred).T @ centred, lacking, rcond=1e-10)[0]
        t = t + step * min(1.0, 2.0 / np.abs(step).max(initial=2.0))
        power = matched.rows @ t
        weight = matched.weight * np.exp(power - power.max())
        weight = weight / weight.sum()
    raise _out_of_reach(difference)


def _simulated_q(matched: _Matched, n: int, alpha: float, draws: int, seed: int) -> float:
    """Share of `draws` samples of n turns in which Cochran's Q rejects."""
    k = matched.k
    counts = np.random.default_rng(check_seed(seed)).multinomial(n, matched.weight, size=draws)
    totals, contrast = counts @ matched.rows, counts @ matched.contrast
    spread = k * (k - 1) * ((totals - totals.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    return float(np.mean((contrast > 0.0) & (spread >= chi2.isf(alpha, k - 1) * contrast)))


def _out_of_reach(difference: float | None) -> InvalidResponses:
    return InvalidResponses(
        f"the pilot cannot be stretched to a difference of {difference}",
        code="bad_difference",
        hint="give a smaller difference, or a pilot in which the chatbots differ more",
    )


def _check_levels(alpha: float, power: float) -> None:
    check_probability(alpha, "alpha")
    if not (is_number(power) and alpha < power < 1.0):
        raise InvalidResponses(
            f"power {power} is outside (alpha, 1)", code="bad_power", hint="a test without any data has power alpha"
        )


def _check_difference(difference: float) -> None:
    if not (is_number(difference) and LEAST_DIFFERENCE <= abs(difference) < 1.0):
        raise InvalidResponses(
            f"a difference of {difference} cannot be found",
            code="bad_difference",
            hint=f"give the smallest difference of shares that matters, for example 0.1; at least {LEAST_DIFFERENCE:g}",
        )


def _check_shares(difference: float, null: float) -> None:
    check_probability(null, "null")
    _check_difference(difference)
    if not 0.0 <= null + difference <= 1.0:
        raise InvalidResponses(
            f"a share of {null} + {difference} is outside [0, 1]",
            code="bad_difference",
            hint="give a smaller difference",
        )


def _check_discordance(difference: float, discordance: float) -> None:
    _check_difference(difference)
    if not (is_number(discordance) and abs(difference) <= discordance <= 1.0):
        raise InvalidResponses(
            f"discordance {discordance} is outside [difference, 1]",
            code="bad_discordance",
            hint="two shares that differ by d are told apart in a share d of the turns at least",
        )


def _quantiles(alpha: float, power: float, quantiles: Quantiles) -> tuple[float, float]:
    """z_a and z_b."""
    _check_levels(alpha, power)
    return _quantile(alpha / 2.0, quantiles), _quantile(1.0 - power, quantiles)


def _quantile(upper_tail: float, quantiles: Quantiles) -> float:
    z = -float(ndtri(upper_tail))
    return round(z, 2) if check_method(quantiles, "rounded", "exact") == "rounded" else z


def _up(size: float) -> int:
    if not math.isfinite(size):
        raise InvalidResponses("no number of turns is enough", code="too_large", hint="give a larger alpha")
    return max(1, math.ceil(size * (1.0 - _ROUNDING)))
