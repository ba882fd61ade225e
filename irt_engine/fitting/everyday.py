"""fit(table, model): the everyday fit. Deterministic: the same votes in any order give the same posterior.

`pair`  (Sedoc & Ungar 2020, section 4): one ability theta per comparison, free ordered thresholds per prompt.
        Orientation matters, and is the file's own.
`board` theta = s_B - s_A + the pair's own effect (+ side effect), thresholds mirrored, so that swapping A and B mirrors
        the result exactly.

`tiers` of quality let a prompt of a board discriminate more sharply among weak chatbots than among strong ones
(`parts`). Both models see a cell, which is a comparison on a prompt, either as its net rating (form `net`) or as its
votes, which share an effect of their own (form `vote`). The joint mode (`mode`) is where the average over the prompts'
parameters begins (`average`), and the scales of all effects are learned on the way (`scales`).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from irt_engine.arrays import FloatArray, IntArray, array_of, check_seed
from irt_engine.errors import DidNotConverge, EngineWarning, InvalidResponses
from irt_engine.models.comparison_graph import centred, groups_of
from irt_engine.models.priors import DEFAULT_PRIORS, Priors
from irt_engine.posterior.posterior import Posterior, Scales
from irt_engine.responses.table import ResponseTable

if TYPE_CHECKING:
    from irt_engine.posterior.warm_start import WarmStart

    from .design import Design
    from .progress import Progress
    from .state import Solution
from .comparison_names import comparisons_of

Model = Literal["pair", "board"]
Form = Literal["net", "vote"]

MOST_TIERS = 10  # a prompt has an effect for each, and a part for every two
MAX_ABILITIES = 5000  # a covariance of 5000 x 5000 numbers is 200 MB
_NOT_LEARNED = "the SDs of the effects could not be learned from these votes: the given ones stand"


def fit(
    table: ResponseTable,
    model: Model = "board",
    *,
    form: Form = "net",
    priors: Priors = DEFAULT_PRIORS,
    start: Posterior | None = None,
    tiers: Sequence[int] | IntArray | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Posterior:
    """The posterior of `table` under `model`.

    `tiers` (M,), one label 0..T - 1 for each of the table's chatbots (see `scheduler.tiers`): under `board`, a prompt's
    log discrimination for a pair is its own plus the mean of its effects in the two chatbots' tiers, whose SD is
    learned (`scales.tier`). Labels that are all the same say nothing, and are as none.
    `start` only shortens the way (its chatbots, comparisons and prompts are matched by name); `seed` is recorded,
    the fit itself draws nothing; `progress(done, 100)` is called after every iteration, `done` never falling.
    The result solves the equations of the average (means, SEs and scales to 1e-9 SD and better), or there is none.
    Scales that cannot be learned stay as given, with an EngineWarning and `scales.learned` False.
    Raises InvalidResponses (no table, unknown model or form, too many abilities, bad tiers or seed), DidNotConverge.
    """
    from .design import design  # late, with what it needs: numba is for those who fit
    from .threads import one_blas_thread

    check(table, model, form)
    check_seed(seed)
    made = design(table, model, form, priors, tiers_of(table, model, tiers))
    if made.abilities > MAX_ABILITIES:
        raise InvalidResponses(
            f"{made.abilities} abilities are more than {MAX_ABILITIES}",
            code="too_many_abilities",
            hint="use model 'board', or fewer comparisons",
        )
    with one_blas_thread():
        try:
            found, warm = _find(made, start, _rising(progress) if progress else None)
        except np.linalg.LinAlgError as error:
            raise DidNotConverge(
                f"the precision of the fit cannot be factored ({error})",
                code="not_positive",
                hint="use tighter priors; report the votes if it persists",
            ) from error
        return posterior_of(made, priors, found, warm, seed)


def _rising(progress: Progress) -> Progress:
    """Tells how far the slowest part of the way has come, in hundredths."""
    furthest = 0

    def told(done: int, most: int) -> None:
        nonlocal furthest
        furthest = max(furthest, 100 * done // most)
        progress(furthest, 100)

    return told


def check(table: ResponseTable, model: str, form: str) -> None:
    """Raises InvalidResponses (no table, unknown model or form)."""
    if not isinstance(table, ResponseTable):
        raise InvalidResponses(
            f"{type(table).__name__} is not a ResponseTable",
            code="not_a_table",
            hint="make one of it: ResponseTable.from_votes(frame)",
        )
    if model not in ("pair", "board"):
        raise InvalidResponses(f"unknown model {model!r}", code="unknown_model", hint="use 'board' or 'pair'")
    if form not in ("net", "vote"):
        raise InvalidResponses(f"unknown form {form!r}", code="unknown_form", hint="use 'net' or 'vote'")


def tiers_of(table: ResponseTable, model: str, tiers: Sequence[int] | IntArray | None) -> IntArray | None:
    """The tiers (M,) of a board's chatbots, None where they say nothing. Raises InvalidResponses (bad_tiers)."""
    if tiers is None:
        return None
    labels = array_of(tiers, "tiers")
    whole = labels.shape == (len(table.chatbots),) and labels.dtype.kind in "iu"
    if model != "board" or not whole or labels.min() < 0 or labels.max() >= MOST_TIERS:
        raise InvalidResponses(
            f"these are not tiers of the {len(table.chatbots)} chatbots of a board",
            code="bad_tiers",
            hint=f"model 'board', and for each chatbot of the table a whole number from 0 to {MOST_TIERS - 1}",
        )
    return labels.astype(np.int64) if labels.min() < labels.max() else None


