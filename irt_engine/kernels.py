"""The hot loops: what the cells of each slot say, averaged over the Gaussian q of their parameters.

Notation (grm.py has the model): a slot's parameters are phi = (log alpha, [location], log gaps), P in all; edge c of a
cell is x_c = alpha (theta - b_c), E in all. Everything the likelihood says passes through its edges, as a score (E,)
and a tridiagonal information (E,) + (E - 1,), because a category has at most two edges. From there

    dx_c / dtheta = alpha,   dx_c / dlog alpha = x_c,   dx_c / dphi_p = U_cp   (location and gaps: the slot's alone).

q of a cell is normal. Its sigma points are laid out with phi first and theta last: then phi, U and the thresholds at a
point belong to the slot and are computed once, and a cell needs one exponential per point. Cells go through in blocks,
their numbers side by side in memory, so that the processor works on several at a time.
"""

from __future__ import annotations

import numpy as np

from .arrays import FloatArray, IntArray
from .compiled import compiled
from .prompts import FARTHEST
from .vote_edges import SUMS, ask_votes

_FARTHEST_EDGE = 300.0  # exp of the sum of two such numbers is still finite
_SMALLEST_GAP = 1e-7  # two thresholds never quite meet, so that no category has probability 0
BLOCK = 64  # cells whose edges fit the nearest cache


@compiled
def place_edges(
    phi: FloatArray,
    located: bool,
    spread: FloatArray,
    level: FloatArray,
    edge: FloatArray,
    odds: FloatArray,
    U: FloatArray,
) -> float:
    """One slot at one phi (P,): returns alpha and fills level (E,) = alpha b_c, edge = exp(level), U (E, P - 1) and
    odds (E,) = 1 / (e^gap - 1), gap = level_c - level_(c - 1)."""
    E, G = spread.shape
    first = 1 if located else 0
    alpha = np.exp(min(max(phi[0], -FARTHEST), FARTHEST))
    middle = phi[1] if located else 0.0
    for c in range(E):
        b = middle
        for g in range(G):
            width = np.exp(min(max(phi[1 + first + g], -FARTHEST), FARTHEST))
            U[c, first + g] = -alpha * width * spread[c, g]
            b += width * spread[c, g]
        if located:
            U[c, 0] = -alpha
        level[c] = min(max(alpha * b, -_FARTHEST_EDGE), _FARTHEST_EDGE)
        odds[c] = 0.0
        if c > 0:
            odds[c] = 1.0 / np.expm1(min(max(level[c] - level[c - 1], _SMALLEST_GAP), 700.0))
        edge[c] = np.exp(level[c])
    return float(alpha)


@compiled
def graded_edges(
    cells: tuple[int, int],  # (first, count)
    low: FloatArray,  # (m,) exp(-alpha theta)
    edge: FloatArray,
    odds: FloatArray,
    counts: FloatArray,  # (n, 1): category 0..E
    observed: bool,
    by_edge: FloatArray,  # (4, E, m)   out: P(at or above), score, information and its off-diagonal
) -> None:
    """Net ratings: score and information, expected or `observed`, of the edges of some cells."""
    E, (first, m) = len(edge), cells
    for c in range(E):
        for i in range(m):
            by_edge[0, c, i] = 1.0 / (1.0 + low[i] * edge[c])
    for c in range(E):
        below = odds[c]
        above = odds[c + 1] if c + 1 < E else 0.0
        for i in range(m):
            F = by_edge[0, c, i]
            category = counts[first + i, 0]
            won = 1.0 - F + above if category == c + 1.0 else 0.0
            lost = F + below if category == c else 0.0
            by_edge[1, c, i] = won - lost
            by_edge[2, c, i] = F * (1.0 - F) * (1.0 + below + above)
    for c in range(E - 1):
        above = odds[c + 1]
        for i in range(m):
            F, higher = by_edge[0, c, i], by_edge[0, c + 1, i]
            by_edge[3, c, i] = -higher * (1.0 - higher) * (1.0 - F + above)
    if observed:
        _observe_graded(cells, odds, counts, by_edge)


