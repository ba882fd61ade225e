"""Expected gradient and information of the cells in numpy: the readable reference for the compiled kernels.

The log likelihood of a cell depends on its parameters through its edges x_c = alpha (theta - b_c) alone. With the
scores s_c = dl / dx_c and the tridiagonal information T of the edges, the chain rule gives

    dx_c / dtheta = alpha,   dx_c / dlog alpha = x_c,   dx_c / dlocation = -alpha,
    dx_c / dgap_g = -alpha e^gap_g spread_cg,
    gradient = J' s,   information = J' T J   with J the rows of these derivatives.

This is Fisher scoring for ordered categories (McCullagh 1980, Journal of the Royal Statistical Society B 42, 109-142).
Under q, every term is the mean over the sigma points: the fixed point of the variational Gaussian approximation (Opper
and Archambeau 2009, Neural Computation 21, 786-792), with the Gauss-Newton form of the second derivative. `vote_terms`
and `net_terms` compute the scores and information of the edges.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from irt_engine.arrays import FloatArray, IntArray
from irt_engine.models.thresholds import FARTHEST

from .kernel_data import (
    LARGEST_EDGE,
    LARGEST_GAP,
    SMALLEST_GAP,
    Approximation,
    CellData,
    CellEffect,
    KernelResults,
    SlotData,
)
from .reference_ratings import net_terms
from .reference_votes import vote_terms

_BLOCK = 1 << 12  # cells times points at a time: their arrays fit the nearer caches
_ROUNDING = 1e-9  # of a variance


def expected_terms(
    slots: tuple[int, int],
    cells: CellData,
    prompts: SlotData,
    q: Approximation,
    effect: CellEffect,
    observed: bool,
    logs: bool,
    out: KernelResults,
) -> bool:
    """Fill `out` for the slots from the first to before the last.

    Parameters
    ----------
    slots
        First slot, and last + 1.
    cells, prompts, q, effect
        The problem and the approximation (`kernel_data`).
    observed
        Whether the information is observed, or expected.
    logs
        Whether the log-likelihood is asked for.
    out
        What is filled.

    Returns
    -------
    bool
        False where a covariance of q has no root.
    """
    first, last = slots
    lower = slot_roots(q, prompts.phi.shape[1]) if q.averaged else None
    if q.averaged and lower is None:
        return False
    points = _slot_points(prompts, first, last, lower)
    sums = _PointSums.zeros(len(points.alpha), *points.level.shape[1:])
    out.sums[first:last] = 0.0
    for block, slot in _blocks(cells.starts, first, last, points.alpha.shape[1]):
        theta = _theta_points(block, slot, cells, prompts, q, lower)
        if theta is None:
            return False
        _add_block(block, slot, theta, cells, prompts, points, effect, (observed, logs), sums, out, first)
    _fold(points, sums, out, slice(first, last))
    return True


class _SlotPoints(NamedTuple):
    """Slots at their sigma points: (slots, Q) or (slots, E, Q)."""

    alpha: FloatArray
    level: FloatArray  # alpha b_c
    odds: FloatArray  # (slots, E + 1, Q) 1 / (e^gap - 1) of the gap below each edge; 0 outside
    jacobian: FloatArray  # (slots, P, E, Q) dx_c / dphi_p, but for log alpha's, which is x_c
    by_gap: FloatArray  # (slots, G, Q) -alpha e^gap


class _PointSums(NamedTuple):
    """Weighted sums over the cells of each slot at each point."""

    score: FloatArray  # (slots, E, Q) s
    info: FloatArray  # (slots, E, Q) the diagonal of T
    off: FloatArray  # (slots, E, Q) beside it, with the next edge
    bent: FloatArray  # (slots, E, Q) T x
    by_slope: FloatArray  # (slots, Q) x' s
    squared: FloatArray  # (slots, Q) x' T x

    @classmethod
    def zeros(cls, slots: int, edges: int, points: int) -> _PointSums:
        score, info, off, bent = np.zeros((4, slots, edges, points))
        return cls(score, info, off, bent, np.zeros((slots, points)), np.zeros((slots, points)))


def _slot_points(prompts: SlotData, first: int, last: int, lower: FloatArray | None) -> _SlotPoints:
    """phi = mean + L z at all points z, and the edges' levels there."""
    mean, (E, G), located = prompts.phi[first:last], prompts.spread.shape, prompts.located
    P = mean.shape[1]
    phi = np.repeat(mean[:, :, None], len(prompts.points), axis=2)
    if lower is not None:
        phi += lower @ prompts.points[:, :P].T
    alpha = np.exp(np.clip(phi[:, 0], -FARTHEST, FARTHEST))
    by_gap = -alpha[:, None] * np.exp(np.clip(phi[:, P - G :], -FARTHEST, FARTHEST))
    jacobian = np.zeros((len(mean), P, E, phi.shape[2]))
    jacobian[:, P - G :] = prompts.spread.T[:, :, None] * by_gap[:, :, None]
    level = -jacobian[:, P - G :].sum(axis=1)
    if located:
        jacobian[:, 1] = -alpha[:, None]
        level += (alpha * phi[:, 1])[:, None]
    level = np.clip(level, -LARGEST_EDGE, LARGEST_EDGE)
    odds = np.zeros((len(mean), E + 1, phi.shape[2]))
    odds[:, 1:E] = 1.0 / np.expm1(np.clip(np.diff(level, axis=1), SMALLEST_GAP, LARGEST_GAP))
    return _SlotPoints(alpha, level, odds, jacobian, by_gap)


