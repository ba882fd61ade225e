"""Sigma points: a slot's parameters and its cells' theta at each of them (`reference` has the equations)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from irt_engine.arrays import FloatArray
from irt_engine.compilation import compiled
from irt_engine.fitting.kernel_data import (
    LARGEST_EDGE,
    LARGEST_GAP,
    SMALLEST_GAP,
    Approximation,
    CellData,
    SlotData,
)
from irt_engine.models.thresholds import FARTHEST

_ROUNDING = 1e-9  # of a variance


class SlotPoints(NamedTuple):
    """One slot at Q points."""

    alpha: FloatArray  # (Q,)
    by_gap: FloatArray  # (G, Q) -alpha e^gap
    jacobian: FloatArray  # (P, E, Q) dx_c / dphi_p, but for log alpha's
    level: FloatArray  # (E + 2, Q) alpha b_c behind a row of 0, and before another
    edge: FloatArray  # (E, Q) exp(alpha b_c)
    odds: FloatArray  # (E + 1, Q) 1 / (e^gap - 1) of the gap below each edge; 0 outside


@compiled
def new_points(P: int, E: int, G: int, Q: int) -> SlotPoints:
    """Return points to be placed."""
    return SlotPoints(
        np.empty(Q),
        np.empty((G, Q)),
        np.zeros((P, E, Q)),
        np.zeros((E + 2, Q)),
        np.empty((E, Q)),
        np.zeros((E + 1, Q)),
    )


@compiled
def cholesky(covariance: FloatArray, lower: FloatArray) -> bool:
    """Factor the first (P, P) of a covariance; False where it is not positive."""
    for r in range(len(lower)):
        for c in range(r + 1):
            total = covariance[r, c]
            for k in range(c):
                total -= lower[r, k] * lower[c, k]
            if c < r:
                lower[r, c] = total / lower[c, c]
            elif total > 0.0:
                lower[r, r] = np.sqrt(total)
            else:
                return False
    return True


@compiled
def theta_roots(
    first: int, last: int, here: int, cells: CellData, q: Approximation, lower: FloatArray, root: FloatArray
) -> bool:
    """The last rows of the Cholesky factors of (phi, theta), root (P + 1, cells); False where there is none."""
    P = len(lower)
    for n in range(first, last):
        i, left = n - first, 0.0
        for p in range(P):
            root[p, i] = 0.0
        for k in range(cells.col.shape[1]):
            at, by = cells.col[n, k], cells.coef[n, k]
            for m in range(cells.col.shape[1]):
                left += by * cells.coef[n, m] * q.shared[at, cells.col[n, m]]
            for p in range(P):
                root[p, i] += by * q.cross[here, p, at]
        if cells.replies.shape[1] == 2 and cells.replies[n, 0] >= 0:
            left += _add_replies(n, i, here, cells, q, root)
        for p in range(P):
            for c in range(p):
                root[p, i] -= lower[p, c] * root[c, i]
            root[p, i] /= lower[p, p]
            left -= root[p, i] ** 2
        if not left > -_ROUNDING:
            return False
        root[P, i] = np.sqrt(max(left, 0.0))
    return True


@compiled
def _add_replies(n: int, i: int, here: int, cells: CellData, q: Approximation, root: FloatArray) -> float:
    """Add the covariance of phi with a cell's replies, high minus low. Returns what they add to theta's variance."""
    P = len(root) - 1
    low, high = P + cells.replies[n, 0], P + cells.replies[n, 1]
    added = q.slot[here, low, low] + q.slot[here, high, high] - 2.0 * q.slot[here, low, high]
    for k in range(cells.col.shape[1]):
        at = cells.col[n, k]
        added += 2.0 * cells.coef[n, k] * (q.cross[here, high, at] - q.cross[here, low, at])
    for p in range(P):
        root[p, i] += q.slot[here, p, high] - q.slot[here, p, low]
    return float(added)


@compiled
def _bounded(value: float, most: float) -> float:
    return float(max(min(value, most), -most))


@compiled
def place_points(j: int, prompts: SlotData, averaged: bool, lower: FloatArray, points: SlotPoints) -> None:
    """phi = mean + L z at all points z, and the edges' levels there."""
    (E, G), P = prompts.spread.shape, prompts.phi.shape[1]
    phi = np.empty(P)
    for q in range(len(prompts.points)):
        for p in range(P):
            phi[p] = prompts.phi[j, p]
            for r in range(p + 1 if averaged else 0):
                phi[p] += lower[p, r] * prompts.points[q, r]
        alpha = np.exp(_bounded(phi[0], FARTHEST))
        points.alpha[q] = alpha
        for g in range(G):
            points.by_gap[g, q] = -alpha * np.exp(_bounded(phi[P - G + g], FARTHEST))
        for c in range(E):
            level = alpha * phi[1] if prompts.located else 0.0
            for g in range(G):
                points.jacobian[P - G + g, c, q] = prompts.spread[c, g] * points.by_gap[g, q]
                level -= points.jacobian[P - G + g, c, q]
            if prompts.located:
                points.jacobian[1, c, q] = -alpha
            points.level[1 + c, q] = _bounded(level, LARGEST_EDGE)
            points.edge[c, q] = np.exp(points.level[1 + c, q])
            if c > 0:
                gap = points.level[1 + c, q] - points.level[c, q]
                points.odds[c, q] = 1.0 / np.expm1(min(max(gap, SMALLEST_GAP), LARGEST_GAP))