def _find(made: Design, start: Posterior | None, progress: Progress | None) -> tuple[Solution, WarmStart]:
    """The average, with its scales as given where they cannot be learned; and what the next fit may begin with."""
    from .expectations import CellEvaluator
    from .joint_mode import climb
    from .variational import solve, solve_from
    from .warm_start import recall, remember

    with CellEvaluator(made.problem, made.effects) as cells:
        state = recall(made, start, cells) if start else None
        found = solve_from(cells, state, progress) if state else None
        if found is None:
            near, steps = climb(cells, made.origin, progress=progress)
            try:
                found = solve(cells, near, steps, progress)
            except DidNotConverge:
                if not made.effects.learned:
                    raise
                warnings.warn(EngineWarning(_NOT_LEARNED), stacklevel=3)
                cells.effects = made.effects.as_given()
                found = solve(cells, near, steps, progress)
        return found, remember(made, found)


def posterior_of(made: Design, priors: Priors, found: Solution, warm: WarmStart | None, seed: int) -> Posterior:
    """What was found, by name."""
    from .prompt_estimates import prompt_parameters

    table, cells, board, K = made.table, made.cells, made.board, made.abilities
    z, covariance = found.state.point.z, found.covariance
    theta, theta_se = _thetas(made, z, covariance)
    ability, of_ability = z[:K], covariance[:K, :K]
    group = groups_of(len(table.chatbots), made.comparisons.low, made.comparisons.high)
    if board:
        ability, of_ability = centred(ability, of_ability, group)
    scales = _scales(made, priors, found)
    of = prompt_parameters(made, found, scales)
    return Posterior(
        model=made.model,
        chatbots=table.chatbots if board else (),
        ability=ability if board else np.empty(0),
        covariance=of_ability if board else np.empty((0, 0)),
        group=group if board else np.empty(0, np.int64),
        chatbot_judgments=_judgments(table) if board else np.empty(0, np.int64),
        comparisons=comparisons_of(table, made.comparisons),
        theta=theta,
        theta_se=theta_se,
        prompts=table.prompts,
        discrimination=of.discrimination[cells.prompt_slot],
        discrimination_se=of.discrimination_se[cells.prompt_slot],
        thresholds=of.thresholds[cells.prompt_slot],
        judgments=len(table),
        cells=cells.total,
        converged=True,
        iterations=found.rounds,
        seed=seed,
        form=made.form,
        side=float(z[made.side]) if made.side >= 0 else 0.0,
        side_se=float(np.sqrt(covariance[made.side, made.side])) if made.side >= 0 else 0.0,
        scales=scales,
        ties=int((table.outcome == 0).sum()),
        theta_covariance=np.empty((0, 0)) if board else covariance[:K, :K],
        warm=warm,
        thresholds_se=of.thresholds_se[cells.prompt_slot],
        tier=np.empty(0, np.int64) if made.tiers is None else made.tiers,
        tier_discrimination=of.tier_discrimination[cells.prompt_slot],
        tier_discrimination_se=of.tier_discrimination_se[cells.prompt_slot],
        reply=of.reply[cells.prompt_slot] if of.reply.size else of.reply,
        reply_se=of.reply_se[cells.prompt_slot] if of.reply.size else of.reply,
    )


def _scales(made: Design, priors: Priors, found: Solution) -> Scales:
    sd = dict(zip((g.name for g in made.effects.groups), np.exp(found.state.log_sd).tolist(), strict=False))
    return Scales(
        log_discrimination=sd["log_discrimination"],
        log_gap=sd["log_gap"],
        location=sd.get("location"),
        pair=sd.get("pair"),
        side=sd.get("side"),
        tier=sd.get("tier"),
        reply=sd.get("reply"),
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


def _judgments(table: ResponseTable) -> IntArray:
    M = len(table.chatbots)
    return np.bincount(table.a, minlength=M) + np.bincount(table.b, minlength=M)
