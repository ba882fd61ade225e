"""Averaging over the prompts' parameters instead of maximising over them.

A joint mode is overconfident: hundreds of prompt parameters are set to what suits the abilities best. Here the mode
and its arrow-shaped precision are refined to the Gaussian q that solves

    E_q[d log p / dx] = 0,   precision = E_q[expected information] + prior precision,

the fixed point of Gaussian variational inference with the Gauss-Newton form of the curvature (Opper & Archambeau
2009). Expectations are taken cell by cell over the marginal of (theta, phi_j), by a fixed set of sigma points, so
the result is deterministic, and a normal prior contributes to it exactly what it contributes at a point.

Every round takes a Newton step of the mean, on the averaged observed information, and moves the precision a part of
the way to its new value (Khan & Nielsen 2018). Only a part, because the two chase each other: a wide q averages over
places where little is learned or much, so a variance that is too large can come back too small, round after round.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import ndtri

from .arrays import FloatArray, IntArray
from .arrow import Linearisation, Point, Problem, System, cross_blocks, is_positive, newton_step
from .prompts import CellTerms

MAX_CELLS = 20_000  # beyond this the sigma points cost more than a loop can wait for
_MAX_ROUNDS = 80
_TOLERANCE = 1e-4  # posterior SDs, of mean and of SEs alike: below what the sigma points resolve
_SHARE = 0.8  # of the new precision in the first round
_SHARES = (0.2, 1.0)
_REACH = 1.0  # SDs that a parameter may move in a round: farther away the step is not to be believed
_NEARBY = 0.03  # SDs: after a move no longer than this the curvature of the round before still serves
_CAUTIOUS_AFTER = 40  # rounds: what has not settled by then circles, and is damped for good


def worth_averaging(problem: Problem) -> bool:
    """Small enough to afford it."""
    return len(problem.slot) <= MAX_CELLS


def sigma_points(dimension: int, *, mirrored: bool = False) -> FloatArray:
    """(count, dimension) antithetic quasi-normal points with mean 0 and identity covariance exactly.

    A Kronecker (generalised golden ratio) sequence, mapped to normals, mirrored, then whitened. `mirrored` adds the
    mirror image in the first coordinate alone (theta), without which turning every verdict round would not exactly
    negate an averaged board.
    """
    count = dimension - 1 if mirrored else dimension + 1  # the fewest that leave no direction without spread, or so
    ratio = 2.0
    for _ in range(50):
        ratio = (1.0 + ratio) ** (1.0 / (dimension + 1))
    steps = ratio ** -np.arange(1.0, dimension + 1)
    half = ndtri((0.5 + np.outer(np.arange(1, count + 1), steps)) % 1.0)
    if mirrored:
        half = np.concatenate([half, half * np.r_[-1.0, np.ones(dimension - 1)]])
    both = np.concatenate([half, -half])
    lower = np.linalg.cholesky(both.T @ both / len(both))
    points: FloatArray = np.linalg.solve(lower, both.T).T
    return points


def average(problem: Problem, mode: Point, at_mode: System) -> tuple[Point, System, int, bool]:
    """Refine a mode to the averaged fit: the point, its linearisation, the rounds, and whether it settled.

    Where the fixed point is not reached (parameters so vague that no Gaussian describes them) the mode stands.
    """
    points = sigma_points(1 + problem.prompts.size, mirrored=not problem.prompts.located)
    point, system, share = mode, at_mode, _SHARE
    curvature: System | None = None
    earlier: FloatArray | None = None
    rounds = 0
    try:
        covariance = np.linalg.inv(system.schur).astype(np.float64)
        for rounds in range(1, _MAX_ROUNDS + 1):
            system, curvature = _round(problem, point, system, covariance, points, share, curvature)
            step, decrement = newton_step(problem, curvature, system.gradient)
            before, covariance = np.diag(covariance), np.linalg.inv(system.schur).astype(np.float64)
            pull = 0.5 * np.log(np.diag(covariance) / before) / share
            if not (np.isfinite(decrement) and np.isfinite(pull).all()):
                break
            if abs(decrement) < _TOLERANCE**2 and np.abs(pull).max() < _TOLERANCE:
                return point, system, rounds, True
            share = _next_share(share, earlier, pull, cautious=rounds >= _CAUTIOUS_AFTER)
            earlier = pull
            length = _length(problem, step, np.sqrt(before))
            point = point.moved(step, min(1.0, _REACH / length))
            if max(length, np.abs(pull).max()) > _NEARBY:
                curvature = None
    except np.linalg.LinAlgError:
        pass
    return mode, at_mode, rounds, False


def _length(problem: Problem, step: Point, sd: FloatArray) -> float:
    """The largest part of a step: of z in posterior SDs (S,), of phi in prior SDs."""
    of_phi = np.abs(step.phi * np.sqrt(problem.phi_precision)).max(initial=0.0)
    return float(max(np.abs(step.z / sd).max(), of_phi, np.finfo(float).tiny))


def _next_share(share: float, earlier: FloatArray | None, pull: FloatArray, *, cautious: bool) -> float:
    """How much of the next precision to take, from what this share did to the pull on the log SEs, (S,) each.

    The secant rule of Barzilai and Borwein (1988): had all SEs answered alike, the next round would end on them.
    """
    if cautious:
        return _SHARES[0]
    if earlier is None:
        return share
    change = pull - earlier
    curvature = float(change @ change)
    secant = -share * float(earlier @ change) / curvature if curvature > 0.0 else _SHARES[1]
    return float(np.clip(secant, *_SHARES)) if secant > 0.0 else _SHARES[1]


def _round(
    problem: Problem,
    point: Point,
    system: System,
    covariance: FloatArray,
    points: FloatArray,
    share: float,
    curvature: System | None,
) -> tuple[System, System]:
    """The precision, part of the way to its average over q (`system` around `point`), and a curvature to step by.

    The curvature is the averaged observed information, or the precision where that is not positive definite; one that
    is given is still good and handed back.
    """
    phi = problem.total_phi(point)
    precision = Linearisation(problem, point, kept=(system, 1.0 - share))
    observed = Linearisation(problem, point)
    for slots, cells in problem.chunks():
        root = _roots(problem, system, covariance, slots, cells)
        at = np.column_stack([problem.theta(point.z, cells), phi[problem.slot[cells]]])
        precision.add(slots, cells, _mean_terms(problem.prompts.cell_terms, at, root, problem.category[cells], points))
        if curvature is None:
            bent = _mean_terms(problem.prompts.bent_terms, at, root, problem.category[cells], points)
            observed.add(slots, cells, bent, edges="exact")
    after = precision.system()
    if curvature is None:
        curvature = observed.system()
    return after, curvature if is_positive(curvature.schur) else after


def _mean_terms(
    terms_of: Callable[[FloatArray, FloatArray, IntArray], CellTerms],
    mean: FloatArray,
    root: FloatArray,
    category: IntArray,
    points: FloatArray,
) -> CellTerms:
    """Cell terms averaged over mean + root @ e for the sigma points e; mean (n, 1 + P), root (n, 1 + P, 1 + P)."""
    total: list[FloatArray] = []
    for e in points:
        at = mean + root @ e
        terms = terms_of(at[:, 0], at[:, 1:], category)
        parts = [terms.d_theta, terms.d_phi, terms.i_theta, terms.cross, terms.i_phi]
        total = parts if not total else [a + b for a, b in zip(total, parts, strict=True)]
    return CellTerms(*(part / len(points) for part in total))


def _roots(problem: Problem, system: System, covariance: FloatArray, slots: slice, cells: slice) -> FloatArray:
    """Cholesky factors (n, 1 + P, 1 + P) of the covariance under q of each cell's (theta, log alpha, ..., gaps).

    phi_j given z is normal with mean -D^-1 C z and covariance D^-1; the common log gaps are part of z.
    """
    P, slot = problem.prompts.size, problem.slot[cells]
    local = slot - slots.start
    C = cross_blocks(problem, system.cross, system.common, slots, cells, local)
    B = -np.matmul(system.inverse[slots], C)
    gaps = np.arange(problem.prompts.gaps)
    B[:, problem.prompts.first_gap + gaps, problem.common.start + gaps] += 1.0
    BS = B @ covariance
    of_phi = np.matmul(BS, B.transpose(0, 2, 1)) + system.inverse[slots]
    col, coef = problem.col[cells], problem.coef[cells]
    joint = np.empty((len(slot), 1 + P, 1 + P))
    joint[:, 1:, 1:] = of_phi[local]
    pulled = sum(coef[:, k, None] * BS[local, :, col[:, k]] for k in range(col.shape[1]))
    joint[:, 0, 1:] = pulled
    joint[:, 1:, 0] = pulled
    pairs = covariance[col[:, :, None], col[:, None, :]]
    joint[:, 0, 0] = np.einsum("nk,nkl,nl->n", coef, pairs, coef)
    return np.linalg.cholesky(joint).astype(np.float64)
