"""What the votes of cells say through their two edges, the effect that the votes of a cell share integrated out.

Notation as in `kernels`: edge 0 is "not worse", edge 1 "better"; F their probabilities. Given the cell's effect e, on
the logit scale of both edges, votes are independent; e ~ N(0, sd^2) is summed over the nodes of a Gauss-Hermite rule.
Most cells of a large table hold a single vote: these go through side by side, the others one by one.
"""

from __future__ import annotations

import numpy as np

from .arrays import FloatArray
from .compiled import compiled

ADAPTIVE_FROM = 7  # votes in a cell: from here the cell effect's quadrature is centred on where its votes put it
_FACTORIAL = np.array([1.0, 1.0, 2.0, 6.0])  # of up to three votes
_LEAST_CHANCE = 1e-300  # its logarithm is finite
SUMS = 9  # over the nodes, that a block of single votes needs


@compiled
def ask_votes(
    block: tuple[int, int],  # (first cell, cells)
    offset: int,  # of the block in its slot
    low: FloatArray,  # (m,) exp(-alpha theta)
    edge: FloatArray,
    odds: FloatArray,
    counts: FloatArray,  # (n, 3) votes: A better, tie, B better
    weight: FloatArray,  # (n,)
    effects: FloatArray,  # (4, Q): e / sd and weights of a Gauss-Hermite rule, exp(-e), and sd in the first place
    observed: bool,  # information: observed, or expected
    over_nodes: FloatArray,  # (SUMS, m) to work in
    work: FloatArray,  # (4, Q) to work in
    told: FloatArray,  # (6,) to work in
    by_edge: FloatArray,  # (4, 2, m)   out: 1 score, 2 information, 3 its off-diagonal
    sd_score: FloatArray,  # (cells of the slot,)   added to: the score by log sd
) -> float:
    """Score and information of the edges of a block of cells; returns the weighted log-likelihood."""
    first, m = block
    _sum_nodes(low[:m], edge, effects, over_nodes)
    total = _single_votes(
        block, offset, odds[1], counts, weight, effects[3, 0], observed, over_nodes, by_edge, sd_score
    )
    for i in range(m):
        cell = first + i
        if counts[cell, 0] + counts[cell, 1] + counts[cell, 2] != 1.0:
            total += weight[cell] * vote_edges(low[i], edge, odds, counts, cell, effects, observed, work, told)
            by_edge[1, 0, i], by_edge[1, 1, i] = told[0], told[1]
            by_edge[2, 0, i], by_edge[2, 1, i], by_edge[3, 0, i] = told[2], told[3], told[4]
            sd_score[offset + i] += told[5]
    return total


@compiled
def _sum_nodes(low: FloatArray, edge: FloatArray, effects: FloatArray, sums: FloatArray) -> None:
    """sums (SUMS, m) over the nodes: 1 - F0, F0 (1 - F1), F1; F' of both edges; F' e / sd; F''."""
    sums[:, : len(low)] = 0.0
    lose, tie, win, d0, d1, e0, e1, c0, c1 = sums
    for q in range(effects.shape[1]):
        node, weight = effects[0, q], effects[1, q]
        to0, to1 = effects[2, q] * edge[0], effects[2, q] * edge[1]
        for i in range(len(low)):
            x0, x1 = low[i] * to0, low[i] * to1  # odds against
            F0, F1 = 1.0 / (1.0 + x0), 1.0 / (1.0 + x1)
            against0, against1 = x0 * F0, x1 * F1
            slope0, slope1 = weight * F0 * against0, weight * F1 * against1
            lose[i] += weight * against0
            tie[i] += weight * F0 * against1
            win[i] += weight * F1
            d0[i] += slope0
            d1[i] += slope1
            e0[i] += node * slope0
            e1[i] += node * slope1
            c0[i] += slope0 * (against0 - F0)
            c1[i] += slope1 * (against1 - F1)


