"""Who is above whom, for all pairs at once: differences, simultaneous intervals, ranks, classes.

Notation: ability s ~ N(mean, Sigma), M chatbots in groups that are never set against each other; d_ab = s_b - s_a
with SE_ab; z_ab = (d_ab - its mean) / SE_ab. Simultaneous statements rest on the distribution of max |z_ab| over all
pairs of a group, which is what the studentised range of Tukey becomes when SEs differ and errors are correlated
(Hothorn, Bretz & Westfall 2008, single-step). That distribution and the ranks' are taken from scrambled Sobol points
with a fixed seed: the same posterior always gives the same answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from scipy.special import ndtr, ndtri

from irt_engine.arrays import BoolArray, FloatArray, IntArray, check_fields, frozen, is_number
from irt_engine.errors import EngineError

_SEED = 20250101  # of the scrambling: any fixed number
# Draws for max |z|: the probability of a 95 % quantile then has a standard error of .0024 and .0009 at most.
_FEWEST, _MOST = 1 << 13, 1 << 16
_WORK = 1 << 30  # draws x pairs that a quantile may cost, except that it has the fewest draws
_CHUNK = 1 << 20  # numbers in a chunk of draws
_RANK_DRAWS = 1 << 14
_ROUNDING = 1e-12  # a variance below this share of the largest is 0 but for rounding
SAME = 1e-9  # SEs of their difference: abilities no further apart are equal, as fits promise no more digits


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """Store the differences s_b - s_a of all pairs a < b inside a group.

    Parameters
    ----------
    a, b : ndarray of int, shape (P,)
        Indices of the chatbots.
    mean, se : ndarray of float, shape (P,)
        Means and standard errors, in units of ability.
    p_better : ndarray of float, shape (P,)
        P(s_b > s_a).
    """

    a: IntArray
    b: IntArray
    mean: FloatArray
    se: FloatArray
    p_better: FloatArray

    def __post_init__(self) -> None:
        check_fields(self)
        _freeze(self)


@dataclass(frozen=True, slots=True, eq=False)
class SimultaneousDifferences:
    """Store simultaneous intervals of all pairs a < b inside a group.

    Parameters
    ----------
    level : float
        Probability that all intervals of a group hold together.
    a, b : ndarray of int, shape (P,)
        Indices of the chatbots.
    mean, se : ndarray of float, shape (P,)
        Means and standard errors, in units of ability.
    lower, upper : ndarray of float, shape (P,)
        Bounds, mean -+ critical * se.
    p : ndarray of float, shape (P,)
        Adjusted p: the probability that max |z| of the group reaches the pair's |mean| / se. It is at most 1 - level
        exactly if the interval excludes 0.
    critical : ndarray of float, shape (G,)
        Critical value of each group; 0 for a group of one.
    clearly_better : ndarray of bool, shape (M, M)
        Whether row is better than column.
    """

    level: float
    a: IntArray
    b: IntArray
    mean: FloatArray
    se: FloatArray
    lower: FloatArray
    upper: FloatArray
    p: FloatArray
    critical: FloatArray
    clearly_better: BoolArray

    def __post_init__(self) -> None:
        check_fields(self)
        _freeze(self)


def _freeze(values: Differences | SimultaneousDifferences) -> None:
    for field in fields(values):
        value = getattr(values, field.name)
        if isinstance(value, np.ndarray):
            object.__setattr__(values, field.name, frozen(value, value.dtype.type))


def quantile(level: float) -> float:
    """Return z with P(|N(0, 1)| <= z) = level.

    Parameters
    ----------
    level : float
        The probability.

    Returns
    -------
    float
        z.

    Raises
    ------
    EngineError
        If the level is not between 0 and 1 (``bad_level``).
    """
    if not (is_number(level) and 0.0 < level < 1.0):
        raise EngineError(f"level {level} is not a probability", code="bad_level", hint="give for example 0.95")
    return float(ndtri(0.5 + level / 2.0))


def pair_variances(covariance: FloatArray, low: IntArray, high: IntArray) -> FloatArray:
    """Return Var(s_high - s_low).

    Rounding makes no variance negative, and no positive variance 0.

    Parameters
    ----------
    covariance : ndarray of float, shape (M, M)
        Covariance of the abilities.
    low, high : ndarray of int, shape (n,)
        Indices of the chatbots.

    Returns
    -------
    ndarray of float, shape (n,)
        Variances.
    """
    v = np.diag(covariance)
    total = v[low] + v[high]
    variance = total - 2.0 * covariance[low, high]
    kept: FloatArray = np.where(variance > _ROUNDING * total, variance, 0.0)
    return kept


def standardised(mean: FloatArray, se: FloatArray) -> FloatArray:
    """Return mean / se.

    Parameters
    ----------
    mean, se : ndarray of float, shape (n,)
        Means and standard errors.

    Returns
    -------
    ndarray of float, shape (n,)
        z. If se is 0, z is 0 for equal and infinite for different abilities.
    """
    certain = np.where(mean == 0.0, 0.0, np.copysign(np.inf, mean))
    z: FloatArray = np.divide(mean, se, out=certain, where=se > 0)
    return z


def differences_of(ability: FloatArray, covariance: FloatArray, group: IntArray) -> Differences:
    """Return the differences of all pairs inside each group, ordered by (a, b).

    Parameters
    ----------
    ability : ndarray of float, shape (M,)
        Abilities.
    covariance : ndarray of float, shape (M, M)
        Their covariance.
    group : ndarray of int, shape (M,)
        Groups.

    Returns
    -------
    Differences
        The differences.
    """
    a, b = np.triu_indices(len(ability), 1)
    inside = group[a] == group[b]
    a, b = a[inside], b[inside]
    mean, se = ability[b] - ability[a], np.sqrt(pair_variances(covariance, a, b))
    return Differences(a, b, mean, se, ndtr(standardised(mean, se)))


def above(ability: FloatArray, covariance: FloatArray, group: IntArray) -> BoolArray:
    """Return which chatbots have a higher ability, by more than rounding.

    Parameters
    ----------
    ability : ndarray of float, shape (M,)
        Abilities.
    covariance : ndarray of float, shape (M, M)
        Their covariance.
    group : ndarray of int, shape (M,)
        Groups.

    Returns
    -------
    ndarray of bool, shape (M, M)
        Whether column is above row in the same group.
    """
    everyone = np.arange(len(ability))
    se = np.sqrt(pair_variances(covariance, everyone[:, None], everyone[None, :]))
    same = group[:, None] == group[None, :]
    higher: BoolArray = same & (ability[None, :] - ability[:, None] > SAME * se)
    return higher


def simultaneous_of(
    ability: FloatArray, covariance: FloatArray, group: IntArray, level: float
) -> SimultaneousDifferences:
    """Return simultaneous intervals of all pairs; each group is a family of its own.

    1,000 chatbots take about 5 s.

    Parameters
    ----------
    ability : ndarray of float, shape (M,)
        Abilities.
    covariance : ndarray of float, shape (M, M)
        Their covariance.
    group : ndarray of int, shape (M,)
        Groups.
    level : float
        Joint probability.

    Returns
    -------
    SimultaneousDifferences
        The intervals.

    Raises
    ------
    EngineError
        If the level is not between 0 and 1 (``bad_level``).

    References
    ----------
    T. Hothorn, F. Bretz and P. Westfall (2008), Simultaneous inference in general parametric models, Biometrical
    Journal 50, 346-363.
    """
    quantile(level)
    pairs = differences_of(ability, covariance, group)
    size, groups = len(pairs.mean), int(group.max(initial=0))
    critical, p, half = np.zeros(groups), np.ones(size), np.zeros(size)
    z = np.abs(standardised(pairs.mean, pairs.se))
    for g in range(1, groups + 1):
        members, of_group = np.flatnonzero(group == g), group[pairs.a] == g
        if len(members) < 2:
            continue
        largest = _largest_z(covariance[np.ix_(members, members)])
        critical[g - 1] = _critical(largest, int(of_group.sum()), level)
        p[of_group] = _adjusted(largest, z[of_group])
        half[of_group] = critical[g - 1] * pairs.se[of_group]
    better = np.zeros((len(ability), len(ability)), bool)
    clear, up = np.abs(pairs.mean) > half, pairs.mean > 0
    better[pairs.b[clear & up], pairs.a[clear & up]] = True
    better[pairs.a[clear & ~up], pairs.b[clear & ~up]] = True
    return SimultaneousDifferences(
        level, pairs.a, pairs.b, pairs.mean, pairs.se, pairs.mean - half, pairs.mean + half, p, critical, better
    )


def _critical(largest: FloatArray, pairs: int, level: float) -> float:
    """The level's quantile of max |z|, never above Sidak's bound, which holds for every correlation (Sidak 1967)."""
    bound = float(-ndtri(-np.expm1(np.log(level) / pairs) / 2.0))
    draws = len(largest)
    if (1.0 - level) * draws < 1.0:  # the draws do not reach so far
        return bound
    return min(float(largest[int(np.ceil(level * draws - 1e-9)) - 1]), bound)


def _adjusted(largest: FloatArray, z: FloatArray) -> FloatArray:
    """P(max |z| >= z) for each |z| of a family; beyond the draws' reach Sidak's bound says how small it is at most."""
    draws = len(largest)
    reached = np.maximum(draws - np.searchsorted(largest, z, side="left"), 1) / draws
    bound = -np.expm1(len(z) * np.log1p(-np.minimum(2.0 * ndtr(-z), 1.0 - 1e-16)))
    p: FloatArray = np.minimum(reached, bound)
    return p


def _largest_z(covariance: FloatArray) -> FloatArray:
    """Sorted draws of max |z| over all pairs of one group, (n,)."""
    M = len(covariance)
    low, high = np.triu_indices(M, 1)
    draws = int(np.clip(_WORK // len(low), _FEWEST, _MOST))
    variance = np.zeros((M, M))
    variance[low, high] = pair_variances(covariance, low, high)
    # Seven digits are enough for a quantile, and half the memory traffic is nearly half the time.
    inverse = np.divide(1.0, np.sqrt(variance), out=np.zeros((M, M)), where=variance > 0).astype(np.float32)
    found = []
    for chunk in normal_draws(covariance, draws):
        columns = np.ascontiguousarray(chunk.T, np.float32)
        most = np.zeros(len(chunk), np.float32)
        for i in range(M - 1):
            apart = columns[i + 1 :] - columns[i]
            np.abs(apart, out=apart)
            apart *= inverse[i, i + 1 :, None]
            np.maximum(most, apart.max(axis=0), out=most)
        found.append(most)
    return np.sort(np.concatenate(found).astype(np.float64))


def normal_draws(covariance: FloatArray, draws: int) -> Iterator[FloatArray]:
    """Yield quasi-random draws from N(0, covariance) in chunks.

    Directions of large variance take the first Sobol coordinates, which are the most even ones.

    Parameters
    ----------
    covariance : ndarray of float, shape (M, M)
        The covariance.
    draws : int
        Number of draws, rounded up to a power of 2.

    Yields
    ------
    ndarray of float, shape (n, M)
        A chunk.
    """
    from scipy.stats import qmc  # late: scipy.stats takes half a second to load

    values, vectors = np.linalg.eigh(covariance)
    kept = values > _ROUNDING * max(values[-1], 0.0)
    root = (vectors[:, kept] * np.sqrt(values[kept]))[:, ::-1].T
    total = 1 << max(0, int(draws - 1).bit_length())
    if len(root) == 0:
        yield np.zeros((total, len(covariance)))
        return
    sobol = qmc.Sobol(len(root), scramble=True, rng=np.random.default_rng(_SEED))
    size = min(total, 1 << max(5, (_CHUNK // len(covariance)).bit_length() - 1))
    for _ in range(total // size):
        yield ndtri(np.clip(sobol.random(size), 1e-15, 1.0 - 1e-15)) @ root


def rank_probabilities_of(ability: FloatArray, covariance: FloatArray, group: IntArray) -> FloatArray:
    """Return the probability of each rank.

    Every draw is used together with its mirror image, so that negating all abilities reverses the ranks exactly. With 2
    x 16,384 draws the error is about .005.

    Parameters
    ----------
    ability : ndarray of float, shape (M,)
        Abilities.
    covariance : ndarray of float, shape (M, M)
        Their covariance.
    group : ndarray of int, shape (M,)
        Groups.

    Returns
    -------
    ndarray of float, shape (M, M)
        P(chatbot has rank r + 1 in its group); rows sum to 1.
    """
    M = len(ability)
    found = np.zeros((M, M))
    for g in range(1, int(group.max(initial=0)) + 1):
        members = np.flatnonzero(group == g)
        counts = np.zeros(len(members) ** 2, np.int64)
        for chunk in normal_draws(covariance[np.ix_(members, members)], _RANK_DRAWS):
            for sign in (1.0, -1.0):
                order = np.argsort(-(ability[members] + sign * chunk), axis=1, kind="stable")
                place = order * len(members) + np.arange(len(members))
                counts += np.bincount(place.ravel(), minlength=len(counts))
        share = counts.reshape(len(members), len(members)) / counts[: len(members)].sum()
        found[np.ix_(members, np.arange(len(members)))] = share
    return found


def classes_of(ability: FloatArray, interval: FloatArray, group: IntArray) -> IntArray:
    """Return the class of each chatbot inside its group.

    In order of ability, the strongest chatbot opens a class. The next ones join while their upper bound reaches its
    lower bound; otherwise they open the next class.

    Parameters
    ----------
    ability : ndarray of float, shape (M,)
        Abilities.
    interval : ndarray of float, shape (M, 2)
        Lower and upper bounds.
    group : ndarray of int, shape (M,)
        Groups.

    Returns
    -------
    ndarray of int, shape (M,)
        Class numbers; 1 is the strongest.
    """
    found = np.zeros(len(ability), np.int64)
    for g in range(1, int(group.max(initial=0)) + 1):
        members = np.flatnonzero(group == g)
        number, reach = 0, np.inf
        for m in members[np.argsort(-ability[members], kind="stable")]:
            if interval[m, 1] < reach:
                number, reach = number + 1, interval[m, 0]
            found[m] = number
    return found
