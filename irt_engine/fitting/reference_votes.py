"""Scores and information of the edges of votes with a common cell effect.

A vote on a cell with effect e ~ N(0, sd^2) follows the graded response model with two edges. With F_c = sigma(x_c + e),
it is lost with probability 1 - F_0, tied with F_0 - F_1 and won with F_1. Votes of a cell are independent given e,
which is integrated out by Gauss-Hermite quadrature (Bock and Aitkin 1981, Psychometrika 46, 443-459). In the pooled
slot the discrimination is integrated out, too: x is multiplied by several slopes.

    P = sum over nodes of w p,   p = (1 - F_0)^a (F_0 - F_1)^t F_1^b,   dP / dx_c = sum of w p g_c,
    g_0 = slope (t (1 - F_0 + o) - a F_0),   g_1 = slope (b (1 - F_1) - t (F_1 + o)),   o = 1 / (e^gap - 1)

The expected information of up to `MOST_FEW` votes is a sum over all outcomes. For more votes it is that of normal
observations with information I and the common effect e. By the Sherman-Morrison formula it is (I^-1 + sd^2 1 1')^-1 = I
- I 1 1' I / (1 / sd^2 + 1' I 1).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray

from .kernel_data import LARGEST_GAP, LEAST_CHANCE, MOST_COUNTED, MOST_FEW, SMALLEST_GAP, CellEffect
from .reference_many_votes import many_votes
from .reference_ratings import EdgeSums

_FARTHEST_ODDS = 300.0  # log


def vote_terms(
    x: FloatArray, odds: FloatArray, counts: FloatArray, effect: CellEffect, observed: bool, logs: bool
) -> EdgeSums:
    """Return the likelihood terms of cells with votes.

    Parameters
    ----------
    x : ndarray of float, shape (2, m, Q)
        Edges at the sigma points.
    odds : ndarray of float, shape (3, m, Q)
        Exponentials of the gaps between edges.
    counts : ndarray of float, shape (m, 3)
        Votes.
    effect : CellEffect
        Quadrature over the cell effect.
    observed : bool
        Return the observed information.
    logs : bool
        Return the log likelihood.

    Returns
    -------
    EdgeSums
        The terms of the edges.
    """
    votes, out = counts.sum(axis=1), _empty(x.shape[1:])
    pooled = len(effect.slopes) > 1
    whole = np.isin(votes, np.arange(1.0, MOST_FEW + 1.0))
    for number in np.unique(votes[whole]):
        rows = votes == number
        some = _single_votes if number == 1.0 else _few_votes
        _put(out, rows, some(x[:, rows], odds[1, rows], counts[rows], effect, observed))
    if not whole.all():
        rest = _pooled_votes if pooled else many_votes
        _put(out, ~whole, rest(x[:, ~whole], odds[1, ~whole], counts[~whole], effect, observed))
    return out


def _empty(shape: tuple[int, ...]) -> EdgeSums:
    return EdgeSums(
        np.empty((2, *shape)), np.empty((2, *shape)), np.empty((1, *shape)), np.empty(shape), np.empty(shape)
    )


def _put(out: EdgeSums, rows: BoolArray, part: EdgeSums) -> None:
    for whole, some in zip(out, part, strict=True):
        whole[..., rows, :] = some


class _Nodes(NamedTuple):
    """All nodes of the cell effect at one slope; (m, Q, N), and (m, Q) of the gap."""

    slope: float
    weights: FloatArray  # (N, 2) of the nodes, and times e / sd
    F0: FloatArray
    F1: FloatArray
    lost: FloatArray  # 1 - F0
    short: FloatArray  # 1 - F1
    meeting: FloatArray  # 1 - e^-gap: F0 - F1 is F0 (1 - F1) meeting
    odds: FloatArray  # 1 / (e^gap - 1)


def _nodes(x: FloatArray, odds: FloatArray, effect: CellEffect) -> Iterator[_Nodes]:
    """The quadrature over slopes and cell effects, slope by slope."""
    shift, pooled = np.exp(-effect.sd * effect.nodes), len(effect.slopes) > 1
    for slope, share in zip(effect.slopes, effect.slope_weights, strict=True):
        against = np.exp(np.clip(-slope * x, -_FARTHEST_ODDS, _FARTHEST_ODDS))
        shifted = against[..., None] * shift
        F = 1.0 / (1.0 + shifted)
        short = shifted * F
        meeting, tie_odds = 1.0 / (1.0 + odds), odds
        if pooled:
            gap = np.clip(slope * np.log1p(1.0 / odds), SMALLEST_GAP, LARGEST_GAP)
            meeting, tie_odds = -np.expm1(-gap), 1.0 / np.expm1(gap)
        weights = share * np.stack([effect.weights, effect.weights * effect.nodes], axis=1)
        yield _Nodes(float(slope), weights, F[0], F[1], short[0], short[1], meeting, tie_odds)


def _single_votes(x: FloatArray, odds: FloatArray, counts: FloatArray, effect: CellEffect, observed: bool) -> EdgeSums:
    """One vote in each cell, or its parts: all follows from three chances and their derivatives.

    d_c = E[slope F_c'], e_c = E[F_c' e] / sd and c_c = E[slope^2 F_c''].
    """
    lose, tie, win, d0, d1, e0, e1, c0, c1 = np.zeros((9, *odds.shape))
    for at in _nodes(x, odds, effect):
        w, bend0, bend1 = at.weights[:, 0], at.F0 * at.lost, at.F1 * at.short
        lose += at.lost @ w
        tie += (at.F0 * at.short) @ w * at.meeting
        win += at.F1 @ w
        along0, along1 = bend0 @ at.weights, bend1 @ at.weights
        d0 += at.slope * along0[..., 0]
        d1 += at.slope * along1[..., 0]
        e0 += along0[..., 1]
        e1 += along1[..., 1]
        if observed:
            c0 += at.slope**2 * ((bend0 * (at.lost - at.F0)) @ w)
            c1 += at.slope**2 * ((bend1 * (at.short - at.F1)) @ w)
    lose, tie, win = (np.maximum(chance, LEAST_CHANCE) for chance in (lose, tie, win))
    a, t, b = counts.T[:, :, None]
    of0, of1 = t / tie - a / lose, b / win - t / tie  # d log P / d F_c
    score = np.stack([d0 * of0, d1 * of1])
    if observed:
        of_tie = t / tie**2
        info = np.stack([d0**2 * (a / lose**2 + of_tie) - c0 * of0, d1**2 * (b / win**2 + of_tie) - c1 * of1])
        off = -(d0 * d1 * of_tie)[None]
    else:
        info = np.stack([d0**2 * (1.0 / lose + 1.0 / tie), d1**2 * (1.0 / win + 1.0 / tie)])
        off = -(d0 * d1 / tie)[None]
    by_sd = effect.sd * (e0 * of0 + e1 * of1)
    return EdgeSums(score, info, off, by_sd, a * np.log(lose) + t * np.log(tie) + b * np.log(win))


def _few_votes(x: FloatArray, odds: FloatArray, counts: FloatArray, effect: CellEffect, observed: bool) -> EdgeSums:
    """The same whole number of votes in each cell, few."""
    nodes = list(_nodes(x, odds, effect))
    result = _given_votes(nodes, counts, effect.sd, observed)
    if observed:
        return result
    info, off = _expected_of_whole(nodes, round(float(counts[0].sum())))
    return result._replace(info=info, off=off)


def _pooled_votes(x: FloatArray, odds: FloatArray, counts: FloatArray, effect: CellEffect, observed: bool) -> EdgeSums:
    """Votes of prompts that were met once, not of whole number: expected information lies between whole ones."""
    nodes = list(_nodes(x, odds, effect))
    result = _given_votes(nodes, counts, effect.sd, observed)
    if observed:
        return result
    votes = np.minimum(counts.sum(axis=1), MOST_COUNTED)
    info, off = np.zeros_like(result.info), np.zeros_like(result.off)
    for number in range(1, math.ceil(votes.max()) + 1):
        share = np.maximum(1.0 - np.abs(votes - number), 0.0)[:, None]
        if share.any():
            of_whole, off_whole = _expected_of_whole(nodes, number)
            info, off = info + share * of_whole, off + share * off_whole
    return result._replace(info=info, off=off)


def _given_votes(nodes: list[_Nodes], counts: FloatArray, sd: float, observed: bool) -> EdgeSums:
    """Score, observed information and log-likelihood of the votes that were given.

    With n_0 = a + t and n_1 = b + t, g_c = slope (k_c - n_c F_c), where k_0 = t (1 + o) and k_1 = b - t o.
    """
    a, t, b = counts.T[:, :, None]
    n0, n1 = a + t, b + t
    P, s0, s1, by_sd, i00, i11, i01 = np.zeros((7, *nodes[0].odds.shape))
    for at in nodes:
        k0, k1 = t * (1.0 + at.odds), b - t * at.odds
        p = _chance(at, a, t, b)
        of_p, of_p0, of_p1 = p @ at.weights, (p * at.F0) @ at.weights, (p * at.F1) @ at.weights
        g0, g1 = k0[..., None] * of_p - n0[..., None] * of_p0, k1[..., None] * of_p - n1[..., None] * of_p1
        P += of_p[..., 0]
        s0 += at.slope * g0[..., 0]
        s1 += at.slope * g1[..., 0]
        by_sd += g0[..., 1] + g1[..., 1]
        if observed:
            w, meet, by_slope = at.weights[:, 0], t * at.odds * (1.0 + at.odds) * of_p[..., 0], at.slope**2
            of0, of1 = (k0[..., None] - n0[..., None] * at.F0), (k1[..., None] - n1[..., None] * at.F1)
            i00 += by_slope * (n0 * ((p * at.F0 * at.lost) @ w) + meet - (p * of0**2) @ w)
            i11 += by_slope * (n1 * ((p * at.F1 * at.short) @ w) + meet - (p * of1**2) @ w)
            i01 -= by_slope * (meet + (p * of0 * of1) @ w)
    P = np.maximum(P, LEAST_CHANCE)
    score = np.stack([s0, s1]) / P
    info = np.stack([i00, i11]) / P + score**2
    return EdgeSums(score, info, (i01 / P + score[0] * score[1])[None], sd * by_sd / P, np.log(P))


def _chance(at: _Nodes, a: FloatArray | int, t: FloatArray | int, b: FloatArray | int) -> FloatArray:
    """(m, Q, N) the chance of votes at every node."""
    if not isinstance(a, int):
        a, t, b = (np.asarray(count)[..., None] for count in (a, t, b))
    tied = at.F0 * at.short * at.meeting[..., None]
    p: FloatArray = at.lost**a * tied**t * at.F1**b
    return p


def _expected_of_whole(nodes: list[_Nodes], votes: int) -> tuple[FloatArray, FloatArray]:
    """Fisher's information of so many votes: the sum over their outcomes of dP dP' / P, by how many ways there are."""
    outcomes = [(a, t, votes - a - t) for a in range(votes + 1) for t in range(votes + 1 - a)]
    P, d0, d1 = np.zeros((3, len(outcomes), *nodes[0].odds.shape))
    for at in nodes:
        w, tied = at.weights[:, 0], at.F0 * at.short * at.meeting[..., None]
        powers = [_powers(chance, votes) for chance in (at.lost, tied, at.F1)]
        for k, (a, t, b) in enumerate(outcomes):
            p = powers[0][a] * powers[1][t] * powers[2][b]
            of_p = p @ w
            P[k] += of_p
            d0[k] += at.slope * (t * (1.0 + at.odds) * of_p - (a + t) * ((p * at.F0) @ w))
            d1[k] += at.slope * ((b - t * at.odds) * of_p - (b + t) * ((p * at.F1) @ w))
    ways = [math.factorial(votes) / math.prod(map(math.factorial, outcome)) for outcome in outcomes]
    by = np.array(ways)[:, None, None] / np.maximum(P, LEAST_CHANCE)
    return np.stack([(by * d0 * d0).sum(axis=0), (by * d1 * d1).sum(axis=0)]), (by * d0 * d1).sum(axis=0)[None]


def _powers(values: FloatArray, most: int) -> list[FloatArray | float]:
    """values^0 .. values^most."""
    powers: list[FloatArray | float] = [1.0, values]
    for _ in range(most - 1):
        powers.append(powers[-1] * values)
    return powers