@compiled
def _single_votes(
    block: tuple[int, int],
    offset: int,
    odds: float,
    counts: FloatArray,
    weight: FloatArray,
    sd: float,
    observed: bool,
    sums: FloatArray,
    by_edge: FloatArray,
    sd_score: FloatArray,
) -> float:
    """One vote in each cell: everything follows from its three chances and their derivatives. Passes over others."""
    total, (first, m) = 0.0, block
    lose, tie, win, d0, d1, e0, e1, c0, c1 = sums
    for i in range(m):
        a, t, b = counts[first + i, 0], counts[first + i, 1], counts[first + i, 2]
        single = 1.0 if a + t + b == 1.0 else 0.0
        A, B = max(lose[i], _LEAST_CHANCE), max(win[i], _LEAST_CHANCE)
        T = max(tie[i] / (1.0 + odds), _LEAST_CHANCE)
        score0, score1 = t * d0[i] / T - a * d0[i] / A, b * d1[i] / B - t * d1[i] / T
        by_edge[1, 0, i], by_edge[1, 1, i] = score0, score1
        if observed:
            by_edge[2, 0, i] = score0 * score0 - c0[i] * (t / T - a / A)
            by_edge[2, 1, i] = score1 * score1 - c1[i] * (b / B - t / T)
            by_edge[3, 0, i] = score0 * score1
        else:
            by_edge[2, 0, i] = d0[i] * (d0[i] / A + d0[i] / T)
            by_edge[2, 1, i] = d1[i] * (d1[i] / B + d1[i] / T)
            by_edge[3, 0, i] = -d0[i] * d1[i] / T
        by_sd = b * e1[i] / B - a * e0[i] / A + t * (e0[i] - e1[i]) / T
        sd_score[offset + i] += single * sd * by_sd
        total += single * weight[first + i] * np.log(a * A + t * T + b * B if single > 0.0 else 1.0)
    return total


@compiled
def vote_edges(
    low: float,
    edge: FloatArray,
    odds: FloatArray,
    counts: FloatArray,  # (n, 3)
    cell: int,
    effects: FloatArray,  # (4, Q)
    observed: bool,
    work: FloatArray,  # (4, Q)
    told: FloatArray,  # (6,)   out: score (2), information (0, 0), (1, 1), (0, 1), d log P / d log sd
) -> float:
    """The votes of one cell. Returns log P.

    The expected information of up to 3 votes runs over all their outcomes; that of more is that of normal votes,
    I - I 1 1' I / (1 / sd^2 + 1' I 1). The observed one is exact.
    """
    a, t, b = counts[cell, 0], counts[cell, 1], counts[cell, 2]
    n, tie, sd = a + t + b, odds[1], effects[3, 0]
    many = n >= ADAPTIVE_FROM
    if many:
        _nodes_of_many(low, edge, a, t, b, effects, work)
    else:
        _nodes(low, edge, effects, work)
    log_p = _share_nodes(a, t, b, work)
    told[:] = 0.0
    for q in range(effects.shape[1]):
        F0, F1, share = work[0, q], work[1, q], work[2, q]
        g0 = -a * F0 + t * (1.0 - F0 + tie)
        g1 = b * (1.0 - F1) - t * (F1 + tie)
        told[0] += share * g0
        told[1] += share * g1
        told[5] += share * (g0 + g1) * sd * work[3, q]
        if observed:
            meeting = t * tie * (1.0 + tie)
            told[2] += share * ((a + t) * F0 * (1.0 - F0) + meeting - g0 * g0)
            told[3] += share * ((b + t) * F1 * (1.0 - F1) + meeting - g1 * g1)
            told[4] -= share * (meeting + g0 * g1)
    if observed:
        told[2] += told[0] * told[0]
        told[3] += told[1] * told[1]
        told[4] += told[0] * told[1]
        return float(log_p - t * np.log1p(tie))
    if many:
        _nodes(low, edge, effects, work)
    if n <= 3.0 and n == np.floor(n):
        _expect_outcomes(tie, int(n), effects, work, told)
    else:
        _expect_normal(tie, n, effects, work, told)
    return float(log_p - t * np.log1p(tie))


@compiled
def _nodes(low: float, edge: FloatArray, effects: FloatArray, work: FloatArray) -> None:
    """The rule as it is: work = (P(not worse), P(better), log weight, node)."""
    for q in range(effects.shape[1]):
        at = low * effects[2, q]
        work[0, q], work[1, q] = 1.0 / (1.0 + at * edge[0]), 1.0 / (1.0 + at * edge[1])
        work[2, q], work[3, q] = np.log(effects[1, q]), effects[0, q]


