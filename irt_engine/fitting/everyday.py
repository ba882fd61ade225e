"""Everyday fit: a Gaussian variational approximation of a graded response model, with estimated variances.

Model `pair` (Sedoc and Ungar 2020, section 4) has one ability theta per comparison and free ordered thresholds per
prompt. Its orientation is that of the file. Model `board` has theta = s_B - s_A + the pair effect + the side effect.
Its thresholds are symmetric, so that exchanging A and B negates the result exactly.

A cell is a comparison on a prompt. Form `net` uses its net rating; form `vote` uses its votes, which have a random
effect of the cell in common. The fit is deterministic: the votes in any order give the same posterior.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from irt_engine.arrays import IntArray, array_of, check_seed
from irt_engine.errors import DidNotConverge, EngineWarning, InvalidResponses
from irt_engine.models.priors import DEFAULT_PRIORS, Priors
from irt_engine.posterior.posterior import Posterior
from irt_engine.posterior.warm_start import WarmStart
from irt_engine.responses.style import StyleDifferences
from irt_engine.responses.table import ResponseTable

if TYPE_CHECKING:
    from irt_engine.models.annotator_effects import AnnotatorEffects

    from .annotated_votes import AnnotatedVotes
    from .design import FitDesign
    from .expectations import CellEvaluator
    from .progress import Progress
    from .state import FitState, Solution

Model = Literal["pair", "board"]
Form = Literal["net", "vote"]

MOST_TIERS = 10  # each prompt has an effect per tier, and a part per pair of tiers
MAX_ABILITIES = 5000  # a covariance of 5000 x 5000 numbers takes 200 MB
_NOT_LEARNED = "the SDs of the effects could not be learned from these votes: the given ones stand"


@dataclass(frozen=True, slots=True, eq=False)
class FitResult:
    """Store a posterior and the warm start of the next fit.

    Parameters
    ----------
    posterior : Posterior
        The posterior.
    warm_start : WarmStart
        The argument `start` of the next fit.
    annotators : AnnotatorEffects, optional
        The effects of annotators, if they were asked for.
    """

    posterior: Posterior
    warm_start: WarmStart
    annotators: AnnotatorEffects | None = None


def fit(
    table: ResponseTable,
    model: Model = "board",
    *,
    form: Form = "net",
    priors: Priors = DEFAULT_PRIORS,
    start: WarmStart | None = None,
    tiers: Sequence[int] | IntArray | None = None,
    style: StyleDifferences | None = None,
    annotators: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> Posterior:
    """Return the posterior of the votes.

    Parameters
    ----------
    table : ResponseTable
        The votes.
    model : {"board", "pair"}
        One ability per chatbot, or one per comparison.
    form : {"net", "vote"}
        Net ratings of cells, or single votes.
    priors : Priors
        Prior standard deviations of the effects.
    start : WarmStart, optional
        The end of an earlier fit, to start from. It shortens the fit and does not change the result.
    tiers : sequence of int, shape (M,), optional
        A label 0..T - 1 for each chatbot of the table (model board; see `scheduler.tiers`). A prompt's log
        discrimination then has an effect per tier, with the SD `scales.tier`. Equal labels mean no tiers.
    style : StyleDifferences, optional
        Differences of style of the votes (`irt_engine.responses.style`). Each covariate has one effect on all votes,
        theta = s_B - s_A + ... + gamma' x; abilities are then those at equal style.
    annotators : bool
        Estimate effects of annotators (form vote; see `models.annotator_effects`).
    seed : int
        A number to record; the fit draws no random numbers.
    progress : callable, optional
        Called with the finished percentage and 100 after every iteration.

    Returns
    -------
    Posterior
        The solution of the equations: means, SEs and scales to 1e-9 SD.

    Raises
    ------
    InvalidResponses
        If the table, model, form, tiers, style or seed is invalid, there are too many abilities, or effects of
        annotators are asked for and no vote has an annotator (``no_annotators``).
    DidNotConverge
        If the equations have no solution.

    Warns
    -----
    EngineWarning
        If the variances cannot be estimated; the given ones are used, and `scales.learned` is False.

    References
    ----------
    J. Sedoc and L. Ungar (2020), Item response theory for efficient human evaluation of chatbots, Eval4NLP, 21-33.
    T. Li, A. Angelopoulos and W.-L. Chiang (2024), Does style matter? Disentangling style and substance in Chatbot
    Arena, lmsys.org/blog/2024-08-28-style-control.
    Y. Dubois, B. Galambosi, P. Liang and T. B. Hashimoto (2024), Length-controlled AlpacaEval: a simple way to debias
    automatic evaluators, COLM.
    """
    made, found, _ = _solved(table, model, form, priors, start, tiers, style, annotators, seed, progress)
    return _posterior(made, found, seed)


def fit_with_warm_start(
    table: ResponseTable,
    model: Model = "board",
    *,
    form: Form = "net",
    priors: Priors = DEFAULT_PRIORS,
    start: WarmStart | None = None,
    tiers: Sequence[int] | IntArray | None = None,
    style: StyleDifferences | None = None,
    annotators: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> FitResult:
    """Return the posterior of the votes, and the warm start of the next fit.

    Parameters
    ----------
    table, model, form, priors, start, tiers, style, annotators, seed, progress
        The arguments of `fit`.

    Returns
    -------
    FitResult
        The posterior of `fit`, its warm start, and the effects of annotators.

    Raises
    ------
    InvalidResponses, DidNotConverge
        As `fit`.
    """
    from .warm_start import warm_start_of

    made, found, effects = _solved(table, model, form, priors, start, tiers, style, annotators, seed, progress)
    return FitResult(_posterior(made, found, seed), warm_start_of(made, found), effects)


def _solved(
    table: ResponseTable,
    model: Model,
    form: Form,
    priors: Priors,
    start: WarmStart | None,
    tiers: Sequence[int] | IntArray | None,
    style: StyleDifferences | None,
    annotators: bool,
    seed: int,
    progress: Progress | None,
) -> tuple[FitDesign, Solution, AnnotatorEffects | None]:
    from .design import annotated_design, design  # late: only fits need numba
    from .threads import one_blas_thread

    check(table, model, form)
    check_seed(seed)
    labels, styles, votes = tiers_of(table, model, tiers), _varying(table, style), None
    if annotators:
        _check_annotators(table, form)
        made, votes = annotated_design(table, model, priors, labels, styles)
    else:
        made = design(table, model, form, priors, labels, style=styles)
    if made.abilities > MAX_ABILITIES:
        raise InvalidResponses(
            f"{made.abilities} abilities are more than {MAX_ABILITIES}",
            code="too_many_abilities",
            hint="use model 'board', or fewer comparisons",
        )
    with one_blas_thread():
        try:
            found, effects = _find(made, votes, start, _rising(progress) if progress else None)
        except np.linalg.LinAlgError as error:
            raise DidNotConverge(
                f"the precision of the fit cannot be factored ({error})",
                code="not_positive",
                hint="use tighter priors; report the votes if it persists",
            ) from error
    return made, found, effects


def _find(
    made: FitDesign, votes: AnnotatedVotes | None, start: WarmStart | None, progress: Progress | None
) -> tuple[Solution, AnnotatorEffects | None]:
    """Return the solution, and the effects of the votes' annotators."""
    from .expectations import CellEvaluator

    with CellEvaluator(made.problem, made.effects) as cells:
        if votes is None:
            return _settled(cells, made, None, start, progress), None
        from .annotator_estimation import estimate_annotators  # late: it loads scipy.optimize

        first, steps, estimates = estimate_annotators(cells, made, votes)
        found = estimates.informed(cells, _settled(cells, made, (first, steps), start, progress))
        return found, estimates.effects()


