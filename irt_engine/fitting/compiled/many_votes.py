"""Many votes in a cell: quadrature where they put the cell effect (`reference_many_votes` has the equations)."""

from __future__ import annotations

import numpy as np

from irt_engine.arrays import FloatArray
from irt_engine.compilation import compiled
from irt_engine.fitting.kernel_data import ADAPTIVE_FROM, NEWTON_STEPS, NODES, CellEffect


@compiled
def many_votes(
    x: tuple[float, float],
    odds: float,
    given: tuple[float, float, float],
    effect: CellEffect,
    observed: bool,
    result: FloatArray,
) -> None:
    """Fill `result` (`few_votes`) with what many votes, or votes that are not whole, say."""
    (a, t, b), sd = given, effect.sd
    centre, width = _centre(x, given, sd)
    place, share, F0, F1 = np.empty(NODES), np.empty(NODES), np.empty(NODES), np.empty(NODES)
    most = -np.inf
    for k in range(NODES):
        place[k] = centre + width * effect.nodes[k]
        y0, y1 = np.exp(-(x[0] + sd * place[k])), np.exp(-(x[1] + sd * place[k]))
        F0[k], F1[k] = 1.0 / (1.0 + y0), 1.0 / (1.0 + y1)
        log = -(a * _log1p_inverse(y0) + t * (np.log1p(y0) + _log1p_inverse(y1)) + b * np.log1p(y1))
        share[k] = log + 0.5 * (effect.nodes[k] ** 2 - place[k] ** 2)
        most = max(most, share[k])
    P = 0.0
    for k in range(NODES):
        share[k] = effect.weights[k] * width * np.exp(share[k] - most)
        P += share[k]
    low, high, m0, m1, by_sd = a + t, b + t, 0.0, 0.0, 0.0
    for k in range(NODES):
        share[k] /= P
        m0 += share[k] * F0[k]
        m1 += share[k] * F1[k]
        by_sd += share[k] * place[k] * (high - low * F0[k] - high * F1[k])
    result[0], result[1] = t * (1.0 + odds) - low * m0, b - t * odds - high * m1
    result[5], result[6] = sd * by_sd, np.log(P) + most - t * np.log1p(odds)
    if observed:
        _observed((m0, m1), share, F0, F1, odds, given, result)
    else:
        _expected(x, odds, a + t + b, effect, result)


@compiled
def _log1p_inverse(y: float) -> float:
    """log(1 + 1 / y)."""
    return float(np.log1p(1.0 / y))


@compiled
def _centre(x: tuple[float, float], given: tuple[float, float, float], sd: float) -> tuple[float, float]:
    """Mode and SD of e / sd given the votes, by damped Newton steps; 0 and 1 where votes are fewer."""
    (a, t, b), centre, width = given, 0.0, 1.0
    for _ in range(NEWTON_STEPS if a + t + b >= ADAPTIVE_FROM else 0):
        F0, F1 = 1.0 / (1.0 + np.exp(-(x[0] + sd * centre))), 1.0 / (1.0 + np.exp(-(x[1] + sd * centre)))
        slope = sd * (-a * F0 + t * (1.0 - F0 - F1) + b * (1.0 - F1)) - centre
        curve = sd * sd * ((a + t) * F0 * (1.0 - F0) + (b + t) * F1 * (1.0 - F1)) + 1.0
        centre += min(max(slope / curve, -1.0), 1.0)
        width = curve**-0.5
    return centre, width


@compiled
def _observed(
    mean: tuple[float, float],
    share: FloatArray,
    F0: FloatArray,
    F1: FloatArray,
    odds: float,
    given: tuple[float, float, float],
    result: FloatArray,
) -> None:
    """-d2 log P / dx dx': what it is at a given cell effect, less the variance of the score over the effect."""
    (a, t, b), v00, v11, v01, slope0, slope1 = given, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(NODES):
        apart0, apart1 = F0[k] - mean[0], F1[k] - mean[1]
        v00 += share[k] * apart0 * apart0
        v11 += share[k] * apart1 * apart1
        v01 += share[k] * apart0 * apart1
        slope0 += share[k] * F0[k] * (1.0 - F0[k])
        slope1 += share[k] * F1[k] * (1.0 - F1[k])
    low, high, meet = a + t, b + t, t * odds * (1.0 + odds)
    result[2], result[3] = low * slope0 + meet - low * low * v00, high * slope1 + meet - high * high * v11
    result[4] = -meet - low * high * v01


@compiled
def _expected(x: tuple[float, float], odds: float, votes: float, effect: CellEffect, result: FloatArray) -> None:
    """I - I 1 1' I / (1 / sd^2 + 1' I 1) with I that of the votes, averaged over the cell effect."""
    i00, i11, i01 = 0.0, 0.0, 0.0
    for k in range(NODES):
        e, w = effect.sd * effect.nodes[k], effect.weights[k]
        F0, F1 = 1.0 / (1.0 + np.exp(-(x[0] + e))), 1.0 / (1.0 + np.exp(-(x[1] + e)))
        i00 += w * F0 * (1.0 - F0) * (1.0 + odds)
        i11 += w * F1 * (1.0 - F1) * (1.0 + odds)
        i01 -= w * F1 * (1.0 - F1) * (1.0 - F0 + odds)
    i00, i11, i01, variance = votes * i00, votes * i11, votes * i01, effect.sd**2
    along0, along1 = i00 + i01, i11 + i01
    taken = variance / (1.0 + variance * (along0 + along1))
    result[2], result[3], result[4] = i00 - taken * along0**2, i11 - taken * along1**2, i01 - taken * along0 * along1
