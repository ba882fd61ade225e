"""Schur complement: slots are independent given the shared parameters, so that a fit eliminates them one by one.

Notation: z (S,) are the shared parameters: abilities, pair effects, a side effect if there is one, and G common log
gaps. phi (J, W) are the slots' own parameters: in each row the P parameters of the prompt, followed by the effects of R
replies, if there are any. For cell i, theta_i = sum_k coef[i, k] z[col[i, k]] + the difference of its two reply
effects. A is the block of z in the precision, D_j that of slot j, and C_j (W, S) the block between them. The Schur
complement

    H = A - sum_j C_j' D_j^-1 C_j

takes O(cells) + J W T^2 operations, with T the number of shared parameters that a slot's cells touch. H^-1 is the
marginal covariance of z. With D_j = L_j L_j', all results follow from L_j^-1 and L_j^-1 C_j. If slots touch most of the
shared parameters (`FitProblem.dense`), L_j^-1 C_j is stored, and all slots are one matrix product. Otherwise slots are
processed in chunks, so that memory stays near O(cells + J W^2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray
from irt_engine.fitting.problem import FitProblem
from irt_engine.models.parameters import Information, Point, Precision

Piece = TypeVar("Piece")
Each = Callable[[Callable[[Piece], bool], Sequence[Piece]], bool]  # has independent pieces of work done, on any threads


def one_by_one(work: Callable[[Piece], bool], todo: Sequence[Piece]) -> bool:
    """Return whether all pieces of work succeeded, on this thread alone.

    Parameters
    ----------
    work : callable
        Works on one piece, and returns whether it succeeded.
    todo : sequence
        The pieces.

    Returns
    -------
    bool
        True if all succeeded.
    """
    return all(work(piece) for piece in todo)


@dataclass(frozen=True, slots=True, eq=False)
class FactoredPrecision:
    """Store a factored precision: slots eliminated, and the Schur complement of the shared parameters.

    Parameters
    ----------
    problem : FitProblem
        The problem.
    information : Information
        Information of the cells.
    lower : ndarray of float, shape (J, W, W)
        L^-1 of each slot's block D = L L'.
    schur : ndarray of float, shape (S, S)
        Schur complement.
    half : ndarray of float, shape (J, W, S), optional
        L^-1 C of the cross blocks C, for dense problems.
    """

    problem: FitProblem
    information: Information
    lower: FloatArray  # (J, W, W) L^-1 of D = L L'
    schur: FloatArray  # (S, S)
    half: FloatArray | None  # (J, W, S) L^-1 C, where the problem is dense

    @property
    def inverse(self) -> FloatArray:
        """Return the inverses (J, W, W) of the slots' blocks."""
        inverse: FloatArray = np.matmul(self.lower.transpose(0, 2, 1), self.lower)
        return inverse

    def covariance(self) -> FloatArray:
        """Return the covariance of the shared parameters.

        Returns
        -------
        ndarray of float, shape (S, S)
            Inverse of the Schur complement.

        Raises
        ------
        LinAlgError
            If the precision is not positive definite.
        """
        lower = np.linalg.inv(np.linalg.cholesky(self.schur))
        covariance: FloatArray = lower.T @ lower
        return covariance

    def step(self, gradient: Point) -> Point:
        """Solve precision * step = gradient.

        Parameters
        ----------
        gradient : Point
            The right side.

        Returns
        -------
        Point
            The step.
        """
        problem, info, lower = self.problem, self.information, self.lower
        upper = lower.transpose(0, 2, 1)
        along = np.matmul(lower, gradient.phi[:, :, None])
        if self.half is not None:
            half = self.half.reshape(-1, problem.shared_size)
            z = np.linalg.solve(self.schur, gradient.z - along.ravel() @ half).astype(np.float64, copy=False)
            rest = along - (half @ z).reshape(along.shape)
            return Point(z, np.matmul(upper, rest)[:, :, 0])
        first, P = problem.prompts.first_gap, problem.prompts.size
        reduced = gradient.z - _to_shaft(problem, info, np.matmul(upper, along)[:, :, 0])
        z = np.linalg.solve(self.schur, reduced).astype(np.float64, copy=False)
        theta = problem.shared_theta(z)
        pull = np.empty_like(gradient.phi)
        problem.kernels.sum_slots(problem.starts, info.cross, theta, pull)
        pull[:, :P] += info.i_phi[:, :, first:] @ z[problem.common]
        if problem.replies:
            pull[:, P:] = problem.replies.gathered(info.i_theta * theta + info.cross[:, first:] @ z[problem.common])
        return Point(z, np.matmul(upper, along - np.matmul(lower, pull[:, :, None]))[:, :, 0])

    def slot_covariances(self, covariance: FloatArray, slots: slice) -> tuple[FloatArray, FloatArray]:
        """Return the covariances of the total parameters of some slots.

        phi_j given z is normal with mean -D^-1 C z and covariance D^-1. The common log gaps belong to z.

        Parameters
        ----------
        covariance : ndarray of float, shape (S, S)
            Covariance of the shared parameters.
        slots : slice
            The slots.

        Returns
        -------
        tuple of ndarray of float, shapes (slots, W, S) and (slots, W, W)
            Covariances with the shared parameters, and of the slots. Columns of untouched shared parameters may be 0.
        """
        problem, info, count = self.problem, self.information, slots.stop - slots.start
        lower, own = self.lower[slots], np.empty((count, problem.width, problem.width))
        if self.half is not None:
            along = np.empty((count, problem.width, problem.shared_size))
            problem.kernels.whole_covariances(
                lower, self.half[slots], covariance, problem.prompts.first_gap, problem.common.start, along, own
            )
            return along, own
        with_shared = np.zeros((count, problem.width, problem.shared_size))
        blocks = problem.slot_information(info)
        problem.kernels.slot_covariances(blocks, slots.start, lower, covariance, with_shared, own)
        return with_shared, own

    def own_variances(self, covariance: FloatArray, each: Each[slice] = one_by_one) -> FloatArray:
        """Return the marginal variances of the slots' own deviations.

        Parameters
        ----------
        covariance : ndarray of float, shape (S, S)
            Covariance of the shared parameters.
        each : callable
            Distributes the chunks over threads.

        Returns
        -------
        ndarray of float, shape (J, W)
            Variances.
        """
        problem = self.problem
        variance = np.empty((problem.slots, problem.width))

        def work(slots: slice) -> bool:
            variance[slots] = own_variances(problem, covariance, *self.slot_covariances(covariance, slots))
            return True

        each(work, list(problem.chunks()))
        return variance


