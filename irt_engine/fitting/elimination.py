"""Compiled loops of the Schur complement: blocks of slots, their factors, cross blocks and covariances."""

from __future__ import annotations

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray, IntArray
from irt_engine.compilation import compiled


def inverse_factors(blocks: FloatArray) -> tuple[FloatArray, BoolArray]:
    """L^-1 (J, W, W) of each block L L', and (J,) whether there is one.

    Of many small matrices: LAPACK's call for each of them takes five times as long as the work.
    """
    inverse, positive = np.zeros_like(blocks), np.zeros(len(blocks), np.bool_)
    _invert_factors(np.ascontiguousarray(blocks), inverse, positive)
    return inverse, positive


@compiled
def _invert_factors(blocks: FloatArray, inverse: FloatArray, positive: BoolArray) -> None:
    P = blocks.shape[1]
    lower = np.zeros((P, P))
    for j in range(len(blocks)):
        positive[j] = _factor(blocks[j], lower)
        if not positive[j]:
            continue
        for r in range(P):
            row, by = inverse[j, r], 1.0 / lower[r, r]
            for k in range(r):
                above, share = inverse[j, k], lower[r, k] * by
                for c in range(k + 1):
                    row[c] -= share * above[c]
            row[r] = by


@compiled
def _factor(block: FloatArray, lower: FloatArray) -> bool:
    """Cholesky factor of a (W, W) block; False where there is none."""
    for r in range(len(block)):
        for c in range(r + 1):
            total = block[r, c]
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
def _add_shaft(
    col: IntArray, coef: FloatArray, i_theta: FloatArray, of_gaps: FloatArray, gaps: int, shaft: FloatArray
) -> None:
    """Add the cells' information about theta, and about theta with the common log gaps, to the lower half of (S, S)."""
    for i in range(len(col)):
        for k in range(col.shape[1]):
            at, by = col[i, k], coef[i, k]
            shaft[at, at] += by * by * i_theta[i]
            for m in range(k):
                shaft[max(at, col[i, m]), min(at, col[i, m])] += by * coef[i, m] * i_theta[i]
            for g in range(of_gaps.shape[1]):
                shaft[gaps + g, at] += by * of_gaps[i, g]


@compiled
def _add_replies(starts: IntArray, own: IntArray, i_theta: FloatArray, cross: FloatArray, D: FloatArray) -> None:
    """Add the cells' information about their replies, and about replies with the rest of a slot, to D (J, W, W)."""
    P = cross.shape[1]
    for j in range(len(D)):
        for i in range(starts[j], starts[j + 1]):
            if own[i, 0] < 0:
                continue
            low, high = P + own[i, 0], P + own[i, 1]
            D[j, low, low] += i_theta[i]
            D[j, high, high] += i_theta[i]
            D[j, low, high] -= i_theta[i]
            D[j, high, low] -= i_theta[i]
            for p in range(P):
                D[j, p, high] += cross[i, p]
                D[j, high, p] += cross[i, p]
                D[j, p, low] -= cross[i, p]
                D[j, low, p] -= cross[i, p]


@compiled
def _touch(first: int, last: int, col: IntArray, gaps: int, place: IntArray, touched: IntArray) -> int:
    """The columns of the shaft that some cells and the common log gaps are about, in order: `touched`, of which the
    number is returned. `place` (S,) is where a column is among them, or -1."""
    place[:] = -1
    place[len(place) - gaps :] = 0
    for i in range(first, last):
        for k in range(col.shape[1]):
            place[col[i, k]] = 0
    count = 0
    for s in range(len(place)):
        if place[s] == 0:
            place[s], touched[count] = count, s
            count += 1
    return count


@compiled
def _cross(
    first: int,
    last: int,
    col: IntArray,
    coef: FloatArray,
    own: IntArray,
    i_theta: FloatArray,
    cross: FloatArray,
    of_phi: FloatArray,
    first_gap: int,
    place: IntArray,
    C: FloatArray,
) -> None:
    """C (W, T) of one slot, of the columns that its cells touch; `of_phi` (P, P) is its own information.

    C is 0 beforehand; what it is about is in the columns `place` (S,).
    """
    P, gaps = cross.shape[1], cross.shape[1] - first_gap
    common = len(place) - gaps
    for p in range(P):
        for g in range(gaps):
            C[p, place[common + g]] = of_phi[p, first_gap + g]
    for i in range(first, last):
        for k in range(col.shape[1]):
            at, by = place[col[i, k]], coef[i, k]
            for p in range(P):
                C[p, at] += by * cross[i, p]
            if own.shape[1] == 2 and own[i, 0] >= 0:
                C[P + own[i, 1], at] += by * i_theta[i]
                C[P + own[i, 0], at] -= by * i_theta[i]
    if own.shape[1] == 2:
        _cross_gaps(first, last, own, cross, first_gap, place[common:], C)


@compiled
def _cross_gaps(
    first: int, last: int, own: IntArray, cross: FloatArray, first_gap: int, place: IntArray, C: FloatArray
) -> None:
    """Add what cells say about their replies with the common log gaps."""
    P = cross.shape[1]
    for i in range(first, last):
        for g in range(len(place) if own[i, 0] >= 0 else 0):
            C[P + own[i, 1], place[g]] += cross[i, first_gap + g]
            C[P + own[i, 0], place[g]] -= cross[i, first_gap + g]


@compiled
def _cross_whole(
    starts: IntArray,
    col: IntArray,
    coef: FloatArray,
    own: IntArray,
    i_theta: FloatArray,
    cross: FloatArray,
    i_phi: FloatArray,
    first_gap: int,
    C: FloatArray,
) -> None:
    """C (J, W, S) of all slots, 0 beforehand."""
    place = np.arange(C.shape[2])
    for j in range(len(C)):
        _cross(starts[j], starts[j + 1], col, coef, own, i_theta, cross, i_phi[j], first_gap, place, C[j])


