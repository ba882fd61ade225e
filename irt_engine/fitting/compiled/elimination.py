"""Blocks of the precision and their elimination, slot by slot (`reference_elimination` has the equations)."""

from __future__ import annotations

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray, IntArray
from irt_engine.compilation import compiled
from irt_engine.fitting.kernel_data import Approximation, CellData, SlotInformation

from .points import cholesky, theta_roots


@compiled
def inverse_factors(blocks: FloatArray, inverse: FloatArray, positive: BoolArray) -> None:
    """Fill L^-1 (J, W, W) of each block L L', and (J,) whether there is one.

    Of many small matrices: LAPACK's call for each of them takes five times as long as the work.
    """
    W = blocks.shape[1]
    lower = np.zeros((W, W))
    for j in range(len(blocks)):
        positive[j] = cholesky(blocks[j], lower)
        if not positive[j]:
            continue
        for r in range(W):
            row, by = inverse[j, r], 1.0 / lower[r, r]
            for k in range(r):
                above, share = inverse[j, k], lower[r, k] * by
                for c in range(k + 1):
                    row[c] -= share * above[c]
            row[r] = by


@compiled
def theta_of(col: IntArray, coef: FloatArray, z: FloatArray, theta: FloatArray) -> None:
    """Fill theta (n,) with x' z."""
    for i in range(len(col)):
        total = 0.0
        for k in range(col.shape[1]):
            total += coef[i, k] * z[col[i, k]]
        theta[i] = total


@compiled
def add_transposed(col: IntArray, coef: FloatArray, theta: FloatArray, z: FloatArray) -> None:
    """Add to z (S,) the sum of theta x."""
    for i in range(len(col)):
        for k in range(col.shape[1]):
            z[col[i, k]] += coef[i, k] * theta[i]


@compiled
def add_shared(info: SlotInformation, shared: FloatArray) -> None:
    """Add the cells' part of A to the lower half of (S, S)."""
    P = info.cross.shape[1]
    common = len(shared) - P
    for i in range(len(info.col)):
        for k in range(info.col.shape[1]):
            at, by = info.col[i, k], info.coef[i, k]
            shared[at, at] += by * by * info.i_theta[i]
            for m in range(k):
                other = info.col[i, m]
                shared[max(at, other), min(at, other)] += by * info.coef[i, m] * info.i_theta[i]
            for p in range(info.first_gap, P):
                shared[common + p, at] += by * info.cross[i, p]


@compiled
def add_replies(info: SlotInformation, D: FloatArray) -> None:
    """Add what cells say about their replies, high minus low, and with the rest of their slot, to D (J, W, W)."""
    P = info.cross.shape[1]
    for j in range(len(D)):
        for i in range(info.starts[j], info.starts[j + 1]):
            if info.replies[i, 0] < 0:
                continue
            low, high = P + info.replies[i, 0], P + info.replies[i, 1]
            D[j, low, low] += info.i_theta[i]
            D[j, high, high] += info.i_theta[i]
            D[j, low, high] -= info.i_theta[i]
            D[j, high, low] -= info.i_theta[i]
            for p in range(P):
                D[j, p, high] += info.cross[i, p]
                D[j, high, p] += info.cross[i, p]
                D[j, p, low] -= info.cross[i, p]
                D[j, low, p] -= info.cross[i, p]


@compiled
def _touch(info: SlotInformation, j: int, place: IntArray, touched: IntArray) -> int:
    """The columns that a slot's cells and the common log gaps are about, in order: `touched`, whose number is returned.
    `place` (S,) is where a column is among them, or -1."""
    common = len(place) - info.cross.shape[1] + info.first_gap
    for s in range(len(place)):
        place[s] = 0 if s >= common else -1
    for i in range(info.starts[j], info.starts[j + 1]):
        for k in range(info.col.shape[1]):
            place[info.col[i, k]] = 0
    count = 0
    for s in range(len(place)):
        if place[s] == 0:
            place[s], touched[count] = count, s
            count += 1
    return count


@compiled
def _cross_block(info: SlotInformation, j: int, place: IntArray, C: FloatArray) -> None:
    """C (W, T) of one slot, 0 beforehand, of the columns that its cells touch, which are at `place` (S,)."""
    P, first_gap = info.cross.shape[1], info.first_gap
    common = len(place) - P + first_gap
    for p in range(P):
        for g in range(first_gap, P):
            C[p, place[common + g - first_gap]] = info.i_phi[j, p, g]
    for i in range(info.starts[j], info.starts[j + 1]):
        own = info.replies.shape[1] == 2 and info.replies[i, 0] >= 0
        for k in range(info.col.shape[1]):
            at, by = place[info.col[i, k]], info.coef[i, k]
            for p in range(P):
                C[p, at] += by * info.cross[i, p]
            if own:
                C[P + info.replies[i, 1], at] += by * info.i_theta[i]
                C[P + info.replies[i, 0], at] -= by * info.i_theta[i]
        for g in range(first_gap, P if own else first_gap):
            C[P + info.replies[i, 1], place[common + g - first_gap]] += info.cross[i, g]
            C[P + info.replies[i, 0], place[common + g - first_gap]] -= info.cross[i, g]