def own_variances(problem: FitProblem, covariance: FloatArray, with_shared: FloatArray, own: FloatArray) -> FloatArray:
    """Return the marginal variances of own deviations from the covariances of totals.

    Attributes
    ----------
    total log gap is the sum of the slot's own deviation and the common log gap.

    Parameters
    ----------
    problem : FitProblem
        The problem.
    covariance : ndarray of float, shape (S, S)
        Covariance of the shared parameters.
    with_shared : ndarray of float, shape (slots, W, S)
        Covariances of totals with the shared parameters.
    own : ndarray of float, shape (slots, W, W)
        Covariances of totals.

    Returns
    -------
    ndarray of float, shape (slots, W)
        Variances.
    """
    variance = np.empty(own.shape[:2])
    first, common = problem.prompts.first_gap, problem.common.start
    problem.kernels.own_variances(covariance, with_shared, own, first, common, variance)
    return variance


def factored(
    problem: FitProblem, information: Information, prior: Precision, each: Each[int] = one_by_one
) -> FactoredPrecision:
    """Return a factored precision by eliminating the slots.

    Parameters
    ----------
    problem : FitProblem
        The problem.
    information : Information
        Information of the cells.
    prior : Precision
        Prior precision.
    each : callable
        Distributes the work over threads.

    Returns
    -------
    FactoredPrecision
        The factored precision.

    Raises
    ------
    LinAlgError
        If a slot's block is not positive definite.
    """
    gaps, first = problem.common, problem.prompts.first_gap
    lower, positive = inverse_factors(problem, slot_blocks(problem, information, prior))
    if not positive.all():
        raise np.linalg.LinAlgError("a slot's block is not positive definite")
    shared = np.zeros((problem.shared_size, problem.shared_size))
    blocks = problem.slot_information(information)
    problem.kernels.add_shared(blocks, shared)
    shared += np.tril(shared, -1).T + np.diag(prior.z)
    shared[gaps, gaps] += information.i_phi[:, first:, first:].sum(axis=0)
    half = None
    if problem.dense:
        half = _eliminate_whole(problem, information, lower, shared, each)
    else:
        problem.kernels.eliminate(blocks, lower, shared)
    return FactoredPrecision(problem, information, lower, 0.5 * (shared + shared.T), half)


