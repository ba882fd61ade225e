"""Newton steps on an arrow-shaped Hessian: prompts are independent of each other given the shaft.

Notation: z (S,) is the shaft: K abilities, one side effect if there is one, G common log gaps. phi (J, P) are the
prompts' own parameters. theta_i = sum_k coef[i, k] z[col[i, k]] for cell i. With A the shaft's block of the negative
Hessian, D_j a prompt's and C_j (P, S) the cross block, the Schur complement

    H = A - sum_j C_j^T D_j^-1 C_j

costs O(cells + J P S^2), and H^-1 is the marginal covariance of z under the Gaussian at the mode.
Work goes through the prompts in chunks, so that memory stays near O(cells + J P^2) + one chunk.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .arrays import BoolArray, FloatArray, IntArray
from .prompts import CellTerms, PromptModel

_CHUNK_CELLS = 1 << 15  # keeps the (cells, 6, P) temporaries of one chunk within a few megabytes
_CHUNK_DENSE = 1 << 22  # numbers in one chunk's dense cross blocks
_LEAST_CURVATURE = 0.05  # of the prior's: a prompt whose posterior is flatter somewhere is not near its mode

Edges = Literal["none", "safe", "exact"]  # how much of the edges' own curvature goes into an observed information


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A value of all parameters: z (S,), phi (J, P) as deviations from the common ones."""

    z: FloatArray
    phi: FloatArray

    def moved(self, step: Point, length: float) -> Point:
        return Point(self.z + length * step.z, self.phi + length * step.phi)


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What is being fitted: cells sorted by slot, their design on the shaft, and the normal priors."""

    prompts: PromptModel
    slot: IntArray  # (n,) sorted
    slots: int
    category: IntArray  # (n,)
    weight: FloatArray  # (n,)
    col: IntArray  # (n, k)
    coef: FloatArray  # (n, k)
    prior_mean: FloatArray  # (S,)
    prior_precision: FloatArray  # (S,)
    phi_precision: FloatArray  # (J, P); prior means of phi are 0

    @property
    def shaft(self) -> int:
        """S."""
        return len(self.prior_mean)

    @property
    def common(self) -> slice:
        """The common log gaps inside z."""
        return slice(self.shaft - self.prompts.gaps, self.shaft)

    def theta(self, z: FloatArray, cells: slice) -> FloatArray:
        """(cells,) linear predictor on the ability scale."""
        total: FloatArray = (self.coef[cells] * z[self.col[cells]]).sum(axis=1)
        return total

    def total_phi(self, point: Point) -> FloatArray:
        """(J, P) with the common log gaps added to each prompt's own deviation."""
        phi = point.phi.copy()
        phi[:, self.prompts.first_gap :] += point.z[self.common]
        return phi

    def chunks(self) -> Iterator[tuple[slice, slice]]:
        """(slots, cells) of consecutive chunks; a slot is never divided."""
        ends = np.searchsorted(self.slot, np.arange(self.slots), side="right")
        most = max(1, _CHUNK_DENSE // (self.shaft * self.prompts.size))
        first, cell = 0, 0
        while first < self.slots:
            last = int(np.searchsorted(ends, cell + _CHUNK_CELLS, side="right"))
            last = min(max(last, first + 1), first + most, self.slots)
            yield slice(first, last), slice(cell, int(ends[last - 1]))
            first, cell = last, int(ends[last - 1])


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """One linearisation: everything that a step, a covariance or an averaged refinement needs."""

    gradient: Point  # of the log posterior
    shaft: FloatArray  # (S, S) A
    schur: FloatArray  # (S, S)
    inverse: FloatArray  # (J, P, P) of D
    cross: FloatArray  # (n, P)
    common: FloatArray  # (J, P, G) prompts x common log gaps


def log_posterior(problem: Problem, point: Point) -> float:
    """Up to a constant."""
    phi = problem.total_phi(point)
    total = -0.5 * float(problem.prior_precision @ (point.z - problem.prior_mean) ** 2)
    total -= 0.5 * float((problem.phi_precision * point.phi**2).sum())
    for _, cells in problem.chunks():
        value = problem.prompts.log_likelihood(
            problem.theta(point.z, cells), phi[problem.slot[cells]], problem.category[cells]
        )
        total += float(problem.weight[cells] @ value)
    return total


def evaluate_cells(problem: Problem, point: Point, phi: FloatArray, slots: slice, cells: slice) -> CellTerms:
    """Cell terms at one point: the joint mode's choice. Averaged fits put their own function in its place."""
    return problem.prompts.cell_terms(problem.theta(point.z, cells), phi[problem.slot[cells]], problem.category[cells])


class Linearisation:
    """Accumulates a System chunk by chunk.

    With `kept` = (system, share), that share of another system's precision takes the place of as much of the new one:
    an average of two arrows is an arrow.
    """

    def __init__(self, problem: Problem, point: Point, *, kept: tuple[System, float] | None = None) -> None:
        S, J, P = problem.shaft, problem.slots, problem.prompts.size
        self.problem, self.point, self.kept = problem, point, kept
        self.z_gradient = -problem.prior_precision * (point.z - problem.prior_mean)
        self.phi_gradient = -problem.phi_precision * point.phi
        self.shaft = np.diag(problem.prior_precision)
        self.eliminated = np.zeros((S, S))  # what the prompts take from A
        self.inverse = np.empty((J, P, P))
        self.cross = np.empty((len(problem.slot), P))
        self.common = np.empty((J, P, problem.prompts.gaps))

    def add(self, slots: slice, cells: slice, terms: CellTerms, *, edges: Edges = "none") -> None:
        """One chunk: prompt sums, shaft sums, then the elimination of its prompts."""
        problem = self.problem
        w = problem.weight[cells]
        local = problem.slot[cells] - slots.start
        count = slots.stop - slots.start
        d_phi = _sum_by(local, w[:, None] * terms.d_phi, count)
        i_phi = _sum_by(local, w[:, None, None] * terms.i_phi, count)
        self.cross[cells] = w[:, None] * terms.cross
        if edges != "none":
            exact = self._curve_edges(slots, d_phi, i_phi, only_safe=edges == "safe")
            self.cross[cells, 0] -= exact[local] * w * terms.d_theta
        self.common[slots] = i_phi[:, :, problem.prompts.first_gap :]
        self.phi_gradient[slots] += d_phi
        self._add_shaft(cells, w * terms.d_theta, w * terms.i_theta, d_phi, i_phi)
        P = np.arange(problem.prompts.size)
        i_phi[:, P, P] += problem.phi_precision[slots]
        if self.kept is not None:
            i_phi = self._keep(slots, cells, i_phi)
        self._eliminate(slots, cells, local, i_phi)

    def _keep(self, slots: slice, cells: slice, D: FloatArray) -> FloatArray:
        """Put the kept share into one chunk's cross blocks and its D, which is returned."""
        assert self.kept is not None  # noqa: S101 - the caller has looked
        old, share = self.kept
        self.cross[cells] += share * (old.cross[cells] - self.cross[cells])
        self.common[slots] += share * (old.common[slots] - self.common[slots])
        mixed: FloatArray = D + share * (np.linalg.inv(old.inverse[slots]) - D)
        return mixed

    def _curve_edges(self, slots: slice, d_phi: FloatArray, i_phi: FloatArray, *, only_safe: bool) -> BoolArray:
        """Add the edges' own curvature to i_phi in place; (slots,) where all of it could be added.

        Where a prompt's block would not stay positive, only the part of it that is positive by itself is added: a
        gradient that pulls a log down is then also the curvature that keeps the pull from overshooting.
        """
        prompts, precision = self.problem.prompts, self.problem.phi_precision[slots]
        added = prompts.edge_curvature(d_phi)
        exact = np.zeros(len(d_phi), bool)
        if not only_safe:
            scale = 1.0 / np.sqrt(precision)
            scaled = (i_phi + added) * scale[:, :, None] * scale[:, None, :]
            exact = np.linalg.eigvalsh(scaled)[:, 0] > _LEAST_CURVATURE - 1.0
        i_phi[exact] += added[exact]
        P = np.arange(prompts.size)
        safe = np.maximum(added[:, P, P], 0.0)
        i_phi[:, P, P] += np.where(exact[:, None], 0.0, safe)
        return exact

    def _add_shaft(
        self, cells: slice, d_theta: FloatArray, i_theta: FloatArray, d_phi: FloatArray, i_phi: FloatArray
    ) -> None:
        problem, S, first = self.problem, self.problem.shaft, self.problem.prompts.first_gap
        col, coef = problem.col[cells], problem.coef[cells]
        gaps = problem.common
        self.z_gradient += np.bincount(col.ravel(), (coef * d_theta[:, None]).ravel(), minlength=S)
        self.z_gradient[gaps] += d_phi[:, first:].sum(axis=0)
        pairs = col[:, :, None] * S + col[:, None, :]
        values = coef[:, :, None] * coef[:, None, :] * i_theta[:, None, None]
        self.shaft += np.bincount(pairs.ravel(), values.ravel(), minlength=S * S).reshape(S, S)
        block = np.zeros((S, problem.prompts.gaps))
        for g in range(problem.prompts.gaps):
            weights = coef * self.cross[cells, first + g, None]
            block[:, g] = np.bincount(col.ravel(), weights.ravel(), minlength=S)
        self.shaft[:, gaps] += block
        self.shaft[gaps, :] += block.T
        self.shaft[gaps, gaps] += i_phi[:, first:, first:].sum(axis=0)

    def _eliminate(self, slots: slice, cells: slice, local: IntArray, D: FloatArray) -> None:
        lower = np.linalg.inv(np.linalg.cholesky(D))
        self.inverse[slots] = np.matmul(lower.transpose(0, 2, 1), lower)
        C = cross_blocks(self.problem, self.cross, self.common, slots, cells, local)
        W = np.matmul(lower, C).reshape(-1, self.problem.shaft)
        self.eliminated += W.T @ W

    def system(self) -> System:
        shaft = self.shaft
        if self.kept is not None:
            old, share = self.kept
            shaft = shaft + share * (old.shaft - shaft)
        schur = shaft - self.eliminated
        return System(
            gradient=Point(self.z_gradient, self.phi_gradient),
            shaft=shaft,
            schur=0.5 * (schur + schur.T),
            inverse=self.inverse,
            cross=self.cross,
            common=self.common,
        )


def linearise(problem: Problem, point: Point) -> System:
    """Gradient and expected information of the log posterior at `point`."""
    phi = problem.total_phi(point)
    work = Linearisation(problem, point)
    for slots, cells in problem.chunks():
        work.add(slots, cells, evaluate_cells(problem, point, phi, slots, cells))
    return work.system()


def linearise_exactly(problem: Problem, point: Point) -> System:
    """Gradient and observed information at `point`, or the nearest to it that is positive definite.

    Newton steps on it converge quadratically, where those on the expected information need hundreds for one prompt
    whose votes are unlike what it expects.
    """
    exact = _observed(problem, point, "exact")
    return exact if is_positive(exact.schur) else linearise_safely(problem, point)


def linearise_safely(problem: Problem, point: Point) -> System:
    """Gradient and the part of the observed information that is positive definite anywhere."""
    return _observed(problem, point, "safe")


def _observed(problem: Problem, point: Point, edges: Edges) -> System:
    phi = problem.total_phi(point)
    work = Linearisation(problem, point)
    for slots, cells in problem.chunks():
        theta = problem.theta(point.z, cells)
        terms = problem.prompts.bent_terms(theta, phi[problem.slot[cells]], problem.category[cells])
        work.add(slots, cells, terms, edges=edges)
    return work.system()


def is_positive(matrix: FloatArray) -> bool:
    """Whether a symmetric matrix is positive definite."""
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


def cross_blocks(
    problem: Problem, cross: FloatArray, common: FloatArray, slots: slice, cells: slice, local: IntArray
) -> FloatArray:
    """C (slots, P, S) of one chunk, dense."""
    S, P, count = problem.shaft, problem.prompts.size, slots.stop - slots.start
    C = np.empty((count, P, S))
    index = (local[:, None] * S + problem.col[cells]).ravel()
    for p in range(P):
        values = problem.coef[cells] * cross[cells, p, None]
        C[:, p] = np.bincount(index, values.ravel(), minlength=count * S).reshape(count, S)
    C[:, :, problem.common] += common[slots]
    return C


def newton_step(problem: Problem, system: System, gradient: Point | None = None) -> tuple[Point, float]:
    """The step, and the squared Newton decrement (how far the mode is, in posterior SDs squared).

    `gradient` takes the place of the system's own: a step on the curvature of an earlier, nearby point.
    """
    g = system.gradient if gradient is None else gradient
    S, slot = problem.shaft, problem.slot
    along = np.matmul(system.inverse, g.phi[:, :, None])[:, :, 0]
    weights = problem.coef * (system.cross * along[slot]).sum(axis=1)[:, None]
    reduced = g.z - np.bincount(problem.col.ravel(), weights.ravel(), minlength=S)
    reduced[problem.common] -= np.einsum("jpg,jp->g", system.common, along)
    z = np.linalg.solve(system.schur, reduced).astype(np.float64)
    pull = _sum_by(slot, system.cross * problem.theta(z, slice(None))[:, None], problem.slots)
    pull += system.common @ z[problem.common]
    phi: FloatArray = along - np.matmul(system.inverse, pull[:, :, None])[:, :, 0]
    decrement = float(g.z @ z + (g.phi * phi).sum())
    return Point(z, phi), decrement


def phi_variances(problem: Problem, system: System, covariance: FloatArray) -> FloatArray:
    """Marginal variances (J, P) of the prompts' own deviations; `covariance` (S, S) = schur^-1."""
    P = problem.prompts.size
    variance = system.inverse[:, np.arange(P), np.arange(P)].copy()
    for slots, cells in problem.chunks():
        local = problem.slot[cells] - slots.start
        C = cross_blocks(problem, system.cross, system.common, slots, cells, local)
        pulled = np.matmul(system.inverse[slots], C)
        variance[slots] += ((pulled @ covariance) * pulled).sum(axis=2)
    return variance


def _sum_by(local: IntArray, values: FloatArray, count: int) -> FloatArray:
    """Sum rows of `values` by `local` (sorted), (count, ...); a slot without cells gets zeros."""
    total = np.zeros((count, *values.shape[1:]))
    if len(local):
        starts = np.flatnonzero(np.r_[True, local[1:] != local[:-1]])
        total[local[starts]] = np.add.reduceat(values, starts, axis=0)
    return total
