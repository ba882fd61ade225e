"""Full Bayesian fit by Markov chains: the reference for the everyday fit.

Model, priors and arrays are those of the everyday fit (`design`), without approximation. Pair effects are never left
out, and cell effects are sampled instead of integrated. With `learn` an SD has the half-normal prior of the everyday
fit (scale 2 x the given one), and is sampled with everything else.

PyMC describes and differentiates the model; nutpie's NUTS samples from it, on threads. Both are imported only for a
fit.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from irt_engine.arrays import FloatArray, IntArray
from irt_engine.errors import DidNotConverge, EngineWarning, InvalidResponses, NotIdentified
from irt_engine.fitting.comparison_names import comparisons_of
from irt_engine.fitting.design import FitDesign, design
from irt_engine.fitting.everyday import Form, Model, check
from irt_engine.fitting.fitted_posterior import judgments_by_chatbot
from irt_engine.full.convergence import Diagnostics, effective_sizes, r_hat
from irt_engine.full.pymc_model import (
    ParameterLayout,
    check_size,
    compiled_model,
    has_pair_effects,
    load_libraries,
    parameter_layout,
    sampled_cells,
    split_parameters,
)
from irt_engine.models.comparison_graph import centred, groups_of
from irt_engine.models.priors import DEFAULT_PRIORS, Priors
from irt_engine.posterior.moments import Scales
from irt_engine.posterior.posterior import Posterior
from irt_engine.responses.table import ResponseTable

Progress = Callable[[int, int], None]

SAMPLER = "nutpie"
_STAGES = 3  # model compiled, chains drawn, draws summarised


@dataclass(frozen=True, slots=True, eq=False)
class FullPosterior:
    """Store a posterior from draws, and its diagnostics.

    Means, standard errors and the covariance of abilities are those of the draws. A discrimination is exp of the mean
    log, thresholds are those of the mean log gaps, and a scale is the mean of its draws.

    Parameters
    ----------
    posterior : Posterior
        The posterior.
    diagnostics : Diagnostics
        The diagnostics of the chains.
    """

    posterior: Posterior
    diagnostics: Diagnostics


@dataclass(frozen=True, slots=True)
class FitAgreement:
    """Store the distance of an everyday posterior from the full one, over abilities or thetas (model pair).

    Parameters
    ----------
    mean : float
        Root mean square difference of means, in full SDs.
    sd : float
        Root mean square of the ratio of SDs minus 1.
    worst_mean, worst_sd : float
        Largest difference, and ratio minus 1.
    """

    mean: float
    sd: float
    worst_mean: float
    worst_sd: float


def fit_full(
    table: ResponseTable,
    model: Model = "board",
    *,
    form: Form = "net",
    priors: Priors = DEFAULT_PRIORS,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 2,
    cores: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> FullPosterior:
    """Return the posterior of the votes from Markov chains (NUTS).

    Equal seeds and versions give equal results, for any number of cores.

    Parameters
    ----------
    table : ResponseTable
        The votes.
    model : {"board", "pair"}
        The model.
    form : {"net", "vote"}
        The form.
    priors : Priors
        Prior SDs of the effects.
    draws, tune : int
        Draws of each chain after and during tuning.
    chains : int
        Number of chains.
    cores : int, optional
        Number of chains at the same time; None uses all processors.
    seed : int
        Seed of the draws.
    progress : callable, optional
        Called with the finished stages and their number.

    Returns
    -------
    FullPosterior
        The posterior; `posterior.converged` is False if the diagnostics fail.

    Raises
    ------
    InvalidResponses
        If the model, form or number of draws is invalid, or there are too many parameters.
    DidNotConverge
        If the sampler finds no start.
    EngineError
        If PyMC or nutpie is not installed.

    Warns
    -----
    EngineWarning
        If the diagnostics fail.
    """
    check(table, model, form)
    _check_run(draws, tune, chains, cores, seed)
    told = progress or (lambda done, most: None)
    # Net ratings of pooled prompts are taken as typical by both fits; of their votes the everyday fit integrates the
    # discrimination out, and here it is drawn.
    made = design(table, model, form, priors, pool=form == "net")
    cells = sampled_cells(made)
    layout = parameter_layout(made, priors)
    check_size(len(layout.given) + (len(cells.slot) if form == "vote" else 0))
    compiled = compiled_model(made, priors, cells, layout)
    told(1, _STAGES)
    drawn, divergences = draw_samples(compiled, draws, tune, chains, cores, seed)
    told(2, _STAGES)
    drawn = _read(drawn, layout, made)
    group = groups_of(len(table.chatbots), made.comparisons.low, made.comparisons.high)
    diagnostics = _diagnostics(made, drawn, group, divergences, tune)
    if not diagnostics.converged:
        warnings.warn(EngineWarning(_doubt(diagnostics)), stacklevel=2)
    posterior = _posterior(made, priors, drawn, group, diagnostics, seed)
    told(3, _STAGES)
    return FullPosterior(posterior, diagnostics)


def agreement(everyday: Posterior, full: FullPosterior) -> FitAgreement:
    """Return how well the everyday fit of the same votes agrees with the full one.

    Parameters
    ----------
    everyday : Posterior
        The everyday posterior.
    full : FullPosterior
        The full posterior.

    Returns
    -------
    FitAgreement
        The distances.

    Raises
    ------
    InvalidResponses
        If the models, forms, chatbots or comparisons differ.
    NotIdentified
        If no chatbot is connected with another one.
    """
    reference = full.posterior
    if _subject(everyday) != _subject(reference):
        raise InvalidResponses(
            "the two posteriors are not of the same votes and model",
            code="different_fits",
            hint="fit the same table with the same model and form",
        )
    if reference.model == "board":
        _, index, size = np.unique(reference.group, return_inverse=True, return_counts=True)
        known = size[index] > 1
        means, sds = (everyday.ability, reference.ability), (everyday.se, reference.se)
    else:
        known = np.ones(len(reference.theta), bool)
        means, sds = (everyday.theta, reference.theta), (everyday.theta_se, reference.theta_se)
    if not known.any():
        raise NotIdentified("no two chatbots are connected", code="no_comparisons", hint="collect votes on a pair")
    off = ((means[0] - means[1]) / sds[1])[known]
    ratio = (sds[0] / sds[1] - 1.0)[known]
    return FitAgreement(_rms(off), _rms(ratio), float(np.abs(off).max()), float(np.abs(ratio).max()))


def _subject(posterior: Posterior) -> tuple[Any, ...]:
    return posterior.model, posterior.form, posterior.chatbots, posterior.comparisons, posterior.judgments


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _check_run(draws: int, tune: int, chains: int, cores: int | None, seed: int) -> None:
    for name, value, least in (("draws", draws, 4), ("tune", tune, 1), ("chains", chains, 1), ("cores", cores, 1)):
        if value is not None and value < least:
            raise InvalidResponses(
                f"{name} is {value}", code="bad_run", hint=f"give at least {least}; 1000 draws of 2 chains are usual"
            )
    if not 0 <= seed < 2**63:
        raise InvalidResponses(f"seed {seed} is not a seed", code="bad_run", hint="give an integer from 0 to 2^63 - 1")


# --- what the model is told ---


# --- the model, written in PyMC ---


# --- drawing, and what is read off the draws ---


def draw_samples(
    compiled: Any, draws: int, tune: int, chains: int, cores: int | None, seed: int
) -> tuple[dict[str, FloatArray], int]:
    """Draw from a compiled model. Only this function knows the sampler's interface.

    Parameters
    ----------
    compiled
        Model as nutpie compiles it.
    draws, tune
        Number of draws that are kept, and of those that adapt the sampler before, per chain.
    chains, cores
        Number of chains, and of those that run at once (None: as many as there are processors).
    seed
        Seed of the random numbers.

    Returns
    -------
    dict of str to ndarray of shape (chains, draws, ...), int
        Draws of each variable, and the number of divergent transitions.

    Raises
    ------
    DidNotConverge
        If the sampler stops.
    """
    nutpie = load_libraries()[2]
    try:
        trace = nutpie.sample(
            compiled,
            draws=draws,
            tune=tune,
            chains=chains,
            cores=min(chains, cores or os.cpu_count() or 1),
            seed=seed,
            save_warmup=False,
            progress_bar=False,
        )
    except RuntimeError as error:
        raise DidNotConverge(
            f"the sampler stopped: {error}", code="sampler_stopped", hint="use tighter priors; report the votes"
        ) from error
    # InferenceData (ArviZ 0.x) and DataTree (1.x) both answer to these names.
    drawn = {
        str(name): np.asarray(trace["posterior"][name].values, np.float64) for name in trace["posterior"].data_vars
    }
    return drawn, int(np.asarray(trace["sample_stats"]["diverging"].values).sum())


def _read(drawn: dict[str, FloatArray], layout: ParameterLayout, made: FitDesign) -> dict[str, FloatArray]:
    """What the posterior reports, (chains, draws, ...) each: the parts, and sd_<name> of every SD that was drawn."""
    ratio = drawn.get("ratio")
    parts = split_parameters(layout.effects(np, drawn["standard"], ratio), layout, made)
    if ratio is not None:
        parts |= {f"sd_{name}": sd * ratio[..., [k]] for k, (name, sd) in enumerate(layout.learned.items())}
    return parts


def _diagnostics(
    made: FitDesign, drawn: dict[str, FloatArray], group: IntArray, divergences: int, tune: int
) -> Diagnostics:
    """The worst over all that is reported: abilities apart from their group's mean, thetas, prompts, side, scales."""
    quantities = _quantities(made, drawn, group)
    chains, draws, _ = quantities.shape
    bulk, tail = effective_sizes(quantities)
    return Diagnostics(
        r_hat=float(r_hat(quantities).max()),
        ess_bulk=float(bulk.min()),
        ess_tail=float(tail.min()),
        divergences=divergences,
        draws=draws,
        tune=tune,
        chains=chains,
        sampler=SAMPLER,
    )


