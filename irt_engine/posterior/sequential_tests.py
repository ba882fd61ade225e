"""Sequential tests of the differences on a board, which hold however often the board is looked at.

A 95 % interval that is inspected until it excludes 0 is wrong far more often than once in twenty times. Each pair
therefore has a sequential p value. If the two chatbots are equal, the probability that it ever falls to p is at most p.

Notation: d = s_b - s_a has posterior mean m, SE v^(1/2) and z = m / SE, under the prior d ~ N(0, 1 / kappa). The score
of the votes alone is S = m / v, and their information is I = 1 / v - kappa. While votes come in, S - I d is a Brownian
motion with clock I. There are two kinds of tests.

K planned looks: one after each batch, up to the budget. The p value of z is P(max_k |W_k| / k^(1/2) >= |z|), with W_k a
sum of k standard normals, k = 1..K. It is group-sequential with one critical value for all looks, which finds large
differences early (Pocock 1977). The recursion is that of Armitage, McPherson and Rowe (1969, Journal of the Royal
Statistical Society A 132, 235-244). There may be fewer looks than planned, not more.

Any number of looks (None): p = 1 / e, where e is the likelihood ratio of d = x against d = 0, averaged over x ~ N(0, 1
/ rho),

    e = (rho / (I + rho))^(1/2) exp(S^2 / (2 (I + rho))).

It is a martingale with mean 1 if d = 0, so that P(e ever reaches 1 / p) <= p (Ville 1939). This is the normal mixture
of Robbins (1970) and of Howard, Ramdas, McAuliffe and Sekhon (2021); for rho = kappa it is the Savage-Dickey Bayes
factor. It needs more votes and no plan.

Of P pairs those k are distinguished whose p value is at most alpha k / P, for the largest such k (Benjamini and
Hochberg 1995). The expected share of equal pairs among them is at most alpha. This holds under any dependence for 1 / e
(Wang and Ramdas 2022, Journal of the Royal Statistical Society B 84, 822-852), and by simulation for K looks. As k <=
P, a pair of equals is ever distinguished with probability at most alpha.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import log_ndtr, ndtr

from irt_engine.arrays import BoolArray, FloatArray, IntArray, check_fields, freeze_arrays, frozen
from irt_engine.errors import EngineError
from irt_engine.models.priors import DEFAULT_PRIORS
from irt_engine.posterior.differences import above, standardised
from irt_engine.posterior.posterior import Posterior

MOST_LOOKS = 200  # beyond so many a plan saves hardly a vote
# SD of x, by how much two chatbots differ if they do. A smaller one tells close pairs apart sooner and others later.
TYPICAL_DIFFERENCE = 1.0
_SMALLEST = -700.0  # of a log p: beyond it p is no floating-point number, and nobody asks for less
_GRID = np.arange(0.0, 7.1, 0.5)  # of z; between them, and beyond, log p + z^2 / 2 is straight within .002
_PER_UNIT, _FEWEST = 1.2, 10  # quadrature nodes per unit of W, and at least: eight digits


@dataclass(frozen=True, slots=True, eq=False)
class ToldApart:
    """Store the pairs of a board that sequential tests distinguish.

    Parameters
    ----------
    alpha : float
        False discovery rate.
    a, b : ndarray of int, shape (P,)
        Indices of the pairs a < b inside groups.
    log_p : ndarray of float, shape (P,)
        Log of the sequential p value.
    apart : ndarray of bool, shape (P,)
        Whether the pair is distinguished.
    better : ndarray of bool, shape (M, M)
        Whether row is distinguished from column and above it.
    bounds : ndarray of int, shape (M, 3)
        Rank, best possible rank and worst possible rank in the group; 1 is best.
    classes : ndarray of int, shape (M,)
        In order of ability, the strongest chatbot opens a class; one that is distinguished from it opens the next.
    """

    alpha: float
    a: IntArray
    b: IntArray
    log_p: FloatArray
    apart: BoolArray
    better: BoolArray
    bounds: IntArray
    classes: IntArray

    def __post_init__(self) -> None:
        check_fields(self)
        freeze_arrays(self)


def told_apart(
    posterior: Posterior,
    *,
    looks: int | None,
    alpha: float = 0.05,
    ability_sd: float = DEFAULT_PRIORS.ability_sd,
) -> ToldApart:
    """Return the pairs of a board that may be shown as different.

    All pairs inside groups are one family. The result depends on this look alone: a pair that was distinguished before
    may be undecided again.

    Parameters
    ----------
    posterior : Posterior
        The posterior of a board.
    looks : int or None
        Number of looks at the end, planned or actual, whichever is larger. None, and more than MOST_LOOKS, allow any
        number; 1 is for a single look.
    alpha : float
        False discovery rate.
    ability_sd : float
        Prior SD of the abilities in the fit.

    Returns
    -------
    ToldApart
        The pairs, ranks and classes.

    Raises
    ------
    EngineError
        If alpha is not between 0 and 1 (``bad_level``), or looks is below 1 (``bad_looks``).

    References
    ----------
    Y. Benjamini and Y. Hochberg (1995), Controlling the false discovery rate, Journal of the Royal Statistical Society
    B 57, 289-300.
    """
    if not 0.0 < alpha < 1.0:
        raise EngineError(f"alpha {alpha} is not a probability", code="bad_level", hint="give for example 0.05")
    pairs, M = posterior.differences(), len(posterior.chatbots)
    log_p = log_p_equal(pairs.mean, pairs.se, looks=looks, ability_sd=ability_sd)
    apart = discoveries(log_p, alpha)
    better = np.zeros((M, M), bool)
    up = pairs.mean > 0
    better[pairs.b[apart & up], pairs.a[apart & up]] = True
    better[pairs.a[apart & ~up], pairs.b[apart & ~up]] = True
    bounds = _bounds(posterior, better)
    classes = _classes(posterior.ability, posterior.group, better)
    return ToldApart(alpha, pairs.a, pairs.b, log_p, apart, better, bounds, classes)


def log_p_equal(
    mean: FloatArray, se: FloatArray, *, looks: int | None, ability_sd: float = DEFAULT_PRIORS.ability_sd
) -> FloatArray:
    """Return the log of the sequential p value of d = 0.

    Parameters
    ----------
    mean, se : ndarray of float, shape (n,)
        Posterior means and standard errors of the differences d.
    looks : int or None
        As in `told_apart`.
    ability_sd : float
        Prior SD of the abilities in the fit.

    Returns
    -------
    ndarray of float, shape (n,)
        Log p values, at least -700.

    References
    ----------
    S. J. Pocock (1977), Group sequential methods in the design and analysis of clinical trials, Biometrika 64, 191-199.
    S. R. Howard, A. Ramdas, J. McAuliffe and J. Sekhon (2021), Time-uniform, nonparametric, nonasymptotic confidence
    sequences, Annals of Statistics 49, 1055-1080.
    """
    if planned := _planned(looks):
        return _log_p_of_looks(np.abs(standardised(mean, se)), planned)
    score, information = _told_by_votes(mean, se, ability_sd)
    return _clipped(-_log_mixture(score, information, TYPICAL_DIFFERENCE**-2.0))


def log_p_apart(
    mean: FloatArray,
    se: FloatArray,
    margin: float,
    *,
    looks: int | None,
    ability_sd: float = DEFAULT_PRIORS.ability_sd,
) -> FloatArray:
    """Return the log of the sequential p value of |d| >= margin.

    It is the larger p value of two one-sided tests, d >= margin and d <= -margin. At most one of them can be wrong, so
    that each has the full alpha. For any number of looks, each averages over the half of N(0, margin^2) inside its
    margin.

    Parameters
    ----------
    mean, se : ndarray of float, shape (n,)
        Posterior means and standard errors of the differences d.
    margin : float
        Smallest relevant difference, in units of ability.
    looks : int or None
        As in `told_apart`.
    ability_sd : float
        Prior SD of the abilities in the fit.

    Returns
    -------
    ndarray of float, shape (n,)
        Log p values, at least -700.

    References
    ----------
    D. J. Schuirmann (1987), A comparison of the two one-sided tests procedure and the power approach for assessing the
    equivalence of average bioavailability, Journal of Pharmacokinetics and Biopharmaceutics 15, 657-680.
    """
    if planned := _planned(looks):
        inner = np.maximum(standardised(margin - np.abs(mean), se), 0.0)
        return _clipped(_log_p_of_looks(inner, planned) - np.log(2.0))
    score, information = _told_by_votes(mean, se, ability_sd)
    inward = information * margin - np.abs(score)
    half = np.log(2.0) + log_ndtr(inward / np.sqrt(information + margin**-2.0))
    return _clipped(-_log_mixture(inward, information, margin**-2.0) - half)


def discoveries(log_p: FloatArray, alpha: float) -> BoolArray:
    """Return the hypotheses that the Benjamini-Hochberg step-up procedure rejects.

    Parameters
    ----------
    log_p : ndarray of float, shape (n,)
        Log p values.
    alpha : float
        False discovery rate.

    Returns
    -------
    ndarray of bool, shape (n,)
        Whether the hypothesis is rejected.

    References
    ----------
    Y. Benjamini and Y. Hochberg (1995), Controlling the false discovery rate, Journal of the Royal Statistical Society
    B 57, 289-300.
    """
    n = len(log_p)
    allowed = np.log(alpha) + np.log(np.arange(1, n + 1) / max(n, 1))
    kept = np.flatnonzero(np.sort(log_p) <= allowed)
    rejected: BoolArray = log_p <= (allowed[kept[-1]] if len(kept) else -np.inf)
    return rejected


def _planned(looks: int | None) -> int:
    """The number of looks that a plan is worth following for, else 0."""
    if looks is not None and looks < 1:
        raise EngineError(f"{looks} looks", code="bad_looks", hint="a board is looked at once at least")
    return 0 if looks is None or looks > MOST_LOOKS else looks


def _log_p_of_looks(z: FloatArray, looks: int) -> FloatArray:
    """log P(max over the looks of |W_k| / k^(1/2) >= z), (n,)."""
    most = np.log(2.0 * looks) + log_ndtr(-z)  # the sum over the looks
    return _clipped(np.minimum(np.interp(z, _GRID, _curve(looks)) - 0.5 * z**2, most))


def _clipped(log_p: FloatArray) -> FloatArray:
    kept: FloatArray = np.clip(log_p, _SMALLEST, 0.0)
    return kept


@cache
def _curve(looks: int) -> FloatArray:
    """log p + z^2 / 2 on the grid of z; at 0, p is 1."""
    return frozen([0.0, *(np.log(_crossing(z, looks)) + 0.5 * z**2 for z in _GRID[1:])], np.float64)


def _crossing(z: float, looks: int) -> float:
    """P(|W_k| >= z k^(1/2) for some k <= looks), Armitage, McPherson and Rowe (1969); by symmetry on W >= 0 alone.

    The density of W_k among those that have not crossed is carried from look to look on Gauss-Legendre nodes, and what
    crosses is added up, so that no small probability is a difference of large ones.
    """
    crossed = 2.0 * float(ndtr(-z))
    x, weight = _nodes(z)
    density = 2.0 * _normal(x)
    for k in range(2, looks + 1):
        edge = z * np.sqrt(k)
        crossed += float((weight * density) @ (ndtr(x - edge) + ndtr(-x - edge)))
        here, next_weight = _nodes(edge)
        density = (_normal(here[:, None] - x) + _normal(here[:, None] + x)) @ (weight * density)
        x, weight = here, next_weight
    return crossed


def _nodes(edge: float) -> tuple[FloatArray, FloatArray]:
    x, weight = _legendre(_FEWEST + int(_PER_UNIT * edge))
    return 0.5 * edge * (x + 1.0), 0.5 * edge * weight


@cache
def _legendre(count: int) -> tuple[FloatArray, FloatArray]:
    x, weight = np.polynomial.legendre.leggauss(count)
    return frozen(x, np.float64), frozen(weight, np.float64)


def _normal(x: FloatArray) -> FloatArray:
    density: FloatArray = np.exp(-0.5 * x**2) / np.sqrt(2.0 * np.pi)
    return density


def _told_by_votes(mean: FloatArray, se: FloatArray, ability_sd: float) -> tuple[FloatArray, FloatArray]:
    """S and I, (n,) each: the posterior without the prior of a difference, whose variance is 2 ability_sd^2."""
    precision = np.maximum(se, 1e-100) ** -2.0
    information = np.maximum(precision - 0.5 * ability_sd**-2.0, 0.0)
    return mean * precision, information


def _log_mixture(score: FloatArray, information: FloatArray, rho: float) -> FloatArray:
    spread = information + rho
    log_e: FloatArray = 0.5 * np.log(rho / spread) + 0.5 * (score / spread) * score
    return log_e


def _bounds(posterior: Posterior, better: BoolArray) -> IntArray:
    """(M, 3) rank by ability, best and worst possible."""
    group = posterior.group
    size = (group[:, None] == group[None, :]).sum(axis=1)
    rank = 1 + above(posterior.ability, posterior.covariance, group).sum(axis=1)
    return np.stack([rank, 1 + better.sum(axis=0), size - better.sum(axis=1)], axis=1)


def _classes(ability: FloatArray, group: IntArray, better: BoolArray) -> IntArray:
    found = np.zeros(len(ability), np.int64)
    for g in range(1, int(group.max(initial=0)) + 1):
        members = np.flatnonzero(group == g)
        number, opener = 0, -1
        for m in members[np.argsort(-ability[members], kind="stable")]:
            if opener < 0 or better[opener, m]:
                number, opener = number + 1, int(m)
            found[m] = number
    return found
