"""Simulate whole campaigns: draw votes from a truth, plan, fit, and ask the stopping rules, until they stop.

This takes seconds to minutes per campaign. Before the first judgment a truth is drawn from the priors. Later it is
drawn from the posterior, and the votes that are in stay as they are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from irt_engine import EngineWarning, ResponseTable
from irt_engine.arrays import IntArray
from irt_engine.models.comparison_graph import centred
from irt_engine.simulate import all_cells, draw_votes
from irt_engine.truth import Truth, draw_truth
from scheduler.belief import abilities_of
from scheduler.errors import InvalidRequest
from scheduler.forecasting.forecast import Forecast, ForecastTerms, most_of, summary
from scheduler.forecasting.goals import AllAbilities, ForecastGoal, Neighbours
from scheduler.forecasting.inputs import forecast_inputs, item_numbers, wanted_votes
from scheduler.reasons import Reason
from scheduler.replay import ReplayLoop
from scheduler.state import CampaignState, StoppingDecision
from scheduler.stopping.precision import TargetSE
from scheduler.stopping.rules import StoppingRule

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class SimulatedCampaign:
    """Store the result of a simulated campaign.

    Parameters
    ----------
    judgments : int
        Further judgments.
    reached : bool
        Whether the goal was reached.
    measure : float
        The goal's measure at the end.
    """

    judgments: int
    reached: bool
    measure: float


@dataclass(frozen=True, slots=True)
class GoalReachedRule:
    """Stop at a forecast's goal.

    Parameters
    ----------
    goal : ForecastGoal
        The goal.
    """

    goal: ForecastGoal
    order: ClassVar[int] = 1

    def decide(self, state: CampaignState) -> StoppingDecision:
        """Return whether the goal is reached."""
        posterior = state.posterior
        if posterior is None:
            return StoppingDecision(False, Reason("no_fit"), {})
        mean, covariance = abilities_of(state, posterior)  # separate parts of the board lie anywhere
        mean, covariance = (x[None] for x in centred(mean, covariance, np.ones(len(mean), np.int64)))
        value = float(self.goal.measure(mean, covariance)[0])
        met = bool(self.goal.shortfall(mean, covariance)[0] <= 1.0)
        reason = Reason("goal_measure", {"measure": self.goal.unit, "value": value})
        return StoppingDecision(met, reason, {"measure": value})


def simulate(
    state: CampaignState,
    terms: ForecastTerms,
    *,
    campaigns: int = 40,
    votes: ResponseTable | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Forecast:
    """Return the forecast of simulated campaigns.

    Parameters
    ----------
    state : CampaignState
        Where the campaign stands.
    terms : ForecastTerms
        What it wants, and its costs.
    campaigns : int
        How many to simulate, at least 1.
    votes : ResponseTable, optional
        The votes by which the state's posterior was fitted.
    seed : int
        Seed, 0 or more. Equal arguments give equal answers.
    progress : callable, optional
        Called with the number of finished campaigns and `campaigns`.

    Returns
    -------
    Forecast

    Raises
    ------
    InvalidRequest
        As `forecast`, and for fewer than one campaign, or a posterior without its votes.
    EngineError
        Where a fit has no answer.
    """
    if campaigns < 1 or seed < 0:
        raise InvalidRequest(
            f"{campaigns} campaigns, seed {seed}", code="bad_count", hint="simulate at least one, from seed 0 or above"
        )
    found = []
    for number in range(campaigns):
        found.append(run(state, terms, votes=votes, seed=seed * 1_000_003 + number))
        if progress is not None:
            progress(number + 1, campaigns)
    return summary(
        np.array([one.judgments for one in found], np.float64),
        np.array([one.reached for one in found]),
        np.array([one.measure for one in found]),
        most_of(state, terms),
        terms,
    )


def run(
    state: CampaignState, terms: ForecastTerms, *, votes: ResponseTable | None = None, seed: int
) -> SimulatedCampaign:
    """Simulate one campaign to its stop.

    Parameters
    ----------
    state : CampaignState
        Where the campaign stands.
    terms : ForecastTerms
        Goal, policy and limits.
    votes : ResponseTable, optional
        The votes so far.
    seed : int
        Seed of the simulation.

    Returns
    -------
    SimulatedCampaign
        The result.

    Raises
    ------
    InvalidRequest
        As `simulate`.
    """
    forecast_inputs(state, terms.priors)
    if (state.posterior is not None or len(state.judged)) and (votes is None or len(votes) != len(state.judged)):
        raise InvalidRequest(
            f"{len(state.judged)} judgments without their votes",
            code="no_votes",
            hint="give the votes behind the state",
        )
    if votes is not None and not (
        set(votes.chatbots) <= set(state.chatbots) and set(votes.prompts) <= set(state.prompts)
    ):
        raise InvalidRequest(
            "the votes are on chatbots or prompts that the state does not have",
            code="other_votes",
            hint="give the votes behind the state",
        )
    if most_of(state, terms) == 0:
        return _finished(state, terms, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EngineWarning)
        loop = _loop(state, terms, votes, seed)
        return _to_the_stop(loop, state, terms)


def _to_the_stop(loop: ReplayLoop, state: CampaignState, terms: ForecastTerms) -> SimulatedCampaign:
    begun, most = len(loop.used), most_of(state, terms)
    rule = stopping_rule_of(terms.goal)
    while not rule.decide(loop.state()).stop and len(loop.used) < begun + most:
        if not loop.collect(min(terms.batch, begun + most - len(loop.used))):
            break
        loop.refit()
    return _finished(loop.state(), terms, len(loop.used) - begun)


def _finished(state: CampaignState, terms: ForecastTerms, judgments: int) -> SimulatedCampaign:
    """A campaign that has come to this state by so many judgments, and asks no more."""
    known = forecast_inputs(state, terms.priors)
    ability, covariance = centred(known.mean, known.covariance, np.ones(len(known.mean), np.int64))
    measure = float(terms.goal.measure(ability[None], covariance[None])[0])
    return SimulatedCampaign(judgments, stopping_rule_of(terms.goal).decide(state).stop, measure)


def stopping_rule_of(goal: ForecastGoal) -> StoppingRule:
    """Return the rule that stops a campaign with a goal.

    Parameters
    ----------
    goal : ForecastGoal
        The goal.

    Returns
    -------
    StoppingRule
        The rule.
    """
    match goal:
        case AllAbilities(se):
            return TargetSE(se)
        case Neighbours(se):
            return TargetSE(se, over="neighbours")
    return GoalReachedRule(goal)


def _loop(state: CampaignState, terms: ForecastTerms, votes: ResponseTable | None, seed: int) -> ReplayLoop:
    """The votes that are in, used, and those to come, drawn for every open item from a truth of this campaign's own."""
    of_truth, of_votes, of_plans = (int(x) for x in np.random.default_rng(seed).integers(2**31, size=3))
    truth = _truth(state, terms, of_truth)
    cells, times = _open_items(state)
    drawn = draw_votes(truth, cells, seed=of_votes, votes=times)
    columns = {name: getattr(drawn, name) for name in _COLUMNS}
    if votes is not None:
        past = _renumbered(votes, state)
        columns = {name: np.concatenate([past[name], columns[name]]) for name in _COLUMNS}
    table = ResponseTable(state.chatbots, state.prompts, (), **columns)
    return ReplayLoop(table, terms.policy, of_plans, terms.wanted, begun=state)


