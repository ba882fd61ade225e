"""Inputs of forecasts: what a state and the priors say of a campaign, in a few arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from irt_engine.arrays import FloatArray, IntArray
from irt_engine.models.priors import Priors
from irt_engine.posterior import Posterior
from irt_engine.truth import TYPICAL_LOG_GAPS
from scheduler.belief import abilities_of
from scheduler.errors import InvalidRequest
from scheduler.overlap import Overlap, OverlapSample
from scheduler.state import CampaignState

CLASSES = 5  # of prompts, by their discrimination
MOST_KNOWN = 0.999  # nothing is ever learnt about what is known already
_NONE = Overlap()


@dataclass(frozen=True, slots=True, eq=False)
class ForecastInputs:
    """What is known of a campaign: M chatbots, N pairs, K classes of prompts by their discrimination.

    Parameters
    ----------
    mean, covariance : (M,), (M, M) float arrays
        Of the abilities.
    judged, room : (N, K) float arrays
        Votes on each pair and class so far, and the most that there can be. An item of the overlap gets several votes
        at once: a vote here stands for `overlap.judgments_each` judgments.
    prompts : int
        Number of prompts.
    slope, half_width : float
        Discrimination and tie half-width of the typical prompt.
    ability_sd, log_slope_sd, log_width_sd, common_width_sd, pair_sd, reply_sd : float
        SDs of the fit's priors and effects.
    cell_sd : float
        SD of all that a vote shares with others of its cell, on two replies without other votes.
    reliability : float
        Share of the variance of log discriminations that is known.
    fitted : bool
        Whether all this comes from a fit.
    overlap : Overlap
        Items that get several votes.
    """

    mean: FloatArray
    covariance: FloatArray
    judged: FloatArray
    room: FloatArray
    prompts: int
    slope: float
    half_width: float
    ability_sd: float
    log_slope_sd: float
    log_width_sd: float
    common_width_sd: float
    pair_sd: float
    cell_sd: float  # of all that a vote on two replies shares which met nobody else
    reply_sd: float
    reliability: float
    fitted: bool
    overlap: Overlap = _NONE


def forecast_inputs(state: CampaignState, priors: Priors) -> ForecastInputs:
    """Return the inputs of a state's forecast. Judgments in progress are still to come.

    Parameters
    ----------
    state : CampaignState
        Where the campaign stands.
    priors : Priors
        Prior SDs.

    Returns
    -------
    ForecastInputs
        The inputs.

    Raises
    ------
    InvalidRequest
        For fewer than two chatbots, or no prompts.
    """
    if len(state.chatbots) < 2:
        raise InvalidRequest("a comparison needs two chatbots", code="one_chatbot", hint="add a chatbot")
    if not state.prompts:
        raise InvalidRequest("there are no prompts to judge", code="no_prompts", hint="add prompts, or bring some back")
    posterior = state.posterior
    judged, room = (votes / state.overlap.judgments_each for votes in _votes(state, _classes(state, posterior)))
    if posterior is None:
        return _before(state, priors, judged, room)
    mean, covariance = abilities_of(state, posterior)
    scales, log_slope = posterior.scales, np.log(posterior.discrimination)
    doubt = np.mean((posterior.discrimination_se / posterior.discrimination) ** 2) / scales.log_discrimination**2
    widths = posterior.thresholds[:, posterior.thresholds.shape[1] // 2]
    return ForecastInputs(
        mean=mean,
        covariance=covariance,
        judged=judged,
        room=room,
        prompts=len(state.prompts),
        slope=float(np.exp(log_slope.mean())),
        half_width=float(np.median(widths)),
        ability_sd=priors.ability_sd / scales.unit,
        log_slope_sd=scales.log_discrimination,
        log_width_sd=scales.log_gap,
        common_width_sd=priors.common_log_gap_sd,
        pair_sd=scales.pair or 0.0,
        cell_sd=scales.fresh,
        reply_sd=scales.reply or 0.0,
        reliability=float(np.clip(1.0 - doubt, 0.0, MOST_KNOWN)),
        fitted=True,
        overlap=state.overlap,
    )


def _before(state: CampaignState, priors: Priors, judged: FloatArray, room: FloatArray) -> ForecastInputs:
    """Before the first fit the priors are all there is; ties are as wide as they typically are. In marginal logits, as
    the fits will be."""
    M, unit = len(state.chatbots), priors.unit
    return ForecastInputs(
        mean=np.zeros(M),
        covariance=(priors.ability_sd / unit) ** 2 * np.eye(M),
        judged=judged,
        room=room,
        prompts=len(state.prompts),
        slope=unit,
        half_width=float(np.exp(TYPICAL_LOG_GAPS["board vote"][0])) / unit,
        ability_sd=priors.ability_sd / unit,
        log_slope_sd=priors.log_discrimination_sd,
        log_width_sd=priors.log_gap_sd,
        common_width_sd=priors.common_log_gap_sd,
        pair_sd=priors.pair_sd / unit,
        cell_sd=priors.fresh,
        reply_sd=priors.reply_sd / unit,
        reliability=0.0,
        fitted=False,
        overlap=state.overlap,
    )


def open_votes(state: CampaignState) -> int:
    """Return the number of votes that may still come in, with those in progress.

    For items without votes, the overlap's share is used instead of its draw.

    Parameters
    ----------
    state : CampaignState
        Where the campaign stands.

    Returns
    -------
    int
        The number.
    """
    judged, room = _votes(state, _classes(state, None))
    return round(float((room - judged).sum()))


def _classes(state: CampaignState, posterior: Posterior | None) -> FloatArray:
    """(J, K) which part of a prompt lies in which class: J / K of them in each, by rising discrimination.

    Before a fit nobody knows, and every prompt lies evenly in all.
    """
    J = len(state.prompts)
    if posterior is None:
        return np.full((J, CLASSES), 1.0 / CLASSES)
    known = dict(zip(posterior.prompts, posterior.discrimination.tolist(), strict=True))
    typical = float(np.median(posterior.discrimination))
    order = np.argsort([known.get(name, typical) for name in state.prompts], kind="stable")
    left = np.empty(J)
    left[order] = np.arange(J) * CLASSES / J
    edges = np.arange(CLASSES)
    overlap = np.minimum(left[:, None] + CLASSES / J, edges + 1) - np.maximum(left[:, None], edges)
    share: FloatArray = np.maximum(overlap, 0.0) * (J / CLASSES)
    return share


def _votes(state: CampaignState, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(N, K) votes so far, and (N, K) the most there can be, of each pair on each class."""
    M, J = len(state.chatbots), len(state.prompts)
    N = M * (M - 1) // 2
    judged = np.zeros((N, share.shape[1]))
    np.add.at(judged, _pairs(state.judged, M), share[state.judged[:, 2]])
    each = state.votes_per_item + state.overlap.share * (state.most_votes - state.votes_per_item)
    in_use = np.ones(J, bool)
    in_use[state.retired] = False
    left = np.broadcast_to(each * share[in_use].sum(axis=0), judged.shape).copy()
    items, open_ = _begun(state)
    items, open_ = items[in_use[items % J]], open_[in_use[items % J]]
    np.subtract.at(left, items // J, (each - open_)[:, None] * share[items % J])
    if state.votes_per_pair is not None:
        most = np.maximum(state.votes_per_pair - judged.sum(axis=1), 0.0)
        total = left.sum(axis=1)
        left *= np.minimum(1.0, most / np.maximum(total, 1.0))[:, None]
    return judged, judged + np.maximum(left, 0.0)


def _begun(state: CampaignState) -> tuple[IntArray, IntArray]:
    """Items (pair times J plus prompt) that are judged or closed, and how many votes they may still get."""
    judged, closed = (item_numbers(state, items) for items in (state.judged, state.closed))
    items, index = np.unique(np.concatenate([judged, closed]), return_inverse=True)
    votes = np.bincount(index[: len(judged)], minlength=len(items))
    open_ = np.maximum(wanted_votes(state, items) - votes, 0)
    open_[index[len(judged) :]] = 0
    return items, open_


def wanted_votes(state: CampaignState, items: IntArray) -> IntArray:
    """Return the number of votes that each item should get.

    Parameters
    ----------
    state : CampaignState
        The state.
    items : ndarray of int, shape (n,)
        Numbers of the items.

    Returns
    -------
    ndarray of int, shape (n,)
        Votes.
    """
    low, high = (x.astype(np.int64) for x in np.triu_indices(len(state.chatbots), 1))
    pair, prompt = items // len(state.prompts), items % len(state.prompts)
    chosen = OverlapSample(state.overlap, state.chatbots, state.prompts).chosen(low[pair], high[pair], prompt)
    return np.where(chosen, state.most_votes, state.votes_per_item)


def item_numbers(state: CampaignState, items: IntArray) -> IntArray:
    """Return the numbers of items, pair by pair and prompt by prompt.

    Parameters
    ----------
    state : CampaignState
        The state.
    items : ndarray of int, shape (n, 3)
        Items (a, b, prompt).

    Returns
    -------
    ndarray of int, shape (n,)
        Numbers.
    """
    number: IntArray = _pairs(items, len(state.chatbots)) * len(state.prompts) + items[:, 2]
    return number


def _pairs(items: IntArray, chatbots: int) -> IntArray:
    """(n, 3) items -> (n,) numbers of their pairs, in the order of `numpy.triu_indices`."""
    a, b = items[:, 0], items[:, 1]
    number: IntArray = a * chatbots - a * (a + 1) // 2 + b - a - 1
    return number


def drawn_abilities(inputs: ForecastInputs, draws: int, rng: np.random.Generator) -> FloatArray:
    """Return centred abilities, drawn from the posterior or the prior.

    Before the first fit the unit is drawn too, because a board's unit depends on its prompts.

    Parameters
    ----------
    inputs : ForecastInputs
        Where the campaigns stand.
    draws : int
        Number of campaigns D.
    rng : Generator
        Source of random numbers.

    Returns
    -------
    ndarray of float, shape (D, M)
        Abilities.
    """
    values, vectors = np.linalg.eigh(inputs.covariance)
    spread = vectors * np.sqrt(np.maximum(values, 0.0))
    truth = inputs.mean + rng.standard_normal((draws, len(values))) @ spread.T
    truth -= truth.mean(axis=1, keepdims=True)
    unit = 0.0 if inputs.fitted else inputs.log_slope_sd / math.sqrt(inputs.prompts)
    scaled: FloatArray = truth * np.exp(unit * rng.standard_normal((draws, 1)))
    return scaled
