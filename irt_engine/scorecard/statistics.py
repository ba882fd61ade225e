"""Statistics of conversations as functions of bootstrap weights (B, n); see `resampling`."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from irt_engine.arrays import FloatArray, IntArray
from irt_engine.scorecard.resampling import Statistic


def ratio(numerators: ArrayLike, denominators: ArrayLike) -> Statistic:
    """Return the statistic sum(numerators) / sum(denominators), for example errors over replies.

    Parameters
    ----------
    numerators, denominators : (n,)
        Totals of each unit, for example of a conversation.

    Returns
    -------
    Statistic
    """
    top, bottom = np.asarray(numerators, np.float64), np.asarray(denominators, np.float64)

    def statistic(weights: FloatArray) -> FloatArray:
        return divided(weights @ top, weights @ bottom)

    return statistic


def median(values: ArrayLike) -> Statistic:
    """Return the median of the units' values; of an even number, the mean of the middle two.

    Parameters
    ----------
    values : (n,)
        Value of each unit.

    Returns
    -------
    Statistic
    """
    ranked, place = np.unique(np.asarray(values, np.float64), return_inverse=True)
    n = len(place)
    member = csr_array((np.ones(n), (np.arange(n), place)), shape=(n, len(ranked)))

    def statistic(weights: FloatArray) -> FloatArray:
        reached = np.cumsum(np.asarray(weights @ member), axis=1)
        half = reached[:, -1:] / 2
        middle = (ranked[(reached >= half).argmax(axis=1)] + ranked[(reached > half).argmax(axis=1)]) / 2
        return np.where(half[:, 0] > 0, middle, np.nan)

    return statistic


def domain_entropy(domains: IntArray) -> Statistic:
    """Return the entropy in bits of the distribution of conversations over domains.

    Parameters
    ----------
    domains : (n,)
        Number of each conversation's domain, from 0.

    Returns
    -------
    Statistic
    """
    member = _indicators(domains)
    return lambda weights: entropies(weights @ member)


def reverse_coefficient_of_variation(domains: IntArray, *, size: int, draws: int = 200, seed: int = 0) -> Statistic:
    """Return R-COV: the mean of the domain entropy over its standard deviation.

    The entropy is that of samples of `size` conversations, drawn from the chatbot's distribution over domains. The
    paper leaves the samples open. They must be equally large for all chatbots, because the standard deviation falls
    with the number of conversations.

    Parameters
    ----------
    domains : (n,)
        Number of each conversation's domain, from 0.
    size
        Conversations of a sample, for example those of the chatbot that has the fewest.
    draws
        Number of samples.
    seed
        Seed of the samples.

    Returns
    -------
    Statistic
    """
    member = _indicators(domains)
    uniform = np.sort(np.random.default_rng(seed).random((draws, size)), axis=1)
    numbers = np.arange(size + 1, dtype=np.float64)
    terms = numbers * np.log2(np.maximum(numbers, 1))

    def statistic(weights: FloatArray) -> FloatArray:
        counts = weights @ member
        counts = counts[:, counts.any(axis=0)]
        total = counts.sum(axis=1, keepdims=True)
        # The same uniform numbers are read by the quantiles of each replicate's distribution.
        limits = np.minimum(divided(np.cumsum(counts, axis=1), total), 1.0)
        sampled = np.full((draws, len(weights)), np.nan)
        for draw in range(draws):
            reached = np.searchsorted(uniform[draw], limits)
            drawn = np.diff(reached, axis=1, prepend=0)
            sampled[draw] = np.log2(size) - terms[drawn].sum(axis=1) / size
        deviation = sampled.std(axis=0, ddof=1)
        known = (total[:, 0] > 0) & (deviation > 1e-12)
        return np.where(known, sampled.mean(axis=0) / np.where(known, deviation, 1.0), np.nan)

    return statistic


def group_rating_sd(ratings: ArrayLike, groups: IntArray, *, least: int = 2) -> Statistic:
    """Return the standard deviation of the mean ratings of groups of domains.

    Parameters
    ----------
    ratings : (n,)
        Rating of each conversation.
    groups : (n,)
        Number of each conversation's group of domains, from 0.
    least
        Number of groups with ratings below which the statistic is undefined.

    Returns
    -------
    Statistic
    """
    values, member = np.asarray(ratings, np.float64), _indicators(groups)

    def statistic(weights: FloatArray) -> FloatArray:
        means = divided((weights * values) @ member, weights @ member)
        known = np.isfinite(means)
        count = known.sum(axis=1)
        centre = divided(np.where(known, means, 0.0).sum(axis=1), count.astype(np.float64))
        squares = np.where(known, (means - centre[:, None]) ** 2, 0.0).sum(axis=1)
        return np.where(count >= least, np.sqrt(divided(squares, np.maximum(count - 1.0, 0.0))), np.nan)

    return statistic


def entropies(counts: ArrayLike) -> FloatArray:
    """Return the entropy in bits of each row of counts (B, k); NaN for a row of zeros.

    Parameters
    ----------
    counts : (B, k)
        Numbers of conversations in k domains.

    Returns
    -------
    (B,) entropies
    """
    array = np.asarray(counts, np.float64)
    total = array.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = array / total[:, None]
        terms = np.where(shares > 0, -shares * np.log2(shares), 0.0)
    return np.asarray(np.where(total > 0, terms.sum(axis=1), np.nan), np.float64)


def divided(tops: FloatArray, bottoms: FloatArray) -> FloatArray:
    """Return tops / bottoms, NaN where a bottom is 0.

    Parameters
    ----------
    tops, bottoms : (...)
        Arrays of one shape, or of shapes that broadcast.

    Returns
    -------
    (...) ratios
    """
    out: FloatArray = np.full(np.broadcast(tops, bottoms).shape, np.nan)
    return np.asarray(np.divide(tops, bottoms, out=out, where=bottoms > 0), np.float64)


def _indicators(numbers: IntArray) -> FloatArray:
    """Return (n, k): 1 where unit i has number k."""
    return np.asarray(np.eye(int(numbers.max()) + 1 if len(numbers) else 0)[numbers], np.float64)
