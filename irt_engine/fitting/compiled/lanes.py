"""Lanes: the cells of a block at all points, and the sums that are taken over them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from irt_engine.arrays import FloatArray
from irt_engine.compilation import compiled
from irt_engine.fitting.kernel_data import LARGEST_EDGE, CellData, KernelResults, SlotData

from .points import SlotPoints


class Lanes(NamedTuple):
    """m cells at Q points, lane q m + i."""

    at: FloatArray  # (L,) alpha theta
    low: FloatArray  # (L,) exp(-alpha theta)
    score: FloatArray  # (E, L)
    info: FloatArray  # (E, L) the diagonal of the edges' information
    off: FloatArray  # (E + 1, L) beside it, with the edge before; the first and last rows are 0
    by_sd: FloatArray  # (L,) the score by the log SD of the cell effect
    log: FloatArray  # (L,) the log-likelihood
    held: FloatArray  # (L,) T 1 of an edge
    work: FloatArray  # (9, L) of the forms of votes


class PointSums(NamedTuple):
    """Weighted sums over a slot's cells, at each point: s, T, T beside its diagonal, T x; and x' s, x' T x."""

    score: FloatArray  # (E, Q)
    info: FloatArray  # (E, Q)
    off: FloatArray  # (E, Q)
    bent: FloatArray  # (E, Q)
    by_slope: FloatArray  # (Q,)
    squared: FloatArray  # (Q,)


@compiled
def new_lanes(E: int, L: int) -> Lanes:
    """Return lanes to be filled."""
    return Lanes(
        np.empty(L),
        np.empty(L),
        np.empty((E, L)),
        np.empty((E, L)),
        np.zeros((E + 1, L)),
        np.zeros(L),
        np.zeros(L),
        np.empty(L),
        np.empty((9, L)),
    )


@compiled
def new_sums(E: int, Q: int) -> PointSums:
    """Return sums, 0."""
    return PointSums(np.zeros((E, Q)), np.zeros((E, Q)), np.zeros((E, Q)), np.zeros((E, Q)), np.zeros(Q), np.zeros(Q))


@compiled
def clear(sums: PointSums) -> None:
    """Begin another slot."""
    E, Q = sums.score.shape
    for q in range(Q):
        sums.by_slope[q], sums.squared[q] = 0.0, 0.0
        for c in range(E):
            sums.score[c, q], sums.info[c, q], sums.off[c, q], sums.bent[c, q] = 0.0, 0.0, 0.0, 0.0


@compiled
def place_lanes(
    theta: FloatArray, averaged: bool, root: FloatArray, prompts: SlotData, alpha: FloatArray, lanes: Lanes
) -> None:
    """alpha theta of m cells at all points, from their means (m,) and roots (P + 1, m), and its exponential."""
    m = len(theta)
    for q in range(len(alpha)):
        at = lanes.at[q * m : (q + 1) * m]
        for i in range(m):
            at[i] = theta[i]
        for p in range(len(root) if averaged else 0):
            row, by = root[p], prompts.points[q, p]
            for i in range(m):
                at[i] += by * row[i]
        by = alpha[q]
        for i in range(m):
            at[i] = min(max(by * at[i], -LARGEST_EDGE), LARGEST_EDGE)
    low = lanes.low
    for lane in range(m * len(alpha)):
        low[lane] = np.exp(-lanes.at[lane])


