"""Sample size and power of tests that several chatbots differ: Pearson's chi-square and Cochran's Q."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chndtrinc
from scipy.stats import chi2, ncx2

from irt_engine.arrays import FloatArray, check_seed
from irt_engine.errors import InvalidResponses, NotIdentified
from irt_engine.power.experiment_sizes import check_difference, check_levels, round_up
from irt_engine.significance.argument_checks import (
    check_count,
    check_method,
    check_probability,
    selection_rows,
    win_counts,
)


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
    return round_up(_noncentrality(df, alpha, power) / per_turn)


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
    size = round_up(_noncentrality(rows.k - 1, alpha, power) / rows.information)
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
    check_difference(difference)
    mean = shares.mean()
    stretched: FloatArray = mean + (shares - mean) * abs(difference) / gap
    return stretched


def _noncentrality(df: int, alpha: float, power: float) -> float:
    """lambda with P(chi-square(df, lambda) > critical value) = power."""
    check_levels(alpha, power)
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
