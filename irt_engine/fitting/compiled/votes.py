"""Votes that share a cell effect: scores and information of their edges (`reference_votes` has the equations)."""

from __future__ import annotations

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray
from irt_engine.compilation import compiled
from irt_engine.fitting.kernel_data import LEAST_CHANCE, MOST_FEW, NODES, CellEffect

from .few_votes import few_votes, new_nodes, place_nodes, shifts
from .lanes import Lanes
from .many_votes import many_votes
from .points import SlotPoints


@compiled
def vote_edges(
    counts: FloatArray,
    repeated: BoolArray,
    points: SlotPoints,
    effect: CellEffect,
    observed: bool,
    logs: bool,
    lanes: Lanes,
) -> None:
    """Fill what cells of votes say; counts (m, 3). Only of `repeated` cells (m,) by_sd is asked for."""
    m, singles, again, pooled = len(counts), 0, 0, len(effect.slopes) > 1
    for i in range(m):
        if _votes(counts, i) == 1.0:
            singles += 1
            again += 1 if repeated[i] else 0  # parts of several votes, which add up to one
    if singles > 0:
        if pooled:
            _pooled_chances(m, points, effect, lanes)
        else:
            _chances(m, points, effect, lanes)
            if observed or again > 0:
                _bends(m, points, effect, lanes)
        _single_votes(counts, points, effect.sd, observed, logs, lanes)
    if singles < m:
        _several_votes(counts, points, effect, observed, lanes)


