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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from irt_engine.arrays import IntArray, array_of, check_seed
from irt_engine.errors import DidNotConverge, EngineWarning, InvalidResponses
from irt_engine.models.priors import DEFAULT_PRIORS, Priors
from irt_engine.posterior.posterior import Posterior
from irt_engine.posterior.warm_start import WarmStart
from irt_engine.responses.table import ResponseTable

if TYPE_CHECKING:
    from .design import FitDesign
    from .progress import Progress
    from .state import Solution

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
    """

    posterior: Posterior
    warm_start: WarmStart


def fit(
    table: ResponseTable,
    model: Model = "board",
    *,
    form: Form = "net",
    priors: Priors = DEFAULT_PRIORS,
    start: WarmStart | None = None,
    tiers: Sequence[int] | IntArray | None = None,
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
        If the table, model, form, tiers or seed is invalid, or there are too many abilities.
    DidNotConverge
        If the equations have no solution.

    Warns
    -----
    EngineWarning
        If the variances cannot be estimated; the given ones are used, and `scales.learned` is False.

    References
    ----------
    J. Sedoc and L. Ungar (2020), Item response theory for efficient human evaluation of chatbots, Eval4NLP, 21-33.
    """
    made, found = _solved(table, model, form, priors, start, tiers, seed, progress)
    return _posterior(made, found, seed)


def fit_with_warm_start(
    table: ResponseTable,
    model: Model = "board",
    *,
    form: Form = "net",
    priors: Priors = DEFAULT_PRIORS,
    start: WarmStart | None = None,
    tiers: Sequence[int] | IntArray | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> FitResult:
    """Return the posterior of the votes, and the warm start of the next fit.

    Parameters
    ----------
    table, model, form, priors, start, tiers, seed, progress
        The arguments of `fit`.

    Returns
    -------
    FitResult
        The posterior of `fit`, and its warm start.

    Raises
    ------
    InvalidResponses, DidNotConverge
        As `fit`.
    """
    from .warm_start import warm_start_of

    made, found = _solved(table, model, form, priors, start, tiers, seed, progress)
    return FitResult(_posterior(made, found, seed), warm_start_of(made, found))


def _solved(
    table: ResponseTable,
    model: Model,
    form: Form,
    priors: Priors,
    start: WarmStart | None,
    tiers: Sequence[int] | IntArray | None,
    seed: int,
    progress: Progress | None,
) -> tuple[FitDesign, Solution]:
    from .design import design  # late: only fits need numba
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
            return made, _find(made, start, _rising(progress) if progress else None)
        except np.linalg.LinAlgError as error:
            raise DidNotConverge(
                f"the precision of the fit cannot be factored ({error})",
                code="not_positive",
                hint="use tighter priors; report the votes if it persists",
            ) from error


def _find(made: FitDesign, start: WarmStart | None, progress: Progress | None) -> Solution:
    """Return the solution; its variances are the given ones if they cannot be estimated."""
    from .expectations import CellEvaluator
    from .joint_mode import find_joint_mode
    from .variational import solve, solve_from
    from .warm_start import state_of

    with CellEvaluator(made.problem, made.effects) as cells:
        state = state_of(made, start, cells) if start else None
        found = solve_from(cells, state, progress) if state else None
        if found is None:
            near, steps = find_joint_mode(cells, made.origin, progress=progress)
            try:
                found = solve(cells, near, steps, progress)
            except DidNotConverge:
                if not made.effects.learned:
                    raise
                warnings.warn(EngineWarning(_NOT_LEARNED), stacklevel=4)
                cells.effects = made.effects.as_given()
                found = solve(cells, near, steps, progress)
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