def _eliminate_whole(
    problem: FitProblem, information: Information, lower: FloatArray, shared: FloatArray, each: Each[int]
) -> FloatArray:
    """L^-1 C (J, W, S) of all slots, with C' D^-1 C taken off the shaft (S, S)."""
    parts, S, blocks = problem.dense_parts(), problem.shared_size, problem.slot_information(information)
    half = np.empty((problem.slots, problem.width, S))
    taken = np.empty((len(parts), S, S))

    def work(number: int) -> bool:
        part = parts[number]
        C = np.zeros((part.stop - part.start, problem.width, S))
        problem.kernels.cross_blocks(blocks, part.start, part.stop, C)
        np.matmul(lower[part], C, out=half[part])
        rows = half[part].reshape(-1, S)
        np.matmul(rows.T, rows, out=taken[number])
        return True

    each(work, range(len(parts)))
    for of_part in taken:
        shared -= of_part
    return half


def slot_blocks(problem: FitProblem, information: Information, prior: Precision) -> FloatArray:
    """Return the diagonal blocks of the slots.

    Parameters
    ----------
    problem : FitProblem
        The problem.
    information : Information
        Information of the cells.
    prior : Precision
        Prior precision.

    Returns
    -------
    ndarray of float, shape (J, W, W)
        Blocks D.
    """
    P, W = problem.prompts.size, problem.width
    D = np.zeros((problem.slots, W, W))
    D[:, :P, :P] = information.i_phi
    if problem.replies:
        problem.kernels.add_replies(problem.slot_information(information), D)
    D[:, np.arange(W), np.arange(W)] += prior.phi
    return D


def _to_shaft(problem: FitProblem, information: Information, along: FloatArray) -> FloatArray:
    """sum_j C_j' along_j, (S,)."""
    total, P, first = np.zeros(problem.shared_size), problem.prompts.size, problem.prompts.first_gap
    of_replies = problem.replies.theta(along[:, P:]) if problem.replies else np.zeros(len(problem.col))
    of_cells = information.i_theta * of_replies
    problem.kernels.pull_shared(problem.slot_information(information), along, of_cells, total)
    total[problem.common] += np.einsum("jpg,jp->g", information.i_phi[:, :, first:], along[:, :P])
    total[problem.common] += of_replies @ information.cross[:, first:]
    return total


def inverse_factors(problem: FitProblem, blocks: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return the inverse Cholesky factor of each block.

    Parameters
    ----------
    problem : FitProblem
        The problem.
    blocks : ndarray of float, shape (J, W, W)
        Blocks D = L L'.

    Returns
    -------
    tuple of (ndarray of float, shape (J, W, W), ndarray of bool, shape (J,))
        L^-1, and whether the block is positive definite.
    """
    inverse, positive = np.zeros_like(blocks), np.zeros(len(blocks), np.bool_)
    problem.kernels.inverse_factors(np.ascontiguousarray(blocks), inverse, positive)
    return inverse, positive
