"""fit(table, model): the everyday fit. Deterministic: the same votes in any order give the same posterior.

`pair`  (Sedoc & Ungar 2020, section 4): one ability theta per comparison, free ordered thresholds per prompt.
        Orientation matters, and is the file's own.
`board` theta = s_B - s_A (+ side effect), thresholds mirrored, so that swapping A and B mirrors the result exactly.

Both see net ratings (`cells`), have normal priors (`priors`) and are fitted by Newton steps on the arrow-shaped
information (`arrow`), first to the joint mode (`mode`) and then, on data small enough, averaged over the uncertainty
around it (`average`).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .arrays import FloatArray, IntArray
from .arrow import Point, Problem, System, linearise, phi_variances
from .average import average, worth_averaging
from .cells import Cells, Comparisons, cells_of, compare
from .errors import EngineWarning, InvalidResponses
from .graph import centred, groups_of
from .mode import Progress, find_mode
from .posterior import Comparison, Posterior
from .priors import DEFAULT_PRIORS, Priors
from .prompts import FREE, MIRRORED, PromptModel
from .responses import ResponseTable

Model = Literal["pair", "board"]

MAX_ABILITIES = 5000  # a covariance of 5000 x 5000 numbers is 200 MB
_NOT_AVERAGED = (
    "the average over the prompts' parameters did not settle: these are the most probable values, "
    "and their standard errors are too small"
)
_FIXED_PRECISION = 1e6  # pins a parameter of the shared slot to its prior mean


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Where the fit ended: the point, the linearisation there, and whether the iteration settled."""

    problem: Problem
    point: Point
    system: System
    iterations: int
    settled: bool