def _blocks(starts: IntArray, first: int, last: int, points: int) -> Iterator[tuple[slice, IntArray]]:
    """Consecutive cells, and the slot of each, counted from the first."""
    slot = np.repeat(np.arange(last - first), np.diff(starts[first : last + 1]))
    size, offset = max(1, _BLOCK // points), int(starts[first])
    for start in range(0, len(slot), size):
        stop = min(start + size, len(slot))
        yield slice(offset + start, offset + stop), slot[start:stop]


def _theta_points(
    block: slice, slot: IntArray, cells: CellData, prompts: SlotData, q: Approximation, lower: FloatArray | None
) -> FloatArray | None:
    """theta (m, Q) of some cells at their points; None where its variance is negative."""
    theta = cells.theta[block, None]
    if lower is None:
        return theta
    root = theta_roots(block, slot, cells, q, lower)
    return None if root is None else theta + root @ prompts.points.T


def slot_roots(q: Approximation, parameters: int) -> FloatArray | None:
    """Return the Cholesky factors of the covariances of phi.

    Parameters
    ----------
    q : Approximation
        Covariances of q.
    parameters : int
        Number of a slot's own parameters P.

    Returns
    -------
    ndarray of float, shape (slots, P, P), or None
        None if a covariance is not positive definite.
    """
    try:
        lower: FloatArray = np.linalg.cholesky(q.slot[:, :parameters, :parameters]).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        return None
    return lower if np.isfinite(lower).all() else None  # LAPACK lets NaN pass


def theta_roots(
    block: slice, slot: IntArray, cells: CellData, q: Approximation, lower: FloatArray
) -> FloatArray | None:
    """Return the last row of the Cholesky factor of the covariance of (phi, theta) of some cells.

    cov(phi, theta) = L r gives the first P numbers, and var(theta) - r' r the square of the last one.

    Parameters
    ----------
    block : slice
        The m cells.
    slot : ndarray of int, shape (m,)
        Slots of the cells, counted from the first evaluated one.
    cells : CellData
        All cells.
    q : Approximation
        Covariances of q.
    lower : ndarray of float, shape (slots, P, P)
        The result of `slot_roots`.

    Returns
    -------
    ndarray of float, shape (m, P + 1), or None
        None if a variance is not positive.
    """
    P, col, coef = lower.shape[1], cells.col[block], cells.coef[block]
    variance = np.einsum("ik,im,ikm->i", coef, coef, q.shared[col[:, :, None], col[:, None, :]])
    with_phi = np.einsum("ik,ikp->ip", coef, q.cross[slot[:, None], :P, col])
    if cells.replies.shape[1]:
        _add_replies(cells.replies[block] + P, slot, col, coef, q, variance, with_phi)
    root = np.empty((len(slot), P + 1))
    for p in range(P):
        known = np.einsum("ip,ip->i", root[:, :p], lower[slot, p, :p])
        root[:, p] = (with_phi[:, p] - known) / lower[slot, p, p]
    left = variance - np.einsum("ip,ip->i", root[:, :P], root[:, :P])
    root[:, P] = np.sqrt(np.maximum(left, 0.0))
    return root if np.all(left > -_ROUNDING) else None


def _add_replies(
    replies: IntArray,
    slot: IntArray,
    col: IntArray,
    coef: FloatArray,
    q: Approximation,
    variance: FloatArray,
    with_phi: FloatArray,
) -> None:
    """Add what the effects of the two replies, high minus low, have to do with theta and with phi."""
    P = with_phi.shape[1]
    there = np.flatnonzero(replies[:, 0] >= P)
    low, high = replies[there].T
    j, at = slot[there], col[there]
    variance[there] += q.slot[j, low, low] + q.slot[j, high, high] - 2.0 * q.slot[j, low, high]
    apart = q.cross[j[:, None], high[:, None], at] - q.cross[j[:, None], low[:, None], at]
    variance[there] += 2.0 * (coef[there] * apart).sum(axis=1)
    with_phi[there] += q.slot[j, :P, high] - q.slot[j, :P, low]


def _add_block(
    block: slice,
    slot: IntArray,
    theta: FloatArray,
    cells: CellData,
    prompts: SlotData,
    points: _SlotPoints,
    effect: CellEffect,
    wanted: tuple[bool, bool],
    sums: _PointSums,
    out: KernelResults,
    first: int,
) -> None:
    """Write the terms of some cells, and add them to their slots' sums."""
    alpha, weight, counts = points.alpha[slot], cells.weight[block], cells.counts[block]
    at = np.clip(alpha * theta, -LARGEST_EDGE, LARGEST_EDGE)
    x = at[None] - points.level[slot].swapaxes(0, 1)
    odds = points.odds[slot].swapaxes(0, 1)
    found = (
        vote_terms(x, odds, counts, effect, *wanted) if counts.shape[1] == 3 else net_terms(x, odds, counts, *wanted)
    )
    held = found.info.copy()  # T 1
    held[:-1] += found.off
    held[1:] += found.off
    bent = found.info * x  # T x
    bent[:-1] += found.off * x[1:]
    bent[1:] += found.off * x[:-1]
    _write_cells(block, alpha, points.by_gap[slot], found.score, held, x, weight, prompts, out)
    runs = np.flatnonzero(np.diff(slot, prepend=-1))
    whose, heavy = slot[runs], weight[:, None]
    for total, part in ((sums.score, found.score), (sums.info, found.info), (sums.bent, bent)):
        total[whose] += np.add.reduceat(part * heavy, runs, axis=1).swapaxes(0, 1)
    sums.off[whose, :-1] += np.add.reduceat(found.off * heavy, runs, axis=1).swapaxes(0, 1)
    sums.by_slope[whose] += np.add.reduceat((found.score * x).sum(axis=0) * heavy, runs)
    sums.squared[whose] += np.add.reduceat((bent * x).sum(axis=0) * heavy, runs)
    by_sd = np.where(cells.repeated[block], found.by_sd.mean(axis=1), 0.0)
    log = found.log.mean(axis=1) if wanted[1] else np.zeros(len(slot))
    result = np.stack([log, by_sd, by_sd**2], axis=1) * heavy
    out.sums[first + whose] += np.add.reduceat(result, runs)


def _write_cells(
    block: slice,
    alpha: FloatArray,
    by_gap: FloatArray,
    score: FloatArray,
    held: FloatArray,
    x: FloatArray,
    weight: FloatArray,
    prompts: SlotData,
    out: KernelResults,
) -> None:
    """Each cell's weighted means over the points: score and information of theta, and its information with phi."""
    P, G = out.cross.shape[1], by_gap.shape[1]
    out.d_theta[block] = (alpha * score.sum(axis=0)).mean(axis=1)
    out.i_theta[block] = (alpha**2 * held.sum(axis=0)).mean(axis=1)
    out.cross[block, 0] = (alpha * (held * x).sum(axis=0)).mean(axis=1)
    if prompts.located:
        out.cross[block, 1] = -out.i_theta[block]  # a location moves all edges, and theta the other way
    spread = np.einsum("cg,cmq->gmq", prompts.spread, held)
    out.cross[block, P - G :] = np.einsum("mq,mgq,gmq->mg", alpha, by_gap, spread) / alpha.shape[1]
    out.d_theta[block] *= weight
    out.i_theta[block] *= weight
    out.cross[block] *= weight[:, None]


def _fold(points: _SlotPoints, sums: _PointSums, out: KernelResults, slots: slice) -> None:
    """J' s and J' T J of each slot, means over the points."""
    J, Q = points.jacobian, points.alpha.shape[1]
    P = J.shape[1]
    out.d_phi[slots] = np.einsum("jpcq,jcq->jp", J, sums.score) / Q
    out.d_phi[slots, 0] = sums.by_slope.mean(axis=1)
    held = sums.info[:, None] * J
    held[:, :, :-1] += sums.off[:, None, :-1] * J[:, :, 1:]
    held[:, :, 1:] += sums.off[:, None, :-1] * J[:, :, :-1]
    out.i_phi[slots] = np.matmul(J.reshape(len(J), P, -1), held.reshape(len(J), P, -1).swapaxes(1, 2)) / Q
    with_alpha = np.einsum("jpcq,jcq->jp", J, sums.bent) / Q
    out.i_phi[slots, 0, :] = out.i_phi[slots, :, 0] = with_alpha
    out.i_phi[slots, 0, 0] = sums.squared.mean(axis=1)