@compiled
def cross_blocks(info: SlotInformation, first: int, last: int, C: FloatArray) -> None:
    """Fill C (slots, W, S) of some slots, 0 beforehand."""
    place = np.arange(C.shape[2])
    for j in range(first, last):
        _cross_block(info, j, place, C[j - first])


@compiled
def _add_product(by: float, left: FloatArray, right: FloatArray, total: FloatArray) -> None:
    """Add by * left right to total, by loops: numba's matrix product takes seconds to compile."""
    for r in range(left.shape[0]):
        for k in range(left.shape[1]):
            share = by * left[r, k]
            for c in range(right.shape[1]):
                total[r, c] += share * right[k, c]


@compiled
def eliminate(info: SlotInformation, lower: FloatArray, shared: FloatArray) -> None:
    """Take C' D^-1 C of every slot off (S, S); lower (J, W, W) is L^-1 of D = L L'."""
    S, W = len(shared), lower.shape[1]
    place, touched, taken = np.empty(S, np.int64), np.empty(S, np.int64), np.empty(S)
    for j in range(len(lower)):
        T = _touch(info, j, place, touched)
        C = np.zeros((W, T))
        _cross_block(info, j, place, C)
        half = np.zeros((W, T))
        _add_product(1.0, lower[j], C, half)
        for s in range(T):
            for t in range(T):
                taken[t] = 0.0
            for w in range(W):
                by = half[w, s]
                for t in range(T):
                    taken[t] += by * half[w, t]
            row = shared[touched[s]]
            for t in range(T):
                row[touched[t]] -= taken[t]


@compiled
def slot_covariances(
    info: SlotInformation, first: int, lower: FloatArray, covariance: FloatArray, cross: FloatArray, own: FloatArray
) -> None:
    """Fill B Sigma (slots, W, S) and B Sigma B' + D^-1 of some slots; lower (slots, W, W) is their L^-1."""
    S, W, gaps = len(covariance), lower.shape[1], info.cross.shape[1] - info.first_gap
    place, touched = np.empty(S, np.int64), np.empty(S, np.int64)
    for here in range(len(own)):
        T = _touch(info, first + here, place, touched)
        C, B, sigma, along = np.zeros((W, T)), np.zeros((W, T)), np.empty((T, T)), np.zeros((W, T))
        _cross_block(info, first + here, place, C)
        for s in range(T):
            for t in range(T):
                sigma[s, t] = covariance[touched[s], touched[t]]
        for r in range(W):
            for c in range(W):
                own[here, r, c] = 0.0
        _add_product(1.0, lower[here].T, lower[here], own[here])
        _add_product(-1.0, own[here], C, B)
        for g in range(gaps):
            B[info.first_gap + g, place[S - gaps + g]] += 1.0
        _add_product(1.0, B, sigma, along)
        _add_product(1.0, along, B.T, own[here])
        for w in range(W):
            for t in range(T):
                cross[here, w, touched[t]] = along[w, t]


@compiled
def own_variances(
    covariance: FloatArray, cross: FloatArray, own: FloatArray, first_gap: int, common: int, variance: FloatArray
) -> None:
    """Fill the variances (slots, W) of own deviations: a total log gap is the slot's own deviation and the common."""
    for j in range(len(own)):
        for w in range(own.shape[1]):
            variance[j, w] = own[j, w, w]
        for g in range(len(covariance) - common):
            of_common = covariance[common + g, common + g]
            variance[j, first_gap + g] += of_common - 2.0 * cross[j, first_gap + g, common + g]


@compiled
def pull_shared(info: SlotInformation, along: FloatArray, of_cells: FloatArray, total: FloatArray) -> None:
    """Add the sum over the cells of (of_cells + cross' along of their slot) x to total (S,)."""
    for j in range(len(along)):
        for i in range(info.starts[j], info.starts[j + 1]):
            pull = of_cells[i]
            for p in range(info.cross.shape[1]):
                pull += info.cross[i, p] * along[j, p]
            for k in range(info.col.shape[1]):
                total[info.col[i, k]] += info.coef[i, k] * pull


@compiled
def sum_slots(starts: IntArray, cross: FloatArray, theta: FloatArray, pull: FloatArray) -> None:
    """Fill the first P columns of pull (J, W) with the sums over a slot's cells of cross theta."""
    for j in range(len(pull)):
        for p in range(cross.shape[1]):
            total = 0.0
            for i in range(starts[j], starts[j + 1]):
                total += cross[i, p] * theta[i]
            pull[j, p] = total


@compiled
def theta_information(
    slots: tuple[int, int], cells: CellData, q: Approximation, i_theta: FloatArray, parameters: int, total: FloatArray
) -> bool:
    """Fill total (J,) of some slots: the sum over cells of i_theta var(theta | log alpha); False without a root."""
    lower = np.zeros((parameters, parameters))
    for j in range(slots[0], slots[1]):
        first, last, here = cells.starts[j], cells.starts[j + 1], j - slots[0]
        root = np.zeros((parameters + 1, last - first))
        if not (cholesky(q.slot[here], lower) and theta_roots(first, last, here, cells, q, lower, root)):
            return False
        total[j] = 0.0
        for i in range(first, last):
            for p in range(1, parameters + 1):  # the first coordinate is log alpha's
                total[j] += i_theta[i] * root[p, i - first] ** 2
    return True