@compiled
def _observe_graded(cells: tuple[int, int], odds: FloatArray, counts: FloatArray, by_edge: FloatArray) -> None:
    """Observed information in the place of the expected: a category's logarithm is a sum over its two edges and their
    gap, log F_k + log(1 - F_(k+1)) + log(1 - e^-gap)."""
    E, (first, m) = len(odds), cells
    for c in range(E):
        below = odds[c] * (1.0 + odds[c])
        above = odds[c + 1] * (1.0 + odds[c + 1]) if c + 1 < E else 0.0
        for i in range(m):
            F, category = by_edge[0, c, i], counts[first + i, 0]
            own = F * (1.0 - F)
            won = own + above if category == c + 1.0 else 0.0
            lost = own + below if category == c else 0.0
            by_edge[2, c, i] = won + lost
            by_edge[3, c, i] = -above if category == c + 1.0 else 0.0


@compiled
def graded_log(
    cells: tuple[int, int], low: FloatArray, edge: FloatArray, odds: FloatArray, counts: FloatArray, weight: FloatArray
) -> float:
    """Weighted log-likelihood of some net ratings."""
    E, (first, m), total = len(edge), cells, 0.0
    for i in range(m):
        k = int(counts[first + i, 0])
        log_p = 0.0
        if k > 0:
            log_p -= np.log1p(low[i] * edge[k - 1])
        if k < E:
            log_p -= np.log1p(1.0 / (low[i] * edge[k]))
        if 0 < k < E:
            log_p -= np.log1p(odds[k])
        total += weight[first + i] * log_p
    return total


@compiled
def spread_of_slot(covariance: FloatArray, lower: FloatArray) -> bool:
    """Cholesky factor of one slot's (P, P) covariance, in place of a library call; False if it is not positive."""
    P = len(covariance)
    for r in range(P):
        for c in range(r + 1):
            total = covariance[r, c]
            for k in range(c):
                total -= lower[r, k] * lower[c, k]
            if r == c:
                if not total > 0.0:
                    return False
                lower[r, r] = np.sqrt(total)
            else:
                lower[r, c] = total / lower[c, c]
    return True