@compiled
def _several_votes(counts: FloatArray, points: SlotPoints, effect: CellEffect, observed: bool, lanes: Lanes) -> None:
    """Fill what cells of several votes say; it needs arrays of its own, which most blocks can do without."""
    m, Q, pooled = len(counts), len(points.alpha), len(effect.slopes) > 1
    nodes, result, shift = new_nodes(len(effect.nodes) * len(effect.slopes)), np.empty(7), shifts(effect)
    for i in range(m):
        votes, given = _votes(counts, i), (counts[i, 0], counts[i, 1], counts[i, 2])
        few = pooled or (votes <= MOST_FEW and votes == np.floor(votes))
        for lane in range(i, m * Q if votes != 1.0 else 0, m):
            odds = points.odds[1, lane // m]
            x = lanes.at[lane] - points.level[1, lane // m], lanes.at[lane] - points.level[2, lane // m]
            if few:
                place_nodes(x, odds, effect, shift, nodes)
                few_votes(given, effect.sd, observed, nodes, result)
            else:
                many_votes(x, odds, given, effect, observed, result)
            _put(lane, result, lanes)


@compiled
def _votes(counts: FloatArray, i: int) -> float:
    return float(counts[i, 0] + counts[i, 1] + counts[i, 2])


@compiled
def _put(lane: int, result: FloatArray, lanes: Lanes) -> None:
    lanes.score[0, lane], lanes.score[1, lane] = result[0], result[1]
    lanes.info[0, lane], lanes.info[1, lane], lanes.off[1, lane] = result[2], result[3], result[4]
    lanes.by_sd[lane], lanes.log[lane] = result[5], result[6]


@compiled
def _chances(m: int, points: SlotPoints, effect: CellEffect, lanes: Lanes) -> None:
    """One vote's chances to be lost, tied and won, and F' of both edges, over the cell effect: rows of `work`.

    The loop over the lanes of a point counts from 0, in rows of their own. Only then is it compiled to instructions
    that work on several lanes at once, and takes a third of the time.
    """
    weights, shift, work = effect.weights, shifts(effect), lanes.work
    for q in range(len(points.alpha)):
        edge0, edge1, meeting = points.edge[0, q], points.edge[1, q], 1.0 / (1.0 + points.odds[1, q])
        a, b = q * m, (q + 1) * m
        low, lose, tie, win = lanes.low[a:b], work[0, a:b], work[1, a:b], work[2, a:b]
        slope0, slope1 = work[3, a:b], work[4, a:b]
        for i in range(m):
            against0, against1 = low[i] * edge0, low[i] * edge1
            to_lose, to_tie, to_win, d0, d1 = 0.0, 0.0, 0.0, 0.0, 0.0
            for k in range(NODES):
                x0, x1, w = against0 * shift[k], against1 * shift[k], weights[k]
                both = 1.0 / ((1.0 + x0) * (1.0 + x1))
                F0, F1 = both * (1.0 + x1), both * (1.0 + x0)
                lost = x0 * F0
                to_lose += w * lost
                to_tie += w * both * x1
                to_win += w * F1
                d0 += w * F0 * lost
                d1 += w * F1 * (x1 * F1)
            lose[i], tie[i], win[i], slope0[i], slope1[i] = to_lose, to_tie * meeting, to_win, d0, d1


@compiled
def _bends(m: int, points: SlotPoints, effect: CellEffect, lanes: Lanes) -> None:
    """F' e / sd and F'' of both edges: rows of `work`."""
    nodes, weights, shift, work = effect.nodes, effect.weights, shifts(effect), lanes.work
    for q in range(len(points.alpha)):
        edge0, edge1 = points.edge[0, q], points.edge[1, q]
        a, b = q * m, (q + 1) * m
        low, along0, along1, bend0, bend1 = lanes.low[a:b], work[5, a:b], work[6, a:b], work[7, a:b], work[8, a:b]
        for i in range(m):
            against0, against1 = low[i] * edge0, low[i] * edge1
            e0, e1, c0, c1 = 0.0, 0.0, 0.0, 0.0
            for k in range(NODES):
                x0, x1 = against0 * shift[k], against1 * shift[k]
                F0, F1 = 1.0 / (1.0 + x0), 1.0 / (1.0 + x1)
                lost0, lost1 = x0 * F0, x1 * F1  # 1 - F, which a difference would round to 0
                d0, d1 = weights[k] * F0 * lost0, weights[k] * F1 * lost1
                e0 += nodes[k] * d0
                e1 += nodes[k] * d1
                c0 += d0 * (lost0 - F0)
                c1 += d1 * (lost1 - F1)
            along0[i], along1[i], bend0[i], bend1[i] = e0, e1, c0, c1


@compiled
def _pooled_chances(m: int, points: SlotPoints, effect: CellEffect, lanes: Lanes) -> None:
    """As `_chances` and `_bends`, over discriminations, too."""
    shift, work = shifts(effect), lanes.work
    nodes = new_nodes(len(effect.nodes) * len(effect.slopes))
    for q in range(len(points.alpha)):
        for lane in range(q * m, (q + 1) * m):
            x = lanes.at[lane] - points.level[1, q], lanes.at[lane] - points.level[2, q]
            place_nodes(x, points.odds[1, q], effect, shift, nodes)
            for row in range(9):
                work[row, lane] = 0.0
            for k in range(len(nodes.weight)):
                w, slope, F0, F1, lost = nodes.weight[k], nodes.slope[k], nodes.F0[k], nodes.F1[k], nodes.lost[k]
                short = nodes.short[k]
                d0, d1 = w * F0 * lost, w * F1 * short
                work[0, lane] += w * lost
                work[1, lane] += w * nodes.tied[k]
                work[2, lane] += w * F1
                work[3, lane] += slope * d0
                work[4, lane] += slope * d1
                work[5, lane] += nodes.effect[k] * d0
                work[6, lane] += nodes.effect[k] * d1
                work[7, lane] += slope * slope * d0 * (lost - F0)
                work[8, lane] += slope * slope * d1 * (short - F1)


@compiled
def _single_votes(counts: FloatArray, points: SlotPoints, sd: float, observed: bool, logs: bool, lanes: Lanes) -> None:
    """One vote in each cell: all follows from its three chances and their derivatives. Wrong for other cells.

    A vote may be divided among the three outcomes.
    """
    m, work = len(counts), lanes.work
    for q in range(len(points.alpha)):
        for i in range(m):
            lane, a, t, b = q * m + i, counts[i, 0], counts[i, 1], counts[i, 2]
            lose, tie = max(work[0, lane], LEAST_CHANCE), max(work[1, lane], LEAST_CHANCE)
            win, d0, d1 = max(work[2, lane], LEAST_CHANCE), work[3, lane], work[4, lane]
            by_lose, by_tie, by_win = 1.0 / lose, 1.0 / tie, 1.0 / win
            of0, of1 = t * by_tie - a * by_lose, b * by_win - t * by_tie
            lanes.score[0, lane], lanes.score[1, lane] = d0 * of0, d1 * of1
            lanes.by_sd[lane] = sd * (work[5, lane] * of0 + work[6, lane] * of1)
            if observed:
                of_tie = t * by_tie * by_tie
                lanes.info[0, lane] = d0 * d0 * (a * by_lose * by_lose + of_tie) - work[7, lane] * of0
                lanes.info[1, lane] = d1 * d1 * (b * by_win * by_win + of_tie) - work[8, lane] * of1
                lanes.off[1, lane] = -d0 * d1 * of_tie
            else:
                lanes.info[0, lane] = d0 * d0 * (by_lose + by_tie)
                lanes.info[1, lane] = d1 * d1 * (by_win + by_tie)
                lanes.off[1, lane] = -d0 * d1 * by_tie
    for lane in range(m * len(points.alpha) if logs else 0):
        i = lane % m
        total = 0.0
        for k in range(3):
            if counts[i, k] > 0.0:
                total += counts[i, k] * np.log(max(work[k, lane], LEAST_CHANCE))
        lanes.log[lane] = total