def _settled(
    cells: CellEvaluator,
    made: FitDesign,
    first: tuple[FitState, int] | None,
    start: WarmStart | None,
    progress: Progress | None,
) -> Solution:
    """Return the solution; its variances are the given ones if they cannot be estimated."""
    from .joint_mode import find_joint_mode
    from .subsample_start import start_of_subsample
    from .variational import solve, solve_from, state_at
    from .warm_start import state_of

    state = state_of(made, start, cells) if start else None
    if state is None and first is None:
        state = start_of_subsample(cells)
    found = solve_from(cells, state, progress) if state else None
    if found is None:
        if first is None:
            near, steps = find_joint_mode(cells, made.origin, progress=progress)
            first = state_at(cells, near), steps
        try:
            found = solve(cells, *first, progress)
        except DidNotConverge:
            if not made.effects.learned:
                raise
            warnings.warn(EngineWarning(_NOT_LEARNED), stacklevel=5)
            cells.effects = made.effects.as_given()
            found = solve(cells, replace(first[0], log_sd=cells.effects.start()), first[1], progress)
    return found


def _posterior(made: FitDesign, found: Solution, seed: int) -> Posterior:
    from .fitted_posterior import posterior_of
    from .threads import one_blas_thread

    with one_blas_thread():
        return posterior_of(made, found, seed)


def _rising(progress: Progress) -> Progress:
    """Return a progress function that reports the furthest percentage so far."""
    furthest = 0

    def report(done: int, most: int) -> None:
        nonlocal furthest
        furthest = max(furthest, 100 * done // most)
        progress(furthest, 100)

    return report


def check(table: ResponseTable, model: str, form: str) -> None:
    """Check the arguments of a fit.

    Parameters
    ----------
    table : ResponseTable
        The votes.
    model, form : str
        The names of the model and of the form.

    Raises
    ------
    InvalidResponses
        If there is no table, or the model or form is unknown.
    """
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


def _check_annotators(table: ResponseTable, form: str) -> None:
    if form != "vote":
        raise InvalidResponses(
            "net ratings have no annotators",
            code="form_without_annotators",
            hint="use form 'vote', or annotators=False",
        )
    if not (table.annotator >= 0).any():
        raise InvalidResponses(
            "no vote has an annotator", code="no_annotators", hint="give annotator_id, or use annotators=False"
        )


def tiers_of(table: ResponseTable, model: str, tiers: Sequence[int] | IntArray | None) -> IntArray | None:
    """Return the checked tiers of a board's chatbots.

    Parameters
    ----------
    table : ResponseTable
        The votes of M chatbots.
    model : str
        The name of the model.
    tiers : sequence of int, shape (M,), optional
        The labels of the chatbots.

    Returns
    -------
    ndarray of int, shape (M,), or None
        None if all labels are equal.

    Raises
    ------
    InvalidResponses
        If the labels are no tiers of these chatbots (``bad_tiers``).
    """
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


def _varying(table: ResponseTable, style: StyleDifferences | None) -> StyleDifferences | None:
    """Return the covariates that can have an effect; None without any."""
    if style is None:
        return None
    if len(style.known) != len(table):
        raise InvalidResponses(
            f"there are differences of style of {len(style.known)} votes, and {len(table)} votes",
            code="bad_style",
            hint="give one row per vote, in the order of the table",
        )
    varying = style.varying()
    return varying if varying.names else None
