"""Who may be shown as different when a board is looked at after every batch: statements that hold at all looks.

A 95 % interval that is looked at until it leaves 0 out is wrong far more often than once in twenty times, and the more
so the more pairs there are to look at. Here every pair has a sequential p instead: if the two are equal, it is p or
less at any look at all with probability p at most.

Notation: d = s_b - s_a with posterior mean m, SE v^(1/2) and z = m / SE, under the prior d ~ N(0, 1 / kappa). The votes
alone say about d the score S = m / v and the information I = 1 / v - kappa. While votes come in, S - I d is a Brownian
motion whose clock is I. There are two ways to look at it.

K looks are planned: one after each batch, up to the budget. The p of z is P(max_k |W_k| / k^(1/2) >= |z|), W_k a sum of
k standard normals, k = 1..K: group-sequential with one critical value for all looks, which tells large differences
apart early (Pocock 1977), by the recursion of Armitage, McPherson and Rowe (1969). Looks may be fewer, not more.

Any number of looks (None): p = 1 / e, where e is the likelihood ratio of d = x against d = 0 averaged over
x ~ N(0, 1 / rho),

    e = (rho / (I + rho))^(1/2) exp(S^2 / (2 (I + rho))),

a martingale with mean 1 if d = 0, so P(e ever reaches 1 / p) <= p (Ville 1939; the normal mixture of Robbins 1970 and
Howard, Ramdas, McAuliffe and Sekhon 2021; for rho = kappa it is the Savage-Dickey Bayes factor). It asks for more votes
and for no plan.

Of P pairs those k are told apart whose p is at most alpha k / P, for the largest such k (Benjamini and Hochberg 1995):
of what is told apart, a share of at most alpha are equals, on average (under any dependence for 1 / e, Wang and Ramdas
2022; by simulation for K looks). As k <= P, a pair of equals is ever told apart with probability alpha at most.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache

import numpy as np
from scipy.special import log_ndtr, ndtr

from irt_engine.arrays import BoolArray, FloatArray, IntArray, check_fields, frozen
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
    """Pairs a < b inside the groups (P,), the log of each one's sequential p (P,), and which are told apart (P,).

    better (M, M): row is told apart from column and above it. bounds (M, 3): rank, best possible, worst possible in
    the group, 1 the best, as far as pairs are told apart. classes (M,): in order of ability the strongest opens a
    class, the next ones join until one is told apart from it, which opens the next class.
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
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                object.__setattr__(self, field.name, frozen(value, value.dtype.type))


def told_apart(
    posterior: Posterior,
    *,
    looks: int | None,
    alpha: float = 0.05,
    ability_sd: float = DEFAULT_PRIORS.ability_sd,
) -> ToldApart:
    """Which pairs of a board may be shown as different.

    looks: how many looks there will have been at the end, by the plan or in fact, whichever is more; None for any
    number, and so are more than MOST_LOOKS. 1 for votes that are looked at once. All pairs inside groups are one
    family. ability_sd is the prior that the posterior was fitted under. A function of this look alone: what was told
    apart before may be undecided again. Raises EngineError unless 0 < alpha < 1 and looks >= 1.
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
    """log of the sequential p (n,) that d = 0, from posterior means and SEs (n,) of differences; -700 at least."""
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
    """log of the sequential p (n,) that |d| >= margin: whether a difference is shown smaller than what matters.

    The larger p of two one-sided tests, of d >= margin and of d <= -margin (Schuirmann 1987): at most one of them can
    be wrong, so each may be asked at the full alpha. For any number of looks each averages over the half of
    N(0, margin^2) that lies on the inner side of its border.
    """
    if planned := _planned(looks):
        inner = np.maximum(standardised(margin - np.abs(mean), se), 0.0)
        return _clipped(_log_p_of_looks(inner, planned) - np.log(2.0))
    score, information = _told_by_votes(mean, se, ability_sd)
    inward = information * margin - np.abs(score)
    half = np.log(2.0) + log_ndtr(inward / np.sqrt(information + margin**-2.0))
    return _clipped(-_log_mixture(inward, information, margin**-2.0) - half)


def discoveries(log_p: FloatArray, alpha: float) -> BoolArray:
    """(n,) which of n hypotheses the step-up procedure of Benjamini and Hochberg (1995) rejects at level alpha."""
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