@compiled
def gather(
    first: int,
    m: int,
    cells: CellData,
    prompts: SlotData,
    points: SlotPoints,
    lanes: Lanes,
    sums: PointSums,
    out: KernelResults,
) -> None:
    """Add lanes to their cells' terms and to their slot's sums.

    T x of an edge is (T 1) alpha theta less what the levels of the edge and of its neighbours take.
    """
    E, Q = points.edge.shape
    weight, stop = cells.weight[first : first + m], first + m
    d_theta, i_theta = out.d_theta[first:stop], out.i_theta[first:stop]
    with_alpha, spread = np.zeros(m), prompts.spread
    crossed = np.zeros((spread.shape[1], m))
    for i in range(m):
        d_theta[i], i_theta[i] = 0.0, 0.0
    for c in range(E):
        for q in range(Q):
            a, lane = points.alpha[q] / Q, q * m
            before, level, after = points.level[c, q], points.level[c + 1, q], points.level[c + 2, q]
            of_score, of_info, of_off, of_bent, by_slope, squared = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            at, held = lanes.at[lane : lane + m], lanes.held[lane : lane + m]
            score, info = lanes.score[c, lane : lane + m], lanes.info[c, lane : lane + m]
            off, off_next = lanes.off[c, lane : lane + m], lanes.off[c + 1, lane : lane + m]
            for i in range(m):
                held[i] = off[i] + info[i] + off_next[i]
            for i in range(m):
                x, w = at[i] - level, weight[i]
                bent = held[i] * at[i] - (before * off[i] + level * info[i] + after * off_next[i])
                of_score += w * score[i]
                of_info += w * info[i]
                of_off += w * off_next[i]
                of_bent += w * bent
                by_slope += w * score[i] * x
                squared += w * bent * x
            for i in range(m):
                d_theta[i] += a * score[i]
                i_theta[i] += a * points.alpha[q] * held[i]
                with_alpha[i] += a * held[i] * (at[i] - level)
            sums.score[c, q] += of_score
            sums.info[c, q] += of_info
            sums.off[c, q] += of_off
            sums.bent[c, q] += of_bent
            sums.by_slope[q] += by_slope
            sums.squared[q] += squared
            for g in range(spread.shape[1]):
                share, row = a * points.by_gap[g, q] * spread[c, g], crossed[g]
                for i in range(m if share != 0.0 else 0):
                    row[i] += share * held[i]
    _write_cells(first, weight, with_alpha, crossed, prompts.located, out)


@compiled
def _write_cells(
    first: int, weight: FloatArray, with_alpha: FloatArray, crossed: FloatArray, located: bool, out: KernelResults
) -> None:
    """Weigh the cells' terms; a location moves all edges, and theta the other way."""
    P, G = out.cross.shape[1], len(crossed)
    for i in range(len(weight)):
        n, w = first + i, weight[i]
        out.d_theta[n] *= w
        out.i_theta[n] *= w
        out.cross[n, 0] = w * with_alpha[i]
        if located:
            out.cross[n, 1] = -out.i_theta[n]
        for g in range(G):
            out.cross[n, P - G + g] = w * crossed[g, i]


@compiled
def add_sums(j: int, first: int, m: int, Q: int, cells: CellData, logs: bool, lanes: Lanes, out: KernelResults) -> None:
    """Add the log-likelihood with `logs`, and the scores by log SD of cells from which it is learned."""
    for i in range(m):
        log, by_sd, w = 0.0, 0.0, cells.weight[first + i]
        for q in range(Q if logs else 0):
            log += lanes.log[q * m + i]
        out.sums[j, 0] += w * log / Q
        if cells.repeated[first + i]:
            for q in range(Q):
                by_sd += lanes.by_sd[q * m + i]
            out.sums[j, 1] += w * by_sd / Q
            out.sums[j, 2] += w * (by_sd / Q) ** 2


@compiled
def fold(j: int, points: SlotPoints, sums: PointSums, out: KernelResults) -> None:
    """J' s and J' T J of a slot, means over the points; log alpha's row of J is x."""
    (P, E, Q), J = points.jacobian.shape, points.jacobian
    out.d_phi[j, 0], out.i_phi[j, 0, 0] = 0.0, 0.0
    for q in range(Q):
        out.d_phi[j, 0] += sums.by_slope[q] / Q
        out.i_phi[j, 0, 0] += sums.squared[q] / Q
    for p in range(1, P):
        score, with_alpha = 0.0, 0.0
        for c in range(E):
            for q in range(Q):
                score += J[p, c, q] * sums.score[c, q]
                with_alpha += J[p, c, q] * sums.bent[c, q]
        out.d_phi[j, p] = score / Q
        out.i_phi[j, 0, p] = out.i_phi[j, p, 0] = with_alpha / Q
        for r in range(1, p + 1):
            total = 0.0
            for c in range(E):
                for q in range(Q):
                    total += J[p, c, q] * sums.info[c, q] * J[r, c, q]
            for c in range(E - 1):
                for q in range(Q):
                    total += sums.off[c, q] * (J[p, c, q] * J[r, c + 1, q] + J[p, c + 1, q] * J[r, c, q])
            out.i_phi[j, p, r] = out.i_phi[j, r, p] = total / Q
