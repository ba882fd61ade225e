"""Differences of abilities of all pairs, and draws from their distribution.

Notation: ability s ~ N(mean, Sigma) of M chatbots in groups without comparisons between them; d_ab = s_b - s_a with
standard error SE_ab; z_ab = (d_ab - its mean) / SE_ab. Draws are scrambled Sobol points with a fixed seed, so that
equal posteriors give equal results.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from irt_engine.arrays import BoolArray, FloatArray, IntArray, check_fields, freeze_arrays, is_number
from irt_engine.errors import EngineError

_SEED = 20250101  # of the scrambling: any fixed number
_CHUNK = 1 << 20  # numbers in a chunk of draws
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
        freeze_arrays(self)


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