def fit(
    table: ResponseTable,
    model: Model = "board",
    *,
    priors: Priors = DEFAULT_PRIORS,
    start: Posterior | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Posterior:
    """The posterior of `table` under `model`.

    `start` only shortens the way (its chatbots, comparisons and prompts are matched by name); `seed` is recorded,
    the fit itself draws nothing; `progress(done, most)` is called after every iteration.
    `converged` of the result promises that the equations of the fit for data of this size are solved: those of the
    average (up to `average.MAX_CELLS` cells; means and SEs to 1e-4 SD) or of the joint mode (to 1e-6 SD). Where the
    average does not settle, the joint mode is returned instead, with `converged` False and an EngineWarning: its SEs
    are too small. Without a mode there is no result.
    Raises InvalidResponses (unknown model, too many abilities), DidNotConverge.
    """
    if model not in ("pair", "board"):
        raise InvalidResponses(f"unknown model {model!r}", code="unknown_model", hint="use 'board' or 'pair'")
    comparisons, index = compare(table)
    cells = cells_of(table, index)
    abilities = len(table.chatbots) if model == "board" else len(comparisons.low)
    if abilities > MAX_ABILITIES:
        raise InvalidResponses(
            f"{abilities} abilities are more than {MAX_ABILITIES}",
            code="too_many_abilities",
            hint="use model 'board', or fewer comparisons",
        )
    problem = _problem(table, model, comparisons, cells, priors)
    point, iterations = find_mode(problem, _start(problem, table, model, comparisons, cells, start), progress)
    system, settled = linearise(problem, point), True
    if worth_averaging(problem):
        point, system, more, settled = average(problem, point, system)
        iterations += more
    if not settled:
        warnings.warn(EngineWarning(_NOT_AVERAGED), stacklevel=2)
    found = Found(problem, point, system, iterations, settled)
    return _posterior(table, model, comparisons, cells, priors, found, seed)


def _problem(table: ResponseTable, model: str, comparisons: Comparisons, cells: Cells, priors: Priors) -> Problem:
    """Design and priors. Columns of the shaft: abilities, the side effect if any order is known, common log gaps."""
    prompts = MIRRORED if model == "board" else FREE
    which = cells.comparison
    if model == "board":
        K, sd = len(table.chatbots), priors.ability_sd
        col = np.stack([comparisons.low[which], comparisons.high[which]], axis=1)
        coef = np.tile([-1.0, 1.0], (len(which), 1))
        category = cells.category
    else:
        K, sd = len(comparisons.low), priors.theta_sd
        col, coef = which[:, None], np.ones((len(which), 1))
        category = np.where(comparisons.flip[which], 6 - cells.category, cells.category)
    precision = [np.full(K, sd**-2)]
    if model == "board" and np.any(cells.side):
        col = np.column_stack([col, np.full(len(which), K)])
        coef = np.column_stack([coef, cells.side])
        precision.append(np.array([priors.side_sd**-2]))
    precision.append(np.full(prompts.gaps, priors.common_log_gap_sd**-2))
    prior_precision = np.concatenate(precision)
    return Problem(
        prompts=prompts,
        slot=cells.slot,
        slots=cells.slots,
        category=category,
        weight=cells.weight,
        col=col,
        coef=coef,
        prior_mean=np.zeros(len(prior_precision)),
        prior_precision=prior_precision,
        phi_precision=_phi_precision(prompts, cells, priors),
    )


def _phi_precision(prompts: PromptModel, cells: Cells, priors: Priors) -> FloatArray:
    """(slots, P). The shared slot is the typical prompt by definition: alpha = 1 and the common gaps."""
    row = np.full(prompts.size, priors.log_gap_sd**-2)
    row[0] = priors.log_discrimination_sd**-2
    if prompts.located:
        row[1] = priors.location_sd**-2
    precision = np.tile(row, (cells.slots, 1))
    if cells.shared >= 0:
        precision[cells.shared, 0] = _FIXED_PRECISION
        precision[cells.shared, prompts.first_gap :] = _FIXED_PRECISION
    return precision


def _start(
    problem: Problem,
    table: ResponseTable,
    model: str,
    comparisons: Comparisons,
    cells: Cells,
    start: Posterior | None,
) -> Point:
    """Zero, or what an earlier posterior of the same model knew."""
    z = np.zeros(problem.shaft)
    phi = np.zeros((problem.slots, problem.prompts.size))
    if start is None or start.model != model:
        return Point(z, phi)
    if model == "board":
        known = dict(zip(start.chatbots, start.ability, strict=True))
        z[: len(table.chatbots)] = [known.get(name, 0.0) for name in table.chatbots]
    else:
        of = {(c.a, c.b, c.by): t for c, t in zip(start.comparisons, start.theta, strict=True)}
        named = _comparisons(table, comparisons)
        z[: len(named)] = [of.get((c.a, c.b, c.by), 0.0) for c in named]
    alpha = dict(zip(start.prompts, start.discrimination, strict=True))
    slopes = np.array([np.log(alpha.get(name, 1.0)) for name in table.prompts])
    own = cells.prompt_slot != cells.shared
    phi[cells.prompt_slot[own], 0] = slopes[own]
    return Point(z, phi)


def _comparisons(table: ResponseTable, comparisons: Comparisons) -> tuple[Comparison, ...]:
    first = np.where(comparisons.flip, comparisons.high, comparisons.low)
    second = np.where(comparisons.flip, comparisons.low, comparisons.high)
    return tuple(
        Comparison(table.chatbots[a], table.chatbots[b], table.labels[by] if table.labels else None, int(n))
        for a, b, by, n in zip(first, second, comparisons.label, comparisons.judgments, strict=True)
    )


def _posterior(
    table: ResponseTable,
    model: str,
    comparisons: Comparisons,
    cells: Cells,
    priors: Priors,
    found: Found,
    seed: int,
) -> Posterior:
    problem, point, system = found.problem, found.point, found.system
    covariance = np.linalg.inv(system.schur)
    covariance = 0.5 * (covariance + covariance.T)
    board = model == "board"
    K = len(table.chatbots) if board else len(comparisons.low)
    ability, of_ability = point.z[:K], covariance[:K, :K]
    theta, theta_se = _thetas(board, comparisons, ability, of_ability)
    group = groups_of(len(table.chatbots), comparisons.low, comparisons.high)
    if board:
        ability, of_ability = centred(ability, of_ability, group)
    slope, slope_se = _discriminations(problem, point, system, covariance, cells, priors)
    return Posterior(
        model=model,
        chatbots=table.chatbots if board else (),
        ability=ability if board else np.empty(0),
        covariance=of_ability if board else np.empty((0, 0)),
        group=group if board else np.empty(0, np.int64),
        chatbot_judgments=_judgments(table) if board else np.empty(0, np.int64),
        comparisons=_comparisons(table, comparisons),
        theta=theta,
        theta_se=theta_se,
        prompts=table.prompts,
        discrimination=slope,
        discrimination_se=slope_se,
        thresholds=problem.prompts.thresholds(problem.total_phi(point))[cells.prompt_slot],
        judgments=len(table),
        cells=cells.total,
        converged=found.settled,
        iterations=found.iterations,
        seed=seed,
    )


def _thetas(
    board: bool, comparisons: Comparisons, ability: FloatArray, covariance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """theta and its SE, (C,) each, in the file's orientation."""
    variance = np.diag(covariance)
    if not board:
        return ability, np.sqrt(variance)
    low, high = comparisons.low, comparisons.high
    sign = np.where(comparisons.flip, -1.0, 1.0)
    se = np.sqrt(variance[low] + variance[high] - 2.0 * covariance[low, high])
    return sign * (ability[high] - ability[low]), se


def _discriminations(
    problem: Problem, point: Point, system: System, covariance: FloatArray, cells: Cells, priors: Priors
) -> tuple[FloatArray, FloatArray]:
    """alpha and its SE by the delta method, (J,) each; a prompt of the shared slot has the prior's SE."""
    log_se = np.sqrt(phi_variances(problem, system, covariance)[:, 0])
    if cells.shared >= 0:
        log_se[cells.shared] = priors.log_discrimination_sd
    alpha = np.exp(point.phi[:, 0])
    return alpha[cells.prompt_slot], (alpha * log_se)[cells.prompt_slot]


def _judgments(table: ResponseTable) -> IntArray:
    M = len(table.chatbots)
    return np.bincount(table.a, minlength=M) + np.bincount(table.b, minlength=M)
