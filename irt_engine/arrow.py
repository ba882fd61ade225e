"""The arrow: prompts are independent of each other given the shaft, so a fit eliminates them one by one.

Notation: z (S,) is the shaft: abilities, pair effects, a side effect if there is one, G common log gaps; phi (J, W) is
the slots' own, one row a slot: the prompt's P parameters and, behind them, the effects of R replies (`replies`), if
there are any. For cell i, theta_i = sum_k coef[i, k] z[col[i, k]] + the difference of its two replies' effects. With A
the shaft's block of the precision, D_j a slot's and C_j (W, S) the cross block, the Schur complement

    H = A - sum_j C_j' D_j^-1 C_j

costs O(cells) + J W T^2, T the columns of the shaft that a slot's cells touch, and H^-1 is the marginal covariance of
z under the Gaussian with that precision. With D_j = L_j L_j', everything is asked of L_j^-1 and L_j^-1 C_j. Where slots
touch most of the shaft (`Problem.dense`) the latter are kept whole, and all slots are one matrix product.
Work goes through the slots in chunks, so that memory stays near O(cells + J W^2) + one chunk.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from .arrays import BoolArray, FloatArray, IntArray
from .compiled import compiled
from .parts import Parts
from .prompts import PromptModel
from .replies import Replies

Piece = TypeVar("Piece")
Each = Callable[[Callable[[Piece], bool], Sequence[Piece]], bool]  # has independent pieces of work done, on any threads

_CHUNK_DENSE = 1 << 16  # numbers in one chunk's dense cross blocks: they are used while they are in the nearer caches
_MOST_DENSE = 1 << 23  # numbers in those of all slots, if they are kept whole
_DENSE_GAIN = 8  # a product of large matrices takes so much less time for each number than one of a slot's own
_DENSE_PARTS, _ONE_PART = 8, 1 << 18  # in which whole blocks are worked on, where they have more numbers than that


def one_by_one(work: Callable[[Piece], bool], todo: Sequence[Piece]) -> bool:
    """Whether all pieces of work went well; what is done where there is nobody to share it with."""
    return all(work(piece) for piece in todo)


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A value of all parameters: z (S,), phi (J, W), its log gaps as deviations from the common ones."""

    z: FloatArray
    phi: FloatArray

    def moved(self, step: Point, length: float) -> Point:
        return Point(self.z + length * step.z, self.phi + length * step.phi)


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What is being fitted: cells sorted by slot, and their design on the shaft."""

    prompts: PromptModel
    starts: IntArray  # (J + 1,) where each slot's cells begin
    counts: FloatArray  # (n, 1) category of a net rating, or (n, 3) votes A better, tie, B better
    weight: FloatArray  # (n,)
    again: BoolArray  # (n,) which were voted on twice or more: of whole votes, however much each counts
    col: IntArray  # (n, k)
    coef: FloatArray  # (n, k)
    shaft: int  # S
    parts: Parts | None = None  # of the slots, where discriminations differ by tier: then P counts the tiers' effects
    replies: Replies | None = None

    @property
    def slots(self) -> int:
        """J."""
        return len(self.starts) - 1

    @property
    def common(self) -> slice:
        """The common log gaps inside z."""
        return slice(self.shaft - self.prompts.gaps, self.shaft)

    @property
    def width(self) -> int:
        """W."""
        return self.prompts.size + (self.replies.most if self.replies else 0)

    @property
    def own(self) -> IntArray:
        """(n, 2) columns of each cell's two replies, counted from P; (n, 0) where replies have no effects."""
        return self.replies.own if self.replies else np.empty((len(self.col), 0), np.int64)

    @property
    def dense(self) -> bool:
        """Whether slots touch so much of the shaft that all of it may be worked with."""
        touched = np.minimum(self.shaft, self.col.shape[1] * np.diff(self.starts) + self.prompts.gaps)
        whole = self.slots * self.shaft
        return whole * self.width <= _MOST_DENSE and whole * self.shaft <= _DENSE_GAIN * int(touched @ touched)

    def theta(self, point: Point) -> FloatArray:
        """(n,) linear predictor on the ability scale."""
        theta = self.off_shaft(point.z)
        return theta + self.replies.theta(point.phi[:, self.prompts.size :]) if self.replies else theta

    def off_shaft(self, z: FloatArray) -> FloatArray:
        """(n,) the shaft's part of it."""
        theta = np.empty(len(self.col))
        _add_up(self.col, self.coef, z, theta)
        return theta

    def on_shaft(self, theta: FloatArray) -> FloatArray:
        """(S,) what numbers of the cells, (n,), put on the shaft together: the transpose of `off_shaft`."""
        z = np.zeros(self.shaft)
        _add_down(self.col, self.coef, theta, z)
        return z

    def total_phi(self, point: Point) -> FloatArray:
        """(J, P) of the prompts, with the common log gaps added to each slot's own deviation."""
        phi = point.phi[:, : self.prompts.size].copy()
        phi[:, self.prompts.first_gap :] += point.z[self.common]
        return phi

    @property
    def asked(self) -> IntArray:
        """(K + 1,) where the cells begin of what the kernels take for a slot: parts of slots where there are parts."""
        return self.starts if self.parts is None else self.parts.starts

    def gathered(self, d_phi: FloatArray, information: Information) -> tuple[FloatArray, Information]:
        """What the kernels told, by slot: gradient (J, P) and information."""
        if self.parts is None:
            return d_phi, information
        cross, i_phi = self.parts.cross(information.cross), self.parts.information(information.i_phi)
        return self.parts.gradient(d_phi), Information(information.i_theta, cross, i_phi)

    def dense_parts(self) -> list[slice]:
        """Consecutive slots whose whole blocks are worked on at a time; the same for any number of threads, since each
        part's sum is rounded by itself."""
        parts = _DENSE_PARTS if self.slots * self.width * self.shaft > _ONE_PART else 1
        edges = [self.slots * k // parts for k in range(parts + 1)]
        return [slice(a, b) for a, b in itertools.pairwise(edges)]

    def chunks(self) -> Iterator[slice]:
        """Consecutive slots whose dense cross blocks fit a chunk."""
        most = max(1, _CHUNK_DENSE // (self.shaft * self.width))
        for first in range(0, self.slots, most):
            yield slice(first, min(first + most, self.slots))


@dataclass(frozen=True, slots=True, eq=False)
class Precision:
    """Prior precisions, diagonal: of z (S,) and of phi (J, W). Prior means are 0."""

    z: FloatArray
    phi: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Information:
    """What the cells say: i_theta (n,), cross (n, P) = theta x phi, i_phi (J, P, P) summed by slot.

    P are the prompts' own parameters: what is said about replies follows from i_theta and cross.
    """

    i_theta: FloatArray
    cross: FloatArray
    i_phi: FloatArray

    def plus(self, other: Information) -> Information:
        return Information(self.i_theta + other.i_theta, self.cross + other.cross, self.i_phi + other.i_phi)

    def minus(self, other: Information) -> Information:
        return Information(self.i_theta - other.i_theta, self.cross - other.cross, self.i_phi - other.i_phi)


@dataclass(frozen=True, slots=True, eq=False)
class Arrow:
    """A factored precision: the Gaussian that it belongs to can be asked for steps and covariances."""

    problem: Problem
    information: Information
    lower: FloatArray  # (J, W, W) L^-1 of D = L L'
    schur: FloatArray  # (S, S)
    half: FloatArray | None  # (J, W, S) L^-1 C, where the problem is dense

    @property
    def inverse(self) -> FloatArray:
        """(J, W, W) of D."""
        inverse: FloatArray = np.matmul(self.lower.transpose(0, 2, 1), self.lower)
        return inverse

    def covariance(self) -> FloatArray:
        """(S, S) of the shaft. Raises LinAlgError where the precision is not positive definite."""
        lower = np.linalg.inv(np.linalg.cholesky(self.schur))
        covariance: FloatArray = lower.T @ lower
        return covariance

    def step(self, gradient: Point) -> Point:
        """precision^-1 gradient."""
        problem, info, lower = self.problem, self.information, self.lower
        upper = lower.transpose(0, 2, 1)
        along = np.matmul(lower, gradient.phi[:, :, None])
        if self.half is not None:
            half = self.half.reshape(-1, problem.shaft)
            z = np.linalg.solve(self.schur, gradient.z - along.ravel() @ half).astype(np.float64, copy=False)
            rest = along - (half @ z).reshape(along.shape)
            return Point(z, np.matmul(upper, rest)[:, :, 0])
        first, P = problem.prompts.first_gap, problem.prompts.size
        reduced = gradient.z - _to_shaft(problem, info, np.matmul(upper, along)[:, :, 0])
        z = np.linalg.solve(self.schur, reduced).astype(np.float64, copy=False)
        theta = problem.off_shaft(z)
        pull = np.empty_like(gradient.phi)
        _sum_slots(problem.starts, info.cross, theta, pull)
        pull[:, :P] += info.i_phi[:, :, first:] @ z[problem.common]
        if problem.replies:
            pull[:, P:] = problem.replies.gathered(info.i_theta * theta + info.cross[:, first:] @ z[problem.common])
        return Point(z, np.matmul(upper, along - np.matmul(lower, pull[:, :, None]))[:, :, 0])

    def slot_covariances(self, covariance: FloatArray, slots: slice) -> tuple[FloatArray, FloatArray]:
        """Of the total phi of some slots: with the shaft (slots, W, S), and its own (slots, W, W).

        `covariance` (S, S) is the shaft's. phi_j given z is normal with mean -D^-1 C z and covariance D^-1; the common
        log gaps are part of z. With the shaft: of the columns that a slot's cells touch, others may be left at 0.
        """
        problem, info, count = self.problem, self.information, slots.stop - slots.start
        lower, own = self.lower[slots], np.empty((count, problem.width, problem.width))
        if self.half is not None:
            along = np.empty((count, problem.width, problem.shaft))
            _cover_whole(
                lower, self.half[slots], covariance, problem.prompts.first_gap, problem.common.start, along, own
            )
            return along, own
        with_shaft = np.zeros((count, problem.width, problem.shaft))
        inverse: FloatArray = np.matmul(lower.transpose(0, 2, 1), lower)
        _cover(
            slots.start, problem.starts, problem.col, problem.coef, problem.own, info.i_theta, info.cross, info.i_phi,
            problem.prompts.first_gap, inverse, covariance, with_shaft, own,
        )  # fmt: skip
        return with_shaft, own

    def own_variances(self, covariance: FloatArray, each: Each[slice] = one_by_one) -> FloatArray:
        """Marginal variances (J, W) of the slots' own deviations; `covariance` (S, S) is the shaft's."""
        problem = self.problem
        variance = np.empty((problem.slots, problem.width))

        def work(slots: slice) -> bool:
            variance[slots] = own_variances(problem, covariance, *self.slot_covariances(covariance, slots))
            return True

        each(work, list(problem.chunks()))
        return variance


def own_variances(problem: Problem, covariance: FloatArray, with_shaft: FloatArray, own: FloatArray) -> FloatArray:
    """Marginal variances (slots, W) of own deviations, from the covariances (`Arrow.slot_covariances`) of totals.

    A total log gap is the slot's own deviation and the common one.
    """
    variance = np.empty(own.shape[:2])
    _own_variances(covariance, with_shaft, own, problem.prompts.first_gap, problem.common.start, variance)
    return variance


def factored(problem: Problem, information: Information, prior: Precision, each: Each[int] = one_by_one) -> Arrow:
    """Eliminate the slots. Raises LinAlgError where a slot's block is not positive definite."""
    gaps, first = problem.common, problem.prompts.first_gap
    lower, positive = inverse_factors(slot_blocks(problem, information, prior))
    if not positive.all():
        raise np.linalg.LinAlgError("a slot's block is not positive definite")
    shaft = np.zeros((problem.shaft, problem.shaft))
    _add_shaft(problem.col, problem.coef, information.i_theta, information.cross[:, first:], gaps.start, shaft)
    shaft += np.tril(shaft, -1).T + np.diag(prior.z)
    shaft[gaps, gaps] += information.i_phi[:, first:, first:].sum(axis=0)
    half = None
    if problem.dense:
        half = _eliminate_whole(problem, information, lower, shaft, each)
    else:
        _eliminate(
            problem.starts, problem.col, problem.coef, problem.own, information.i_theta, information.cross,
            information.i_phi, first, lower, shaft,
        )  # fmt: skip
    return Arrow(problem, information, lower, 0.5 * (shaft + shaft.T), half)


def _eliminate_whole(
    problem: Problem, information: Information, lower: FloatArray, shaft: FloatArray, each: Each[int]
) -> FloatArray:
    """L^-1 C (J, W, S) of all slots, with C' D^-1 C taken off the shaft (S, S)."""
    parts, S = problem.dense_parts(), problem.shaft
    half = np.empty((problem.slots, problem.width, S))
    taken = np.empty((len(parts), S, S))

    def work(number: int) -> bool:
        part = parts[number]
        C = np.zeros((part.stop - part.start, problem.width, S))
        _cross_whole(
            problem.starts[part.start : part.stop + 1], problem.col, problem.coef, problem.own, information.i_theta,
            information.cross, information.i_phi[part], problem.prompts.first_gap, C,
        )  # fmt: skip
        np.matmul(lower[part], C, out=half[part])
        rows = half[part].reshape(-1, S)
        np.matmul(rows.T, rows, out=taken[number])
        return True

    each(work, range(len(parts)))
    for of_part in taken:
        shaft -= of_part
    return half


def slot_blocks(problem: Problem, information: Information, prior: Precision) -> FloatArray:
    """D (J, W, W)."""
    P, W = problem.prompts.size, problem.width
    D = np.zeros((problem.slots, W, W))
    D[:, :P, :P] = information.i_phi
    if problem.replies:
        _add_replies(problem.starts, problem.own, information.i_theta, information.cross, D)
    D[:, np.arange(W), np.arange(W)] += prior.phi
    return D


def _to_shaft(problem: Problem, information: Information, along: FloatArray) -> FloatArray:
    """sum_j C_j' along_j, (S,)."""
    total, P, first = np.zeros(problem.shaft), problem.prompts.size, problem.prompts.first_gap
    of_replies = problem.replies.theta(along[:, P:]) if problem.replies else np.zeros(len(problem.col))
    of_cells = information.i_theta * of_replies
    _pull_shaft(problem.starts, problem.col, problem.coef, information.cross, along, of_cells, total)
    total[problem.common] += np.einsum("jpg,jp->g", information.i_phi[:, :, first:], along[:, :P])
    total[problem.common] += of_replies @ information.cross[:, first:]
    return total


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


@compiled
def _add_up(col: IntArray, coef: FloatArray, z: FloatArray, theta: FloatArray) -> None:
    """theta (n,) = sum_k coef z[col]."""
    for i in range(len(col)):
        total = 0.0
        for k in range(col.shape[1]):
            total += coef[i, k] * z[col[i, k]]
        theta[i] = total


@compiled
def _add_down(col: IntArray, coef: FloatArray, theta: FloatArray, z: FloatArray) -> None:
    """Add to z (S,) what the cells' theta (n,) put on it."""
    for i in range(len(col)):
        for k in range(col.shape[1]):
            z[col[i, k]] += coef[i, k] * theta[i]