@compiled
def average_slots(
    slots: IntArray,  # (2,) first and last + 1
    starts: IntArray,  # (J + 1,) where each slot's cells begin
    averaged: IntArray,  # (J,) 1 where the sigma points are worth their cost, 0 where the mean stands for them
    theta: FloatArray,  # (n,) means
    counts: FloatArray,  # (n, 1) category of a net rating, or (n, 3) votes
    weight: FloatArray,  # (n,)
    phi: FloatArray,  # (J, P) means, the common log gaps included
    located: bool,
    spread: FloatArray,  # (E, G)
    points: FloatArray,  # (Q, P + 1), of equal weight; phi first, theta last
    col: IntArray,  # (n, k)
    coef: FloatArray,  # (n, k)
    covariance: FloatArray,  # (S, S) of the shaft
    pulled: FloatArray,  # (slots, P, S) covariance of phi with the shaft, of these slots
    of_phi: FloatArray,  # (slots, P, P) covariance of phi, of these slots
    effects: FloatArray,  # (4, nodes) of the cell effect; without votes not looked at
    observed: bool,  # information: observed of the edges, or expected
    d_theta: FloatArray,  # (n,)         out: gradient, weighted
    d_phi: FloatArray,  # (J, P)         out
    i_theta: FloatArray,  # (n,)         out: information
    cross: FloatArray,  # (n, P)         out: theta x phi
    i_phi: FloatArray,  # (J, P, P)      out
    sums: FloatArray,  # (J, 3)          out: log-likelihood, its derivative by log sd, sum of squares of that
) -> bool:
    """Expected log-likelihood of the cells of some slots under q, its gradient and information. False: q has no root.

    The log-likelihood is left at 0 for net ratings that are averaged: nobody asks for it there.
    """
    E, P, most = len(spread), phi.shape[1], 1
    for j in range(slots[0], slots[1]):
        most = max(most, starts[j + 1] - starts[j])
    level, edge, odds, U, along = np.empty(E), np.empty(E), np.empty(E), np.zeros((E, P - 1)), np.empty((E, P - 1))
    lower, value, reach = np.zeros((P, P)), np.empty(P), np.empty((P + 1, most))
    by_cell, by_edge, by_phi = np.empty((2, BLOCK)), np.zeros((4, E, BLOCK)), np.empty((P, BLOCK))
    of_edges, over_nodes = np.empty((4, E)), np.empty((SUMS, BLOCK))
    work, told = np.empty((4, effects.shape[1])), np.empty(6)
    sd_score = np.empty(most)
    only_mean = np.zeros((1, P + 1))
    for j in range(slots[0], slots[1]):
        first, cells = starts[j], starts[j + 1] - starts[j]
        _clear(j, first, cells, d_theta, d_phi, i_theta, cross, i_phi, sums, sd_score)
        use = points if averaged[j] else only_mean
        here = j - slots[0]
        if averaged[j]:
            if not _reach_slot(first, cells, col, coef, covariance, pulled[here], of_phi[here], lower, reach):
                return False
        else:
            reach[:, :cells] = 0.0
        share = 1.0 / len(use)
        for q in range(len(use)):
            for p in range(P):
                value[p] = phi[j, p]
                for r in range(p + 1):
                    value[p] += lower[p, r] * use[q, r]
            alpha = place_edges(value, located, spread, level, edge, odds, U)
            of_edges[:] = 0.0
            xTx = 0.0
            for offset in range(0, cells, BLOCK):
                block = (first + offset, min(BLOCK, cells - offset))
                _place_cells(block, offset, theta, reach, use, q, alpha, by_cell)
                if counts.shape[1] == 3:
                    sums[j, 0] += share * ask_votes(
                        block, offset, by_cell[1], edge, odds, counts, weight, effects, observed,
                        over_nodes, work, told, by_edge, sd_score,
                    )  # fmt: skip
                else:
                    graded_edges(block, by_cell[1], edge, odds, counts, observed, by_edge)
                    if len(use) == 1:
                        sums[j, 0] += graded_log(block, by_cell[1], edge, odds, counts, weight)
                of_slope, of_information = _sum_cells(
                    block, share, alpha, by_cell[0], level, U, by_edge, weight, d_theta, i_theta, by_phi, of_edges
                )
                d_phi[j, 0] += of_slope
                xTx += of_information
                for i in range(block[1]):
                    for p in range(P):
                        cross[block[0] + i, p] += by_phi[p, i]
            for c in range(E):
                for p in range(P - 1):
                    d_phi[j, 1 + p] += of_edges[3, c] * U[c, p]
            _fold(of_edges, xTx, U, along, i_phi[j])
        for i in range(cells):
            sums[j, 1] += weight[first + i] * sd_score[i] * share
            sums[j, 2] += weight[first + i] * (sd_score[i] * share) ** 2
    return True


@compiled
def _clear(
    j: int,
    first: int,
    cells: int,
    d_theta: FloatArray,
    d_phi: FloatArray,
    i_theta: FloatArray,
    cross: FloatArray,
    i_phi: FloatArray,
    sums: FloatArray,
    sd_score: FloatArray,
) -> None:
    d_phi[j], i_phi[j], sums[j] = 0.0, 0.0, 0.0
    for i in range(cells):
        d_theta[first + i], i_theta[first + i], sd_score[i] = 0.0, 0.0, 0.0
        cross[first + i] = 0.0


@compiled
def _reach_slot(
    first: int,
    cells: int,
    col: IntArray,
    coef: FloatArray,
    covariance: FloatArray,
    pulled: FloatArray,
    of_phi: FloatArray,
    lower: FloatArray,
    reach: FloatArray,
) -> bool:
    """Cholesky factors of a slot's cells: lower (P, P) of phi, and of each cell the last row, reach (P + 1, cells)."""
    if not spread_of_slot(of_phi, lower):
        return False
    P = len(lower)
    for i in range(cells):
        n = first + i
        variance = 0.0
        for k in range(col.shape[1]):
            for m in range(col.shape[1]):
                variance += coef[n, k] * coef[n, m] * covariance[col[n, k], col[n, m]]
        for p in range(P):
            value = 0.0
            for k in range(col.shape[1]):
                value += coef[n, k] * pulled[p, col[n, k]]
            for c in range(p):
                value -= lower[p, c] * reach[c, i]
            reach[p, i] = value / lower[p, p]
            variance -= reach[p, i] * reach[p, i]
        if not variance > -1e-9:
            return False
        reach[P, i] = np.sqrt(max(variance, 0.0))
    return True