@compiled
def _nodes_of_many(
    low: float, edge: FloatArray, a: float, t: float, b: float, effects: FloatArray, work: FloatArray
) -> None:
    """The rule moved to where many votes put their cell's effect, and narrowed to their width."""
    sd = effects[3, 0]
    centre, width = 0.0, 1.0  # of the nodes, in e / sd
    for _ in range(8):
        at = low * np.exp(-sd * centre)
        F0, F1 = 1.0 / (1.0 + at * edge[0]), 1.0 / (1.0 + at * edge[1])
        slope = sd * (-a * F0 + t * (1.0 - F0 - F1) + b * (1.0 - F1)) - centre
        curve = sd * sd * ((a + t) * F0 * (1.0 - F0) + (b + t) * F1 * (1.0 - F1)) + 1.0
        centre += min(max(slope / curve, -1.0), 1.0)
        width = 1.0 / np.sqrt(curve)
    for q in range(effects.shape[1]):
        u = effects[0, q]
        z = centre + width * u
        at = low * np.exp(-sd * z)
        work[0, q], work[1, q] = 1.0 / (1.0 + at * edge[0]), 1.0 / (1.0 + at * edge[1])
        work[2, q], work[3, q] = np.log(effects[1, q] * width) - 0.5 * (z * z - u * u), z


@compiled
def _share_nodes(a: float, t: float, b: float, work: FloatArray) -> float:
    """Turn log weights into each node's share of the votes' probability; returns the log of that but for ties' gap."""
    most, total = -np.inf, 0.0
    for q in range(work.shape[1]):
        F0, F1 = work[0, q], work[1, q]
        if a > 0.0:
            work[2, q] += a * np.log(max(1.0 - F0, _LEAST_CHANCE))
        if b > 0.0:
            work[2, q] += b * np.log(max(F1, _LEAST_CHANCE))
        if t > 0.0:
            work[2, q] += t * np.log(max(F0 * (1.0 - F1), _LEAST_CHANCE))
        most = max(most, work[2, q])
    for q in range(work.shape[1]):
        work[2, q] = np.exp(work[2, q] - most)
        total += work[2, q]
    for q in range(work.shape[1]):
        work[2, q] /= total
    return float(most + np.log(total))


@compiled
def _expect_outcomes(tie: float, n: int, effects: FloatArray, work: FloatArray, told: FloatArray) -> None:
    """Sum over the outcomes of n votes of dP dP' / P; at most ten of them."""
    for a in range(n + 1):
        for t in range(n + 1 - a):
            b = n - a - t
            P, d0, d1 = 0.0, 0.0, 0.0
            for q in range(work.shape[1]):
                F0, F1 = work[0, q], work[1, q]
                p = effects[1, q]
                for _ in range(a):
                    p *= 1.0 - F0
                for _ in range(t):
                    p *= F0 * (1.0 - F1) / (1.0 + tie)
                for _ in range(b):
                    p *= F1
                P += p
                d0 += p * (-a * F0 + t * (1.0 - F0 + tie))
                d1 += p * (b * (1.0 - F1) - t * (F1 + tie))
            if P > _LEAST_CHANCE:
                ways = _FACTORIAL[n] / (_FACTORIAL[a] * _FACTORIAL[t] * _FACTORIAL[b] * P)
                told[2] += ways * d0 * d0
                told[3] += ways * d1 * d1
                told[4] += ways * d0 * d1


@compiled
def _expect_normal(tie: float, n: float, effects: FloatArray, work: FloatArray, told: FloatArray) -> None:
    i00, i01, i11 = 0.0, 0.0, 0.0
    for q in range(work.shape[1]):
        F0, F1, weight = work[0, q], work[1, q], n * effects[1, q]
        i00 += weight * F0 * (1.0 - F0) * (1.0 + tie)
        i11 += weight * F1 * (1.0 - F1) * (1.0 + tie)
        i01 -= weight * F1 * (1.0 - F1) * (1.0 - F0 + tie)
    along0, along1 = i00 + i01, i01 + i11
    variance = effects[3, 0] ** 2
    taken = variance / (1.0 + variance * (along0 + along1))
    told[2], told[3], told[4] = i00 - taken * along0**2, i11 - taken * along1**2, i01 - taken * along0 * along1
