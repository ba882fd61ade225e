"""The arrow: prompts are independent of each other given the shaft, so a fit eliminates them one by one.

Notation: z (S,) is the shaft: abilities, pair effects, a side effect if there is one, G common log gaps; phi (J, P)
the prompts' own parameters, one row a slot. theta_i = sum_k coef[i, k] z[col[i, k]] for cell i. With A the shaft's
block of the precision, D_j a slot's and C_j (P, S) the cross block, the Schur complement

    H = A - sum_j C_j' D_j^-1 C_j

costs O(cells + J P S^2), and H^-1 is the marginal covariance of z under the Gaussian with that precision.
Work goes through the slots in chunks, so that memory stays near O(cells + J P^2) + one chunk.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .arrays import BoolArray, FloatArray, IntArray
from .compiled import compiled
from .parts import Parts
from .prompts import PromptModel

_CHUNK_DENSE = 1 << 22  # numbers in one chunk's dense cross blocks


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A value of all parameters: z (S,), phi (J, P) as deviations from the common ones."""

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
    col: IntArray  # (n, k)
    coef: FloatArray  # (n, k)
    shaft: int  # S
    parts: Parts | None = None  # of the slots, where discriminations differ by tier: then P counts the tiers' effects

    @property
    def slots(self) -> int:
        """J."""
        return len(self.starts) - 1

    @property
    def common(self) -> slice:
        """The common log gaps inside z."""
        return slice(self.shaft - self.prompts.gaps, self.shaft)

    def theta(self, z: FloatArray) -> FloatArray:
        """(n,) linear predictor on the ability scale."""
        theta = np.empty(len(self.col))
        _add_up(self.col, self.coef, z, theta)
        return theta

    def on_shaft(self, theta: FloatArray) -> FloatArray:
        """(S,) what numbers of the cells, (n,), put on the shaft together: the transpose of `theta`."""
        z = np.zeros(self.shaft)
        _add_down(self.col, self.coef, theta, z)
        return z

    def total_phi(self, point: Point) -> FloatArray:
        """(J, P) with the common log gaps added to each slot's own deviation."""
        phi = point.phi.copy()
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

    def chunks(self) -> Iterator[slice]:
        """Consecutive slots whose dense cross blocks fit a chunk."""
        most = max(1, _CHUNK_DENSE // (self.shaft * self.prompts.size))
        for first in range(0, self.slots, most):
            yield slice(first, min(first + most, self.slots))


@dataclass(frozen=True, slots=True, eq=False)
class Precision:
    """Prior precisions, diagonal: of z (S,) and of phi (J, P). Prior means are 0."""

    z: FloatArray
    phi: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Information:
    """What the cells say: i_theta (n,), cross (n, P) = theta x phi, i_phi (J, P, P) summed by slot."""

    i_theta: FloatArray
    cross: FloatArray
    i_phi: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Arrow:
    """A factored precision: the Gaussian that it belongs to can be asked for steps and covariances."""

    problem: Problem
    information: Information
    inverse: FloatArray  # (J, P, P) of D
    schur: FloatArray  # (S, S)

    def cross_blocks(self, slots: slice) -> FloatArray:
        """C (slots, P, S) of one chunk, dense."""
        problem, info = self.problem, self.information
        return _dense_blocks(problem, info, slots)

    def covariance(self) -> FloatArray:
        """(S, S) of the shaft. Raises LinAlgError where the precision is not positive definite."""
        lower = np.linalg.inv(np.linalg.cholesky(self.schur))
        covariance: FloatArray = lower.T @ lower
        return covariance

    def step(self, gradient: Point) -> Point:
        """precision^-1 gradient."""
        problem, info = self.problem, self.information
        along = np.matmul(self.inverse, gradient.phi[:, :, None])[:, :, 0]
        first = problem.prompts.first_gap
        reduced = gradient.z - _to_shaft(problem, info, along)
        z = np.linalg.solve(self.schur, reduced).astype(np.float64, copy=False)
        theta = problem.theta(z)
        pull = np.empty_like(gradient.phi)
        _sum_slots(problem.starts, info.cross, theta, pull)
        pull += info.i_phi[:, :, first:] @ z[problem.common]
        phi: FloatArray = along - np.matmul(self.inverse, pull[:, :, None])[:, :, 0]
        return Point(z, phi)

    def slot_covariances(self, covariance: FloatArray, slots: slice) -> tuple[FloatArray, FloatArray]:
        """Of the total phi of some slots: with the shaft (slots, P, S), and its own (slots, P, P).

        `covariance` (S, S) is the shaft's. phi_j given z is normal with mean -D^-1 C z and covariance D^-1; the common
        log gaps are part of z.
        """
        problem = self.problem
        B = -np.matmul(self.inverse[slots], self.cross_blocks(slots))
        gaps = np.arange(problem.prompts.gaps)
        B[:, problem.prompts.first_gap + gaps, problem.common.start + gaps] += 1.0
        with_shaft = (B.reshape(-1, problem.shaft) @ covariance).reshape(B.shape)
        return with_shaft, np.matmul(with_shaft, B.transpose(0, 2, 1)) + self.inverse[slots]

    def own_variances(self, covariance: FloatArray) -> FloatArray:
        """Marginal variances (J, P) of the slots' own deviations; `covariance` (S, S) is the shaft's."""
        problem = self.problem
        parts = [own_variances(problem, covariance, *self.slot_covariances(covariance, s)) for s in problem.chunks()]
        return np.concatenate(parts)


def own_variances(problem: Problem, covariance: FloatArray, with_shaft: FloatArray, own: FloatArray) -> FloatArray:
    """Marginal variances (slots, P) of own deviations, from the covariances (`Arrow.slot_covariances`) of totals.

    A total log gap is the slot's own deviation and the common one.
    """
    first, common = problem.prompts.first_gap, np.arange(problem.common.start, problem.common.stop)
    variance = np.diagonal(own, axis1=1, axis2=2).copy()
    gaps = np.arange(first, problem.prompts.size)
    variance[:, first:] += np.diag(covariance)[common] - 2.0 * with_shaft[:, gaps, common]
    return variance


def factored(problem: Problem, information: Information, prior: Precision) -> Arrow:
    """Eliminate the slots. Raises LinAlgError where a slot's block is not positive definite."""
    P, gaps, first = problem.prompts.size, problem.common, problem.prompts.first_gap
    D = information.i_phi.copy()
    D[:, np.arange(P), np.arange(P)] += prior.phi
    lower, positive = inverse_factors(D)
    if not positive.all():
        raise np.linalg.LinAlgError("a slot's block is not positive definite")
    shaft = np.diag(prior.z)
    _add_shaft(problem.col, problem.coef, information.i_theta, information.cross[:, first:], gaps.start, shaft)
    shaft[gaps, gaps] += information.i_phi[:, first:, first:].sum(axis=0)
    for slots in problem.chunks():
        W = np.matmul(lower[slots], _dense_blocks(problem, information, slots)).reshape(-1, problem.shaft)
        shaft -= W.T @ W
    return Arrow(problem, information, np.matmul(lower.transpose(0, 2, 1), lower), 0.5 * (shaft + shaft.T))


def _dense_blocks(problem: Problem, information: Information, slots: slice) -> FloatArray:
    C = np.zeros((slots.stop - slots.start, problem.prompts.size, problem.shaft))
    _add_blocks(slots.start, problem.starts, problem.col, problem.coef, information.cross, C)
    C[:, :, problem.common] += information.i_phi[slots][:, :, problem.prompts.first_gap :]
    return C


def _to_shaft(problem: Problem, information: Information, along: FloatArray) -> FloatArray:
    """sum_j C_j' along_j, (S,)."""
    total = np.zeros(problem.shaft)
    _pull_shaft(problem.starts, problem.col, problem.coef, information.cross, along, total)
    total[problem.common] += np.einsum("jpg,jp->g", information.i_phi[:, :, problem.prompts.first_gap :], along)
    return total


def inverse_factors(blocks: FloatArray) -> tuple[FloatArray, BoolArray]:
    """L^-1 (J, P, P) of each block L L', and (J,) whether there is one.

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
        for c in range(P):
            inverse[j, c, c] = 1.0 / lower[c, c]
            for r in range(c + 1, P):
                total = 0.0
                for k in range(c, r):
                    total -= lower[r, k] * inverse[j, k, c]
                inverse[j, r, c] = total / lower[r, r]


@compiled
def _factor(block: FloatArray, lower: FloatArray) -> bool:
    """Cholesky factor of a (P, P) block; False where there is none."""
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
    """Add the cells' information about theta, and about theta with the common log gaps, to (S, S)."""
    for i in range(len(col)):
        for k in range(col.shape[1]):
            for m in range(col.shape[1]):
                shaft[col[i, k], col[i, m]] += coef[i, k] * coef[i, m] * i_theta[i]
            for g in range(of_gaps.shape[1]):
                shaft[col[i, k], gaps + g] += coef[i, k] * of_gaps[i, g]
                shaft[gaps + g, col[i, k]] += coef[i, k] * of_gaps[i, g]


@compiled
def _add_blocks(
    first: int, starts: IntArray, col: IntArray, coef: FloatArray, cross: FloatArray, C: FloatArray
) -> None:
    for j in range(len(C)):
        for i in range(starts[first + j], starts[first + j + 1]):
            for p in range(C.shape[1]):
                for k in range(col.shape[1]):
                    C[j, p, col[i, k]] += coef[i, k] * cross[i, p]


@compiled
def _pull_shaft(
    starts: IntArray, col: IntArray, coef: FloatArray, cross: FloatArray, along: FloatArray, total: FloatArray
) -> None:
    for j in range(len(along)):
        for i in range(starts[j], starts[j + 1]):
            pull = 0.0
            for p in range(along.shape[1]):
                pull += cross[i, p] * along[j, p]
            for k in range(col.shape[1]):
                total[col[i, k]] += coef[i, k] * pull


@compiled
def _sum_slots(starts: IntArray, cross: FloatArray, theta: FloatArray, pull: FloatArray) -> None:
    """pull (J, P) = sum over a slot's cells of cross theta."""
    for j in range(len(pull)):
        for p in range(pull.shape[1]):
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
