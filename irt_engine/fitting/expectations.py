"""Expected gradient and information of the cells under the Gaussian approximation, by sigma points."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import ndtri

from irt_engine.arrays import FloatArray
from irt_engine.fitting.kernel_data import (
    NODES,
    Approximation,
    CellData,
    CellEffect,
    KernelResults,
    SlotData,
    empty_terms,
)
from irt_engine.fitting.problem import FitProblem
from irt_engine.fitting.schur_complement import FactoredPrecision, Piece, factored, one_by_one, own_variances
from irt_engine.fitting.threads import one_blas_thread, threads
from irt_engine.models.effects import Effects
from irt_engine.models.parameters import Information, Point, Precision
from irt_engine.quadrature import normal_nodes

SLOPES = 11  # nodes of the discrimination of a prompt that was met once: its SD may be 1, twice what is usual
MOST_AVERAGED = 1_500  # different cells of such prompts; where nearly every vote is on a new one, they count as typical
_SHARED_FROM = 4_000  # cells times points: fewer are asked before other threads are awake


@dataclass(frozen=True, slots=True, eq=False)
class Expectations:
    """Store the expected log posterior of the cells under q, to second order.

    Parameters
    ----------
    log_posterior : float
        Log posterior at the mean, up to a constant.
    gradient : Point
        Expected gradient of the log posterior.
    d_theta : ndarray of float, shape (n,)
        Expected derivative of the log likelihood by theta, per cell.
    d_phi : ndarray of float, shape (K, P)
        The same by the parameters, per part of a slot.
    information : Information
        Expected information, or observed information of the edges.
    sums : ndarray of float, shape (2, 2)
        Of the cell effect and of pooled replies: score by log SD, and sum of its squares.
    phi_variance : ndarray of float, shape (J, W)
        Variances of the slots' own deviations under q; shape (0, W) at the mean.
    """

    log_posterior: float  # up to a constant
    gradient: Point  # of the log posterior
    d_theta: FloatArray  # (n,) of the log-likelihood, by each cell's theta
    d_phi: FloatArray  # (K, P) of the log-likelihood, by slot, or by part of a slot where there are parts
    information: Information  # expected, or observed of the edges
    sums: FloatArray  # (2, 2) of the cell effect and of pooled replies: the score by log SD, the sum of its squares
    phi_variance: FloatArray  # (J, W) of the slots' own deviations under q; (0, W) at the mean


def sigma_points(dimension: int, *, mirrored: bool = False, times: int = 1) -> FloatArray:
    """Return antithetic quasi-normal points with mean 0 and identity covariance.

    The points are a Kronecker sequence (generalised golden ratio), mapped to normals, mirrored and whitened.

    Parameters
    ----------
    dimension : int
        Dimension of the points.
    mirrored : bool
        Add the mirror images in the last coordinate (theta). Exchanging A and B then negates a board exactly.
    times : int
        Multiple of the usual number of points, for wide posteriors.

    Returns
    -------
    ndarray of float, shape (count, dimension)
        The points.
    """
    count = times * (dimension - 1 if mirrored else dimension + 1)  # the fewest that leave no direction without spread
    ratio = 2.0
    for _ in range(50):
        ratio = (1.0 + ratio) ** (1.0 / (dimension + 1))
    steps = ratio ** -np.arange(1.0, dimension + 1)
    half = ndtri((0.5 + np.outer(np.arange(1, count + 1), steps)) % 1.0)
    if mirrored:
        half = np.concatenate([half, half * np.r_[np.ones(dimension - 1), -1.0]])
    both = np.concatenate([half, -half])
    lower = np.linalg.cholesky(both.T @ both / len(both))
    points: FloatArray = np.linalg.solve(lower, both.T).T
    return np.ascontiguousarray(points)


class CellEvaluator:
    """Evaluate the cells of a problem, in chunks and on several threads.

    It is a context manager; the threads live while it is open.

    Parameters
    ----------
    problem : FitProblem
        The problem.
    effects : Effects
        Its effects.
    """

    def __init__(self, problem: FitProblem, effects: Effects) -> None:
        self.problem, self.effects = problem, effects
        prompts = problem.prompts
        times = 2 if problem.replies else 1  # a reply that was met once or twice leaves its cells' theta wide
        self.points = sigma_points(1 + prompts.size - prompts.tiers, mirrored=not prompts.located, times=times)
        cells = len(problem.weight)
        self.threads = threads() if cells * len(self.points) >= _SHARED_FROM else 1
        self.chunks = _balanced(problem, effects.shared, workers=self._parts(cells * len(self.points)), whole=False)
        self.whole_chunks = _balanced(problem, effects.shared, workers=self._parts(cells), whole=True)
        pooled = np.diff(problem.starts)[effects.shared] if effects.shared >= 0 else 0
        self.slopes = SLOPES if pooled <= MOST_AVERAGED else 1  # with one node all are typical
        self.slope_nodes = [np.array(part) for part in normal_nodes(self.slopes)]
        self.nodes = [np.array(part) for part in normal_nodes(NODES)]
        self.pool: ThreadPoolExecutor | None = None
        self.alone: AbstractContextManager[object] | None = None

    def __enter__(self) -> Self:
        self.alone = one_blas_thread()
        self.alone.__enter__()
        if self.threads > 1 and len(self.chunks) > 1:
            self.pool = ThreadPoolExecutor(self.threads - 1)
        return self

    def __exit__(self, *failure: object) -> None:
        if self.pool is not None:
            self.pool.shutdown()
            self.pool = None
        if self.alone is not None:
            self.alone.__exit__(None, None, None)
            self.alone = None

    def _parts(self, evaluated: int) -> int:
        """Return in how many parts to evaluate so many cells times points."""
        return 2 * self.threads if evaluated >= _SHARED_FROM and self.threads > 1 else 1

    def information(self, point: Point, log_sd: FloatArray) -> Information:
        """Return the expected information at a point.

        Parameters
        ----------
        point : Point
            The point.
        log_sd : ndarray of float, shape (L,)
            Log SDs of the effects.

        Returns
        -------
        Information
            The expected information.
        """
        return self.evaluate(point, log_sd, None, logs=False).information

    def evaluate(
        self,
        point: Point,
        log_sd: FloatArray,
        q: tuple[FactoredPrecision, FloatArray] | None,
        *,
        observed: bool = False,
        logs: bool = True,
    ) -> Expectations:
        """Return the expectations under a Gaussian around a point, or at the point.

        Parameters
        ----------
        point : Point
            The mean.
        log_sd : ndarray of float, shape (L,)
            Log SDs of the effects.
        q : tuple of (FactoredPrecision, ndarray of float), optional
            Precision of the Gaussian, and the covariance (S, S) of its shared parameters; None evaluates at the point.
        observed : bool
            Return the observed information of the edges.
        logs : bool
            Compute the log posterior; this needs the point alone and the expected information.

        Returns
        -------
        Expectations
            The expectations.

        Raises
        ------
        LinAlgError
            If q has no root.
        """
        terms, variance = self._terms(point, log_sd, q, observed, logs and q is None and not observed)
        problem, prior = self.problem, self.effects.precision(log_sd)
        information = Information(terms.i_theta, terms.cross, terms.i_phi)
        by_slot, information = problem.gathered(terms.d_phi, information)
        z = problem.shared_sums(terms.d_theta)
        z[problem.common] += by_slot[:, problem.prompts.first_gap :].sum(axis=0)
        if problem.replies:
            by_slot = np.concatenate([by_slot, problem.replies.gathered(terms.d_theta)], axis=1)
        total, pooled = terms.sums.sum(axis=0), self._pooled_sums(terms.sums)
        return Expectations(
            float(total[0] - 0.5 * (prior.z @ point.z**2) - 0.5 * (prior.phi * point.phi**2).sum()),
            Point(z - prior.z * point.z, by_slot - prior.phi * point.phi),
            terms.d_theta,
            terms.d_phi,
            information,
            self.effects.split_sums(log_sd, total[1:] - pooled, pooled),
            variance,
        )

    def _terms(
        self,
        point: Point,
        log_sd: FloatArray,
        q: tuple[FactoredPrecision, FloatArray] | None,
        observed: bool,
        logs: bool,
    ) -> tuple[KernelResults, FloatArray]:
        """Return the kernels' results, and the variances (J, W) of own deviations under q; (0, W) without q."""
        problem, parts, shared = self.problem, self.problem.parts, self.effects.shared
        phi = problem.total_phi(point) if parts is None else parts.phi(problem.total_phi(point))
        n, (K, P), S = len(problem.weight), phi.shape, problem.shared_size
        effect = self._cell_effect(log_sd)
        of_pooled = self._pooled_effect(log_sd) if shared >= 0 else effect
        cells, terms = self._cell_data(problem.theta(point)), empty_terms(n, K, P)
        points = self.points if q is not None else np.zeros((1, 1 + P))
        prompts = SlotData(phi, problem.prompts.spread, problem.prompts.located, points)
        none = Approximation(False, np.zeros((0, 0)), np.zeros((0, P, S)), np.zeros((0, P, P)))
        variance = np.empty((0 if q is None else problem.slots, problem.width))

        def work(slots: slice) -> bool:
            units = slots if parts is None else parts.of(slots)
            given = none if q is None else self._approximation(slots, *q, variance)
            chosen = of_pooled if slots.start == shared else effect
            return problem.kernels.expected_terms(
                (units.start, units.stop), cells, prompts, given, chosen, observed, logs, terms
            )

        chunks = self.whole_chunks if q is None else self.chunks
        if not self.every(work, chunks, shared=n * len(points) >= _SHARED_FROM):
            raise np.linalg.LinAlgError("a cell's covariance is not positive")
        return terms, variance

    def _approximation(
        self, slots: slice, factors: FactoredPrecision, covariance: FloatArray, variance: FloatArray
    ) -> Approximation:
        """Return the covariances of some slots, and fill the variances of their own deviations."""
        problem, parts = self.problem, self.problem.parts
        own = factors.slot_covariances(covariance, slots)
        variance[slots] = own_variances(problem, covariance, *own)
        return Approximation(True, covariance, *(own if parts is None else parts.covariances(slots, *own)))

    def _pooled_sums(self, sums: FloatArray) -> FloatArray:
        """Return the sums (2,) of the pooled slot by the log SD of the cell effect."""
        shared, parts = self.effects.shared, self.problem.parts
        if shared < 0:
            return np.zeros(2)
        slot = slice(shared, shared + 1)
        pooled: FloatArray = sums[slot if parts is None else parts.of(slot), 1:].sum(axis=0)
        return pooled

    def every(self, work: Callable[[slice], bool], chunks: Sequence[slice], *, shared: bool) -> bool:
        """Return whether the work on all chunks of slots succeeded.

        Parameters
        ----------
        work : callable
            Works on one chunk, and returns whether it succeeded.
        chunks : sequence of slice
            The chunks.
        shared : bool
            Whether other threads may take chunks.

        Returns
        -------
        bool
            True if all succeeded.
        """
        return self.each(work, chunks) if shared else one_by_one(work, chunks)

    def each(self, work: Callable[[Piece], bool], pieces: Sequence[Piece]) -> bool:
        """Return whether all pieces of work succeeded.

        The calling thread takes a part, so that it need not be woken.

        Parameters
        ----------
        work : callable
            Works on one piece, and returns whether it succeeded.
        pieces : sequence
            The pieces.

        Returns
        -------
        bool
            True if all succeeded.
        """
        if self.pool is None or len(pieces) == 1:
            return one_by_one(work, pieces)
        todo = iter(pieces)

        def go_on() -> bool:
            return all(work(piece) for piece in todo)

        others = [self.pool.submit(go_on) for _ in range(self.threads - 1)]
        return all([go_on(), *(other.result() for other in others)])

    def factor(self, information: Information, prior: Precision) -> FactoredPrecision:
        """Return a factored precision.

        Parameters
        ----------
        information : Information
            Information of the cells.
        prior : Precision
            Prior precision.

        Returns
        -------
        FactoredPrecision
            The precision with its Schur complement.

        Raises
        ------
        LinAlgError
            If a slot's block is not positive definite.
        """
        return factored(self.problem, information, prior, self.each)

    def _cell_data(self, theta: FloatArray) -> CellData:
        """The cells as the kernels take them."""
        problem = self.problem
        return CellData(
            problem.unit_starts,
            theta,
            problem.counts,
            problem.weight,
            problem.again,
            problem.col,
            problem.coef,
            problem.own,
        )

    def _cell_effect(self, log_sd: FloatArray) -> CellEffect:
        """The quadrature over the cell effect."""
        nodes, weights = self.nodes
        return CellEffect(nodes, weights, self.effects.cell_sd(log_sd), np.ones(1), np.ones(1))

    def _pooled_effect(self, log_sd: FloatArray) -> CellEffect:
        """The quadrature over the cell effect and over the discrimination of a prompt that was met once.

        One vote hardly tells its prompt's discrimination, but that it may be any makes great differences surer than
        votes show them to be, and small ones less: taken as typical, differences of 3 came out a tenth too small. What
        tiers of quality add to it is left out.
        """
        (nodes, weights), (value, share) = self.nodes, self.slope_nodes
        slopes = np.exp(self.effects.slope_sd(log_sd) * value)
        return CellEffect(nodes, weights, self.effects.pooled_sd(log_sd), slopes, share)


def _balanced(problem: FitProblem, shared: int, workers: int, *, whole: bool) -> list[slice]:
    """Consecutive slots, about as many cells in each part; unless `whole`, none with more dense numbers than a chunk.

    The shared slot, which is the last, is by itself: its cells have an effect of another SD.
    """
    edges = {0, problem.slots} | ({shared} if shared >= 0 else set())
    if not whole:
        edges |= {part.start for part in problem.chunks()}
    wanted = np.linspace(0, problem.starts[-1], workers + 1)[1:-1]
    edges |= {int(j) for j in np.searchsorted(problem.starts, wanted)}
    order = sorted(edges)
    return [slice(a, b) for a, b in itertools.pairwise(order)]
