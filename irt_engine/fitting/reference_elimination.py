"""Blocks of the precision and their elimination in numpy: the readable reference for the compiled kernels.

Notation as in `schur_complement`: A is the block of the shared parameters z, D_j the block of slot j, and C_j the block
between them. For cell i of slot j, theta_i = x_i' z + ..., with x_i the row of the design in `col` and `coef`. Then

    A = sum_i i_theta_i x_i x_i',   C_j = sum_i cross_i x_i'.

The common log gaps belong to z and to every slot's total gaps; they have the slots' own information about gaps.
"""

from __future__ import annotations

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray, IntArray

from .kernel_data import Approximation, CellData, SlotInformation
from .reference import slot_roots, theta_roots

_CHUNK = 1 << 18  # numbers in the cross blocks of the slots that are eliminated together


def inverse_factors(blocks: FloatArray, inverse: FloatArray, positive: BoolArray) -> None:
    """Fill L^-1 (J, W, W) of each block L L', and (J,) whether there is one."""
    try:
        inverse[:] = np.linalg.inv(np.linalg.cholesky(blocks))
        positive[:] = np.isfinite(inverse).all(axis=(1, 2))  # LAPACK lets NaN pass
    except np.linalg.LinAlgError:
        for j, block in enumerate(blocks):
            try:
                inverse[j], positive[j] = np.linalg.inv(np.linalg.cholesky(block)), True
            except np.linalg.LinAlgError:
                positive[j] = False


def theta_of(col: IntArray, coef: FloatArray, z: FloatArray, theta: FloatArray) -> None:
    """Fill theta (n,) with x' z."""
    theta[:] = (coef * z[col]).sum(axis=1)


def add_transposed(col: IntArray, coef: FloatArray, theta: FloatArray, z: FloatArray) -> None:
    """Add to z (S,) the sum of theta x."""
    z += np.bincount(col.ravel(), (coef * theta[:, None]).ravel(), len(z))


def add_shared(info: SlotInformation, shared: FloatArray) -> None:
    """Add the cells' part of A to the lower half of (S, S)."""
    S, k = len(shared), info.col.shape[1]
    gaps = S - info.cross.shape[1] + info.first_gap
    high = np.maximum(info.col[:, :, None], info.col[:, None, :])
    low = np.minimum(info.col[:, :, None], info.col[:, None, :])
    product = info.coef[:, :, None] * info.coef[:, None, :] * info.i_theta[:, None, None]
    once = product * np.tril(np.ones((k, k)))  # of k and m, and of m and k, one
    shared += np.bincount((high * S + low).ravel(), once.ravel(), S * S).reshape(S, S)
    for g in range(gaps, S):
        of_gap = info.coef * info.cross[:, info.first_gap + g - gaps, None]
        shared[g] += np.bincount(info.col.ravel(), of_gap.ravel(), S)


def slot_of(info: SlotInformation, first: int, last: int) -> IntArray:
    """Return the slot of each cell of some slots.

    Parameters
    ----------
    info : SlotInformation
        Information of the cells.
    first, last : int
        First slot, and the one after the last.

    Returns
    -------
    ndarray of int
        Slots, counted from the first.
    """
    return np.repeat(np.arange(last - first), np.diff(info.starts[first : last + 1]))


def add_replies(info: SlotInformation, D: FloatArray) -> None:
    """Add what cells say about their replies, high minus low, and with the rest of their slot, to D (J, W, W)."""
    P = info.cross.shape[1]
    there = np.flatnonzero(info.replies[:, 0] >= 0)
    j, low, high = slot_of(info, 0, len(D))[there], info.replies[there, 0] + P, info.replies[there, 1] + P
    result, across = info.i_theta[there], info.cross[there]
    rows, signs = np.stack([low, high, low, high], axis=1), np.array([1.0, 1.0, -1.0, -1.0])
    columns = np.stack([low, high, high, low], axis=1)
    for k in range(4):
        _add_rows(D, j, rows[:, k], columns[:, k, None], signs[k] * result[:, None])
    for p in range(P):
        row, both, signed = (
            np.full(len(j), p),
            np.stack([high, low], axis=1),
            np.stack([across[:, p], -across[:, p]], axis=1),
        )
        _add_rows(D, j, row, both, signed)
        _add_rows(D, j, high, row[:, None], signed[:, :1])
        _add_rows(D, j, low, row[:, None], signed[:, 1:])