@compiled
def _place_cells(
    block: tuple[int, int],
    offset: int,
    theta: FloatArray,
    reach: FloatArray,
    points: FloatArray,
    q: int,
    alpha: float,
    by_cell: FloatArray,
) -> None:
    """alpha theta of a block of cells at this sigma point, and exp(-alpha theta)."""
    first, m = block
    for i in range(m):
        by_cell[0, i] = theta[first + i]
    for c in range(points.shape[1]):
        move = points[q, c]
        for i in range(m):
            by_cell[0, i] += reach[c, offset + i] * move
    for i in range(m):
        by_cell[0, i] = min(max(alpha * by_cell[0, i], -_FARTHEST_EDGE), _FARTHEST_EDGE)
        by_cell[1, i] = np.exp(-by_cell[0, i])


@compiled
def _sum_cells(
    block: tuple[int, int],
    share: float,
    alpha: float,
    at: FloatArray,
    level: FloatArray,
    U: FloatArray,
    by_edge: FloatArray,
    weight: FloatArray,
    d_theta: FloatArray,
    i_theta: FloatArray,
    by_phi: FloatArray,
    of_edges: FloatArray,
) -> tuple[float, float]:
    """Add a block of cells to each cell's gradient and information, and to the sums over the slot's cells.

    by_phi (P, m) becomes the cells' cross information; of_edges (4, E) gathers the edges' information (diagonal and off
    it), T x, and score. Returns the sums of score x and of x' T x.
    """
    E, P, (first, m) = len(level), len(by_phi), block
    of_slope, xTx = 0.0, 0.0
    for p in range(P):
        for i in range(m):
            by_phi[p, i] = 0.0
    for c in range(E):
        before = max(c - 1, 0)
        after = min(c + 1, E - 1)
        has_before = 1.0 if c > 0 else 0.0
        has_after = 1.0 if c + 1 < E else 0.0
        diagonal, off, Tx_sum, score_sum = 0.0, 0.0, 0.0, 0.0
        for i in range(m):
            w = share * weight[first + i]
            x = at[i] - level[c]
            left, right = has_before * by_edge[3, before, i], has_after * by_edge[3, c, i]
            T1 = by_edge[2, c, i] + left + right
            Tx = by_edge[2, c, i] * x + left * (at[i] - level[before]) + right * (at[i] - level[after])
            score = by_edge[1, c, i]
            d_theta[first + i] += w * alpha * score
            i_theta[first + i] += w * alpha * alpha * T1
            by_phi[0, i] += w * alpha * Tx
            score_sum += w * score
            of_slope += w * score * x
            diagonal += w * by_edge[2, c, i]
            off += w * right
            Tx_sum += w * Tx
            xTx += w * x * Tx
            for p in range(1, P):
                by_phi[p, i] += w * alpha * T1 * U[c, p - 1]
        of_edges[0, c] += diagonal
        of_edges[1, c] += off
        of_edges[2, c] += Tx_sum
        of_edges[3, c] += score_sum
    return of_slope, xTx


@compiled
def _fold(of_edges: FloatArray, xTx: float, U: FloatArray, along: FloatArray, i_phi: FloatArray) -> None:
    """Add a point's information about phi, J' T J with J = (x | U), to i_phi (P, P); along (E, P - 1) to work in."""
    E, own = U.shape
    for r in range(own):
        for c in range(E):
            along[c, r] = of_edges[0, c] * U[c, r]
            if c > 0:
                along[c, r] += of_edges[1, c - 1] * U[c - 1, r]
            if c + 1 < E:
                along[c, r] += of_edges[1, c] * U[c + 1, r]
    i_phi[0, 0] += xTx
    for p in range(own):
        total = 0.0
        for c in range(E):
            total += of_edges[2, c] * U[c, p]
        i_phi[0, 1 + p] += total
        i_phi[1 + p, 0] += total
        for r in range(p + 1):
            total = 0.0
            for c in range(E):
                total += U[c, p] * along[c, r]
            i_phi[1 + p, 1 + r] += total
            if r < p:
                i_phi[1 + r, 1 + p] += total