_COLUMNS = ("a", "b", "prompt", "outcome", "annotator", "a_first", "label")


def _truth(state: CampaignState, terms: ForecastTerms, seed: int) -> Truth:
    """Parameters of a campaign: from the priors, or from what the posterior says of abilities, prompts and scales."""
    priors, posterior = terms.priors, state.posterior
    scales = (priors.pair_sd, priors.cell_sd, priors.reply_sd)
    if posterior is not None:
        of = posterior.scales
        scales = (of.pair or 0.0, of.cell or 0.0, of.reply or 0.0)
    sizes = len(state.chatbots), len(state.prompts)
    pair, cell, reply = scales
    truth = draw_truth(*sizes, seed=seed, form="vote", priors=priors, pair_sd=pair, cell_sd=cell, reply_sd=reply)
    if posterior is None:
        return truth
    unit = posterior.scales.unit
    rng = np.random.default_rng([seed, 1])
    mean, covariance = abilities_of(state, posterior)
    values, vectors = np.linalg.eigh(covariance)
    ability = mean + vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.standard_normal(len(values)))
    slope, thresholds = truth.discrimination * unit, truth.thresholds / unit
    where = {name: j for j, name in enumerate(state.prompts)}
    here, there = (
        np.array(x, np.int64)
        for x in zip(*((where[name], j) for j, name in enumerate(posterior.prompts) if name in where), strict=True)
    )
    spread = posterior.discrimination_se[there] / posterior.discrimination[there]
    slope[here] = posterior.discrimination[there] * np.exp(spread * rng.standard_normal(len(here)))
    half = posterior.thresholds.shape[1] // 2
    thresholds[here] = posterior.thresholds[there, half, None] * np.array([-1.0, 1.0])
    return replace(truth, ability=ability, discrimination=slope, thresholds=thresholds)


def _open_items(state: CampaignState) -> tuple[IntArray, IntArray]:
    """(n, 3) items that may still be judged, and how many times each, (n,)."""
    cells = all_cells(len(state.chatbots), len(state.prompts))
    left = wanted_votes(state, np.arange(len(cells)))
    np.subtract.at(left, item_numbers(state, state.judged), 1)
    left[item_numbers(state, state.closed)] = 0
    left[np.isin(cells[:, 2], state.retired)] = 0
    return cells[left > 0], left[left > 0]


def _renumbered(votes: ResponseTable, state: CampaignState) -> dict[str, IntArray]:
    """The columns of votes that are in, by the state's chatbots and prompts; without labels."""
    chatbot, prompt = ({name: i for i, name in enumerate(names)} for names in (state.chatbots, state.prompts))
    columns = {name: getattr(votes, name) for name in _COLUMNS}
    for column, names, number in (
        ("a", votes.chatbots, chatbot),
        ("b", votes.chatbots, chatbot),
        ("prompt", votes.prompts, prompt),
    ):
        columns[column] = np.array([number[name] for name in names], np.int64)[columns[column]]
    columns["label"] = np.zeros_like(columns["label"])
    return columns