def _quantities(made: FitDesign, drawn: dict[str, FloatArray], group: IntArray) -> FloatArray:
    """(chains, draws, K), without what a definition fixes: the pooled slot's log alpha, a chatbot without a group."""
    parts = {name: values.reshape(*values.shape[:2], -1) for name, values in drawn.items() if name != "reply"}
    if made.cells.shared >= 0:
        parts["log_alpha"] = np.delete(parts["log_alpha"], made.cells.shared, axis=2)
    if made.board:
        same = (group[:, None] == group[None, :]).astype(np.float64)
        size = same.sum(axis=1)
        apart = parts["ability"] - parts["ability"] @ (same / size)
        parts["ability"] = apart[:, :, size > 1]
    return np.concatenate(list(parts.values()), axis=2)


def _doubt(found: Diagnostics) -> str:
    hint = "use tighter priors" if found.divergences else "draw more, and tune for longer"
    return (
        f"the chains are no reference yet ({hint}): r-hat {found.r_hat:.3f}, effective draws {found.ess_bulk:.0f} in "
        f"the bulk and {found.ess_tail:.0f} in the tails, {found.divergences} divergences"
    )


def _posterior(
    made: FitDesign, priors: Priors, drawn: dict[str, FloatArray], group: IntArray, found: Diagnostics, seed: int
) -> Posterior:
    table, board = made.table, made.board
    flat = {name: values.reshape(found.chains * found.draws, *values.shape[2:]) for name, values in drawn.items()}
    theta = flat["theta"].mean(axis=0)
    ability, covariance = _abilities(flat["ability"], group) if board else (np.empty(0), np.empty((0, 0)))
    scales = _scales(made, priors, flat)
    alpha, alpha_se, thresholds = _prompts(made, flat, scales)
    side = flat.get("side", np.zeros((2, 1)))[:, 0]
    return Posterior(
        model=made.model,
        chatbots=table.chatbots if board else (),
        ability=ability,
        covariance=covariance,
        group=group if board else np.empty(0, np.int64),
        chatbot_judgments=judgments_by_chatbot(table) if board else np.empty(0, np.int64),
        comparisons=comparisons_of(table, made.comparisons),
        theta=np.where(made.comparisons.flip, -theta, theta) if board else theta,
        theta_se=flat["theta"].std(axis=0, ddof=1),
        prompts=table.prompts,
        discrimination=alpha,
        discrimination_se=alpha_se,
        thresholds=thresholds,
        judgments=len(table),
        cells=made.cells.total,
        converged=found.converged,
        iterations=found.chains * (found.tune + found.draws),
        seed=seed,
        form=made.form,
        side=float(side.mean()),
        side_se=float(side.std(ddof=1)),
        scales=scales,
    )