def cross_blocks(info: SlotInformation, first: int, last: int, C: FloatArray) -> None:
    """Fill C (slots, W, S) of some slots, 0 beforehand."""
    P, S, gaps = info.cross.shape[1], C.shape[2], info.cross.shape[1] - info.first_gap
    cells = slice(info.starts[first], info.starts[last])
    slot, col, coef = slot_of(info, first, last), info.col[cells], info.coef[cells]
    for p in range(P):
        _add_rows(C, slot, np.full(len(slot), p), col, coef * info.cross[cells, p, None])
    C[:, :P, S - gaps :] += info.i_phi[first:last, :, info.first_gap :]
    if info.replies.shape[1] == 0:
        return
    replies, common = info.replies[cells], np.arange(S - gaps, S)
    there = np.flatnonzero(replies[:, 0] >= 0)
    for column, sign in ((0, -1.0), (1, 1.0)):
        row = P + replies[there, column]
        _add_rows(C, slot[there], row, col[there], sign * coef[there] * info.i_theta[cells][there, None])
        of_gaps = sign * info.cross[cells][there, info.first_gap :]
        _add_rows(C, slot[there], row, np.broadcast_to(common, of_gaps.shape), of_gaps)


def _add_rows(C: FloatArray, slot: IntArray, row: IntArray, col: IntArray, values: FloatArray) -> None:
    """Add values (m, k) to C[slot, row, col], columns (m, k)."""
    place = ((slot * C.shape[1] + row) * C.shape[2])[:, None] + col
    C += np.bincount(place.ravel(), values.ravel(), C.size).reshape(C.shape)


def eliminate(info: SlotInformation, lower: FloatArray, shared: FloatArray) -> None:
    """Take C' D^-1 C of every slot off (S, S); lower (J, W, W) is L^-1 of D = L L'."""
    (J, W, _), S = lower.shape, len(shared)
    size = max(1, _CHUNK // (W * S))
    for first in range(0, J, size):
        last = min(first + size, J)
        C = np.zeros((last - first, W, S))
        cross_blocks(info, first, last, C)
        half = (lower[first:last] @ C).reshape(-1, S)
        shared -= half.T @ half


def slot_covariances(
    info: SlotInformation, first: int, lower: FloatArray, covariance: FloatArray, cross: FloatArray, own: FloatArray
) -> None:
    """Fill B Sigma (slots, W, S) and B Sigma B' + D^-1 of some slots; lower (slots, W, W) is their L^-1."""
    C = np.zeros_like(cross)
    cross_blocks(info, first, first + len(own), C)
    whole_covariances(
        lower, lower @ C, covariance, info.first_gap, cross.shape[2] - info.cross.shape[1] + info.first_gap, cross, own
    )


def whole_covariances(
    lower: FloatArray,
    half: FloatArray,
    covariance: FloatArray,
    first_gap: int,
    common: int,
    cross: FloatArray,
    own: FloatArray,
) -> None:
    """As `slot_covariances`, from half = L^-1 C (slots, W, S); the common log gaps begin at `common`."""
    S, upper = half.shape[2], lower.transpose(0, 2, 1)
    B = -(upper @ half)
    for g in range(S - common):
        B[:, first_gap + g, common + g] += 1.0
    cross[:] = (B.reshape(-1, S) @ covariance).reshape(B.shape)
    own[:] = cross @ B.transpose(0, 2, 1) + upper @ lower


def own_variances(
    covariance: FloatArray, cross: FloatArray, own: FloatArray, first_gap: int, common: int, variance: FloatArray
) -> None:
    """Fill the variances (slots, W) of own deviations: a total log gap is the slot's own deviation and the common."""
    variance[:] = np.einsum("jww->jw", own)
    for g in range(len(covariance) - common):
        at, row = common + g, first_gap + g
        variance[:, row] += covariance[at, at] - 2.0 * cross[:, row, at]


def pull_shared(info: SlotInformation, along: FloatArray, of_cells: FloatArray, total: FloatArray) -> None:
    """Add the sum over the cells of (of_cells + cross' along of their slot) x to total (S,)."""
    P = info.cross.shape[1]
    pull = of_cells + (info.cross * along[slot_of(info, 0, len(along)), :P]).sum(axis=1)
    add_transposed(info.col, info.coef, pull, total)


def sum_slots(starts: IntArray, cross: FloatArray, theta: FloatArray, pull: FloatArray) -> None:
    """Fill the first P columns of pull (J, W) with the sums over a slot's cells of cross theta."""
    slot = np.repeat(np.arange(len(pull)), np.diff(starts))
    for p in range(cross.shape[1]):
        pull[:, p] = np.bincount(slot, cross[:, p] * theta, len(pull))


def theta_information(
    slots: tuple[int, int], cells: CellData, q: Approximation, i_theta: FloatArray, parameters: int, total: FloatArray
) -> bool:
    """Fill total (J,) of some slots: the sum over cells of i_theta var(theta | log alpha).

    False where a covariance has no root. The first coordinate of a root is log alpha's.
    """
    first, last = slots
    block = slice(int(cells.starts[first]), int(cells.starts[last]))
    slot = np.repeat(np.arange(last - first), np.diff(cells.starts[first : last + 1]))
    lower = slot_roots(q, parameters)
    root = None if lower is None else theta_roots(block, slot, cells, q, lower)
    if root is None:
        return False
    total[first:last] = np.bincount(slot, i_theta[block] * (root[:, 1:] ** 2).sum(axis=1), last - first)
    return True
