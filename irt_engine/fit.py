"""fit(table, model): the everyday fit. Deterministic: the same votes in any order give the same posterior.

`pair`  (Sedoc & Ungar 2020, section 4): one ability theta per comparison, free ordered thresholds per prompt.
        Orientation matters, and is the file's own.
`board` theta = s_B - s_A + the pair's own effect (+ side effect), thresholds mirrored, so that swapping A and B mirrors
        the result exactly.

Both see a cell, which is a comparison on a prompt, either as its net rating (form `net`) or as its votes, which share
an effect of their own (form `vote`). The joint mode (`mode`) is where the average over the prompts' parameters begins
(`average`), and the scales of all effects are learned on the way (`scales`).
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal

import numpy as np

from .arrays import FloatArray, IntArray
from .cells import Comparisons
from .errors import DidNotConverge, EngineWarning, InvalidResponses
from .graph import centred, groups_of
from .posterior import Comparison, Posterior, Scales
from .priors import DEFAULT_PRIORS, Priors
from .responses import ResponseTable

if TYPE_CHECKING:
    from .arrow import Point
    from .average import Found, Progress
    from .design import Design

Model = Literal["pair", "board"]
Form = Literal["net", "vote"]

MAX_ABILITIES = 5000  # a covariance of 5000 x 5000 numbers is 200 MB
_NOT_LEARNED = "the SDs of the effects could not be learned from these votes: the given ones stand"


def fit(
    table: ResponseTable,
    model: Model = "board",
    *,
    form: Form = "net",
    priors: Priors = DEFAULT_PRIORS,
    start: Posterior | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Posterior:
    """The posterior of `table` under `model`.

    `start` only shortens the way (its chatbots, comparisons and prompts are matched by name); `seed` is recorded,
    the fit itself draws nothing; `progress(done, 100)` is called after every iteration, `done` never falling.
    The result solves the equations of the average (means, SEs and scales to 1e-9 SD and better), or there is none.
    Scales that cannot be learned stay as given, with an EngineWarning and `scales.learned` False.
    Raises InvalidResponses (unknown model or form, too many abilities), DidNotConverge.
    """
    from .design import design  # late, with what it needs: numba is for those who fit

    _check(table, model, form)
    made = design(table, model, form, priors)
    if made.abilities > MAX_ABILITIES:
        raise InvalidResponses(
            f"{made.abilities} abilities are more than {MAX_ABILITIES}",
            code="too_many_abilities",
            hint="use model 'board', or fewer comparisons",
        )
    found = _find(made, _start(made, start), _rising(progress) if progress else None)
    return _posterior(made, priors, found, seed)


def _rising(progress: Progress) -> Progress:
    """Tells how far the slowest part of the way has come, in hundredths."""
    furthest = 0

    def told(done: int, most: int) -> None:
        nonlocal furthest
        furthest = max(furthest, 100 * done // most)
        progress(furthest, 100)

    return told


def _check(table: ResponseTable, model: str, form: str) -> None:
    if model not in ("pair", "board"):
        raise InvalidResponses(f"unknown model {model!r}", code="unknown_model", hint="use 'board' or 'pair'")
    if form not in ("net", "vote"):
        raise InvalidResponses(f"unknown form {form!r}", code="unknown_form", hint="use 'net' or 'vote'")


def _find(made: Design, start: Point, progress: Progress | None) -> Found:
    """The average, with its scales as given where they cannot be learned."""
    from .average import Cells, solve
    from .mode import climb

    with Cells(made.problem, made.effects) as cells:
        near, steps = climb(cells, start, progress=progress)
        try:
            return solve(cells, near, steps, progress)
        except DidNotConverge:
            if not made.effects.learned:
                raise
            warnings.warn(EngineWarning(_NOT_LEARNED), stacklevel=3)
            cells.effects = made.effects.as_given()
            return solve(cells, near, steps, progress)


def _start(made: Design, start: Posterior | None) -> Point:
    """Zero, or what an earlier posterior of the same model knew."""
    from .arrow import Point

    problem, table = made.problem, made.table
    z, phi = np.zeros(problem.shaft), np.zeros((problem.slots, problem.prompts.size))
    if start is None or (start.model, start.form) != (made.model, made.form):
        return Point(z, phi)
    if made.board:
        known = dict(zip(start.chatbots, start.ability, strict=True))
        z[: made.abilities] = [known.get(name, 0.0) for name in table.chatbots]
    else:
        of = {(c.a, c.b, c.by): t for c, t in zip(start.comparisons, start.theta, strict=True)}
        named = _comparisons(table, made.comparisons)
        z[: made.abilities] = [of.get((c.a, c.b, c.by), 0.0) for c in named]
    alpha = dict(zip(start.prompts, start.discrimination, strict=True))
    slopes = np.array([np.log(alpha.get(name, 1.0)) for name in table.prompts])
    own = made.cells.prompt_slot != made.cells.shared
    phi[made.cells.prompt_slot[own], 0] = slopes[own]
    return Point(z, phi)


def _comparisons(table: ResponseTable, comparisons: Comparisons) -> tuple[Comparison, ...]:
    first = np.where(comparisons.flip, comparisons.high, comparisons.low)
    second = np.where(comparisons.flip, comparisons.low, comparisons.high)
    return tuple(
        Comparison(table.chatbots[a], table.chatbots[b], table.labels[by] if table.labels else None, int(n))
        for a, b, by, n in zip(first, second, comparisons.label, comparisons.judgments, strict=True)
    )


def _posterior(made: Design, priors: Priors, found: Found, seed: int) -> Posterior:
    table, cells, board, K = made.table, made.cells, made.board, made.abilities
    z, covariance = found.state.point.z, found.covariance
    theta, theta_se = _thetas(made, z, covariance)
    ability, of_ability = z[:K], covariance[:K, :K]
    group = groups_of(len(table.chatbots), made.comparisons.low, made.comparisons.high)
    if board:
        ability, of_ability = centred(ability, of_ability, group)
    slope, slope_se = _discriminations(made, priors, found)
    total = made.problem.total_phi(found.state.point)
    return Posterior(
        model=made.model,
        chatbots=table.chatbots if board else (),
        ability=ability if board else np.empty(0),
        covariance=of_ability if board else np.empty((0, 0)),
        group=group if board else np.empty(0, np.int64),
        chatbot_judgments=_judgments(table) if board else np.empty(0, np.int64),
        comparisons=_comparisons(table, made.comparisons),
        theta=theta,
        theta_se=theta_se,
        prompts=table.prompts,
        discrimination=slope,
        discrimination_se=slope_se,
        thresholds=made.problem.prompts.thresholds(total)[cells.prompt_slot],
        judgments=len(table),
        cells=cells.total,
        converged=True,
        iterations=found.rounds,
        seed=seed,
        form=made.form,
        side=float(z[made.side]) if made.side >= 0 else 0.0,
        side_se=float(np.sqrt(covariance[made.side, made.side])) if made.side >= 0 else 0.0,
        scales=_scales(made, priors, found),
        ties=int((table.outcome == 0).sum()),
    )


def _scales(made: Design, priors: Priors, found: Found) -> Scales:
    sd = dict(zip((g.name for g in made.effects.groups), np.exp(found.state.log_sd).tolist(), strict=False))
    return Scales(
        log_discrimination=sd["log_discrimination"],
        log_gap=sd["log_gap"],
        location=sd.get("location"),
        pair=sd.get("pair"),
        side=sd.get("side"),
        cell=made.effects.cell_sd(found.state.log_sd) if made.effects.cell else None,
        learned=found.learned,
    )


def _thetas(made: Design, z: FloatArray, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """theta and its SE, (C,) each, in the file's orientation."""
    K = made.abilities
    if not made.board:
        return z[:K], np.sqrt(np.diag(covariance)[:K])
    C = len(made.comparisons.low)
    col = [made.comparisons.low, made.comparisons.high]
    coef = [-1.0, 1.0]
    if made.pair is not None:
        col, coef = [*col, made.pair.start + np.arange(C)], [*coef, 1.0]
    variance = np.zeros(C)
    mean = np.zeros(C)
    for k, a in zip(col, coef, strict=True):
        mean += a * z[k]
        for m, b in zip(col, coef, strict=True):
            variance += a * b * covariance[k, m]
    return np.where(made.comparisons.flip, -mean, mean), np.sqrt(variance)


def _discriminations(made: Design, priors: Priors, found: Found) -> tuple[FloatArray, FloatArray]:
    """alpha and its SE by the delta method, (J,) each; a prompt of the shared slot has the scale's SE."""
    cells = made.cells
    log_se = np.sqrt(found.arrow.own_variances(found.covariance)[:, 0])
    if cells.shared >= 0:
        log_se[cells.shared] = _scales(made, priors, found).log_discrimination
    alpha = np.exp(found.state.point.phi[:, 0])
    return alpha[cells.prompt_slot], (alpha * log_se)[cells.prompt_slot]


def _judgments(table: ResponseTable) -> IntArray:
    M = len(table.chatbots)
    return np.bincount(table.a, minlength=M) + np.bincount(table.b, minlength=M)
