"""Few votes in a cell, and votes of prompts that were met once: sums over the nodes and over outcomes.

`reference_votes` has the equations. `result` holds score (2), information (0, 0), (1, 1), (0, 1), the score by log SD,
and the log-likelihood.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from irt_engine.arrays import FloatArray
from irt_engine.compilation import compiled
from irt_engine.fitting.kernel_data import LARGEST_GAP, LEAST_CHANCE, MOST_COUNTED, SMALLEST_GAP, CellEffect

_FACTORIAL = np.array([float(math.factorial(k)) for k in range(MOST_COUNTED + 1)])
_FARTHEST_ODDS = 300.0  # log


class Nodes(NamedTuple):
    """All nodes of one cell at one point, (N,): slopes one after another."""

    weight: FloatArray
    effect: FloatArray  # e / sd
    slope: FloatArray
    F0: FloatArray
    F1: FloatArray
    lost: FloatArray  # 1 - F0
    short: FloatArray  # 1 - F1
    tied: FloatArray  # F0 - F1
    odds: FloatArray  # 1 / (e^gap - 1)


@compiled
def new_nodes(N: int) -> Nodes:
    """Return nodes to be placed."""
    n = N
    return Nodes(
        np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n),
        np.empty(n),
    )  # fmt: skip


@compiled
def shifts(effect: CellEffect) -> FloatArray:
    """exp(-e) (N,) at the nodes of the cell effect."""
    shift = np.empty(len(effect.nodes))
    for k in range(len(shift)):
        shift[k] = np.exp(-effect.sd * effect.nodes[k])
    return shift


@compiled
def place_nodes(x: tuple[float, float], odds: float, effect: CellEffect, shift: FloatArray, nodes: Nodes) -> None:
    """The chances of one vote at all nodes; shift (nodes,) is exp(-e)."""
    N, pooled = len(effect.nodes), len(effect.slopes) > 1
    for s in range(len(effect.slopes)):
        slope, meeting, of_gap = effect.slopes[s], 1.0 / (1.0 + odds), odds
        if pooled:
            gap = min(max(slope * np.log1p(1.0 / odds), SMALLEST_GAP), LARGEST_GAP)
            meeting, of_gap = -np.expm1(-gap), 1.0 / np.expm1(gap)
        against0 = np.exp(min(max(-slope * x[0], -_FARTHEST_ODDS), _FARTHEST_ODDS))
        against1 = np.exp(min(max(-slope * x[1], -_FARTHEST_ODDS), _FARTHEST_ODDS))
        for k in range(N):
            at, x0, x1 = s * N + k, against0 * shift[k], against1 * shift[k]
            F0, F1 = 1.0 / (1.0 + x0), 1.0 / (1.0 + x1)
            nodes.weight[at], nodes.slope[at] = effect.slope_weights[s] * effect.weights[k], slope
            nodes.effect[at], nodes.odds[at] = effect.nodes[k], of_gap
            nodes.F0[at], nodes.F1[at], nodes.lost[at], nodes.short[at] = F0, F1, x0 * F0, x1 * F1
            nodes.tied[at] = F0 * x1 * F1 * meeting


@compiled
def few_votes(given: tuple[float, float, float], sd: float, observed: bool, nodes: Nodes, result: FloatArray) -> None:
    """What the given votes say; their expected information is summed over the outcomes of as many."""
    for k in range(7):
        result[k] = 0.0
    P = max(_given_votes(given, observed, nodes, result), LEAST_CHANCE)
    for k in range(6):
        result[k] /= P
    result[5] *= sd
    result[6] = np.log(P)
    if observed:
        result[2] += result[0] ** 2
        result[3] += result[1] ** 2
        result[4] += result[0] * result[1]
        return
    result[2], result[3], result[4] = 0.0, 0.0, 0.0
    votes = min(given[0] + given[1] + given[2], float(MOST_COUNTED))
    fewer = int(np.floor(votes))
    if fewer > 0:
        _add_expected(fewer, fewer + 1.0 - votes, nodes, result)
    if votes > fewer:
        _add_expected(fewer + 1, votes - fewer, nodes, result)


@compiled
def _power(value: float, times: float) -> float:
    if times == 0.0:
        return 1.0
    if times == 1.0:
        return value
    return value * value if times == 2.0 else value**times


@compiled
def _given_votes(given: tuple[float, float, float], observed: bool, nodes: Nodes, result: FloatArray) -> float:
    """Sums over the nodes of p times score and observed information. Returns that of p."""
    (a, t, b), P = given, 0.0
    for k in range(len(nodes.weight)):
        slope, odds, F0, F1 = nodes.slope[k], nodes.odds[k], nodes.F0[k], nodes.F1[k]
        p = nodes.weight[k] * _power(nodes.lost[k], a) * _power(nodes.tied[k], t) * _power(F1, b)
        g0, g1 = slope * (t * (1.0 - F0 + odds) - a * F0), slope * (b * (1.0 - F1) - t * (F1 + odds))
        P += p
        result[0] += p * g0
        result[1] += p * g1
        result[5] += p * (g0 + g1) / slope * nodes.effect[k]
        if observed:
            meet, square = t * odds * (1.0 + odds), slope * slope
            result[2] += p * (square * ((a + t) * F0 * nodes.lost[k] + meet) - g0 * g0)
            result[3] += p * (square * ((b + t) * F1 * nodes.short[k] + meet) - g1 * g1)
            result[4] -= p * (square * meet + g0 * g1)
    return P


@compiled
def _add_expected(votes: int, share: float, nodes: Nodes, result: FloatArray) -> None:
    """Fisher's information of so many votes: the sum over their outcomes of dP dP' / P."""
    for a in range(votes + 1):
        for t in range(votes + 1 - a):
            b, P, d0, d1 = votes - a - t, 0.0, 0.0, 0.0
            for k in range(len(nodes.weight)):
                slope, odds, F0, F1 = nodes.slope[k], nodes.odds[k], nodes.F0[k], nodes.F1[k]
                p = nodes.weight[k]
                for _ in range(a):
                    p *= nodes.lost[k]
                for _ in range(t):
                    p *= nodes.tied[k]
                for _ in range(b):
                    p *= F1
                P += p
                d0 += p * slope * (t * (1.0 - F0 + odds) - a * F0)
                d1 += p * slope * (b * (1.0 - F1) - t * (F1 + odds))
            ways = _FACTORIAL[votes] / (_FACTORIAL[a] * _FACTORIAL[t] * _FACTORIAL[b])
            by = share * ways / max(P, LEAST_CHANCE)
            result[2] += by * d0 * d0
            result[3] += by * d1 * d1
            result[4] += by * d0 * d1