def _abilities(draws: FloatArray, group: IntArray) -> tuple[FloatArray, FloatArray]:
    return centred(draws.mean(axis=0), np.atleast_2d(np.cov(draws, rowvar=False)), group)


def _prompts(made: FitDesign, flat: dict[str, FloatArray], scales: Scales) -> tuple[FloatArray, FloatArray, FloatArray]:
    """alpha (J,), its SE by the delta method, thresholds (J, E), as in the everyday fit."""
    columns = [flat[name] for name in ("log_alpha", "location", "log_gap") if name in flat]
    mean = np.concatenate([column.mean(axis=0) for column in columns], axis=1)
    log_se = columns[0].std(axis=0, ddof=1)[:, 0]
    slot, shared = made.cells.prompt_slot, made.cells.shared
    if shared >= 0:
        log_se[shared] = scales.log_discrimination
    alpha = np.exp(mean[:, 0])
    return alpha[slot], (alpha * log_se)[slot], made.problem.prompts.thresholds(mean)[slot]


def _scales(made: FitDesign, priors: Priors, flat: dict[str, FloatArray]) -> Scales:
    def sd(name: str, given: float) -> float:
        learned = flat.get(f"sd_{name}")
        return given if learned is None else float(learned.mean())

    return Scales(
        log_discrimination=sd("log_discrimination", priors.log_discrimination_sd),
        log_gap=sd("log_gap", priors.log_gap_sd),
        location=sd("location", priors.location_sd) if made.problem.prompts.located else None,
        pair=sd("pair", priors.pair_sd) if has_pair_effects(made, priors) else None,
        side=sd("side", priors.side_sd) if made.side >= 0 else None,
        cell=sd("cell", priors.cell_sd) if made.form == "vote" else None,
        reply=sd("reply", priors.reply_sd) if made.problem.replies else None,
        learned=priors.learn,
    )