@compiled
def _eliminate(
    starts: IntArray,
    col: IntArray,
    coef: FloatArray,
    own: IntArray,
    i_theta: FloatArray,
    cross: FloatArray,
    i_phi: FloatArray,
    first_gap: int,
    lower: FloatArray,
    shaft: FloatArray,
) -> None:
    """Take C' D^-1 C of every slot off the shaft (S, S); lower (J, W, W) is L^-1 of D = L L'."""
    W, S, gaps = lower.shape[1], len(shaft), cross.shape[1] - first_gap
    place, touched = np.empty(S, np.int64), np.empty(S, np.int64)
    for j in range(len(lower)):
        first, last = starts[j], starts[j + 1]
        T = _touch(first, last, col, gaps, place, touched)
        C = np.zeros((W, T))
        _cross(first, last, col, coef, own, i_theta, cross, i_phi[j], first_gap, place, C)
        half = np.dot(lower[j], C)
        taken = np.dot(half.T, half)
        for s in range(T):
            for t in range(T):
                shaft[touched[s], touched[t]] -= taken[s, t]


@compiled
def _cover(
    slot: int,
    starts: IntArray,
    col: IntArray,
    coef: FloatArray,
    own: IntArray,
    i_theta: FloatArray,
    cross: FloatArray,
    i_phi: FloatArray,
    first_gap: int,
    inverse: FloatArray,  # (slots, W, W) of D, of the slots from `slot` on
    covariance: FloatArray,
    with_shaft: FloatArray,  # (slots, W, S) of the slots from `slot` on, 0 beforehand   out
    of_phi: FloatArray,  # (slots, W, W)                                                 out
) -> None:
    """Of the total phi: B Sigma and B Sigma B' + D^-1 with B = -D^-1 C, and 1 where a common log gap is a total's."""
    W, S, gaps = inverse.shape[1], len(covariance), cross.shape[1] - first_gap
    place, touched = np.empty(S, np.int64), np.empty(S, np.int64)
    for here in range(len(of_phi)):
        j = slot + here
        first, last = starts[j], starts[j + 1]
        T = _touch(first, last, col, gaps, place, touched)
        C, sigma = np.zeros((W, T)), np.empty((T, T))
        _cross(first, last, col, coef, own, i_theta, cross, i_phi[j], first_gap, place, C)
        for s in range(T):
            for t in range(T):
                sigma[s, t] = covariance[touched[s], touched[t]]
        B = -np.dot(inverse[here], C)
        for g in range(gaps):
            B[first_gap + g, place[S - gaps + g]] += 1.0
        along = np.dot(B, sigma)
        of_phi[here] = np.dot(along, B.T) + inverse[here]
        for w in range(W):
            for t in range(T):
                with_shaft[here, w, touched[t]] = along[w, t]


@compiled
def _cover_whole(
    lower: FloatArray,  # (slots, W, W) L^-1
    half: FloatArray,  # (slots, W, S) L^-1 C
    covariance: FloatArray,  # (S, S) of the shaft
    first_gap: int,
    common: int,  # where the common log gaps begin
    with_shaft: FloatArray,  # (slots, W, S)   out: B Sigma
    own: FloatArray,  # (slots, W, W)          out: B Sigma B' + D^-1
) -> None:
    """As `_cover`, of slots whose blocks are whole. In one call, because threads wait for each other in between."""
    (slots, W, S), B = half.shape, np.empty_like(half)
    for j in range(slots):
        np.dot(lower[j].T, half[j], B[j])
        for w in range(W):
            for s in range(S):
                B[j, w, s] = -B[j, w, s]
        for g in range(S - common):
            B[j, first_gap + g, common + g] += 1.0
    np.dot(B.reshape(-1, S), covariance, with_shaft.reshape(-1, S))
    inverse = np.empty((W, W))
    for j in range(slots):
        np.dot(with_shaft[j], B[j].T, own[j])
        np.dot(lower[j].T, lower[j], inverse)
        for r in range(W):
            for c in range(W):
                own[j, r, c] += inverse[r, c]


@compiled
def _own_variances(
    covariance: FloatArray, with_shaft: FloatArray, own: FloatArray, first_gap: int, common: int, variance: FloatArray
) -> None:
    for j in range(len(own)):
        for w in range(own.shape[1]):
            variance[j, w] = own[j, w, w]
        for g in range(len(covariance) - common):
            of_common = covariance[common + g, common + g]
            variance[j, first_gap + g] += of_common - 2.0 * with_shaft[j, first_gap + g, common + g]


@compiled
def _pull_shaft(
    starts: IntArray,
    col: IntArray,
    coef: FloatArray,
    cross: FloatArray,
    along: FloatArray,
    of_cells: FloatArray,
    total: FloatArray,
) -> None:
    for j in range(len(along)):
        for i in range(starts[j], starts[j + 1]):
            pull = of_cells[i]
            for p in range(cross.shape[1]):
                pull += cross[i, p] * along[j, p]
            for k in range(col.shape[1]):
                total[col[i, k]] += coef[i, k] * pull


@compiled
def _sum_slots(starts: IntArray, cross: FloatArray, theta: FloatArray, pull: FloatArray) -> None:
    """pull (J, W), its first P columns: sum over a slot's cells of cross theta."""
    for j in range(len(pull)):
        for p in range(cross.shape[1]):
            total = 0.0
            for i in range(starts[j], starts[j + 1]):
                total += cross[i, p] * theta[i]
            pull[j, p] = total
