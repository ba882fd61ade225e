"""Forecast how many judgments a campaign will take, what they cost, and how many days they last.

It follows the expected information of judgments (`expected_precision`), in well under a second for most designs and in
two to four seconds for 200 chatbots, and gives the range in which four of five such campaigns end. `simulation` answers
the same by running whole campaigns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray, check_fields
from irt_engine.models.priors import Priors
from scheduler.errors import InvalidRequest, NotSolvable, is_count
from scheduler.estimator import CAMPAIGN_PRIORS
from scheduler.forecasting.allocation import AdaptiveAllocation, EvenAllocation, LeastCertainAllocation
from scheduler.forecasting.course import Allocation, course, final_shortfall
from scheduler.forecasting.goals import ForecastGoal
from scheduler.forecasting.inputs import forecast_inputs, open_votes
from scheduler.policies.design import DEFAULT_DESIGN, AdaptiveDesign
from scheduler.state import CampaignState

MOST_PRICE, LEAST_PER_DAY = 1e9, 1e-6  # beyond, costs and days are no numbers any more
_TAIL = 0.1  # of a range's probability on either side
# The policies whose course can be forecast, and how they spread votes.
FORECASTABLE_POLICIES: Mapping[str, Callable[[AdaptiveDesign], Allocation]] = MappingProxyType(
    {
        "adaptive": AdaptiveAllocation,
        "balanced": lambda design: EvenAllocation(),
        "least_certain": lambda design: LeastCertainAllocation(),
        "random": lambda design: EvenAllocation(),
    }
)


@dataclass(frozen=True, slots=True)
class ForecastTerms:
    """What a campaign wants, how it asks, and what asking costs.

    Parameters
    ----------
    goal : ForecastGoal
        When enough is known.
    budget : int or None
        Judgments at the most, those that are in among them; None for as many as there are items.
    policy : str
        A name in `FORECASTABLE_POLICIES`.
    design : AdaptiveDesign or None
        Design of the adaptive policy; None for the default one with the goal's target.
    batch : int
        Judgments after which the campaign is fitted again, and may stop.
    price : float or None
        Price of a judgment.
    per_day : float or None
        Judgments per day.
    priors : Priors
        What is known of chatbots and prompts before the first judgment.

    Raises
    ------
    InvalidRequest
        For values out of range.
    """

    goal: ForecastGoal
    budget: int | None = None
    policy: str = "adaptive"
    design: AdaptiveDesign | None = None
    batch: int = 100
    price: float | None = None
    per_day: float | None = None
    priors: Priors = CAMPAIGN_PRIORS

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        if not ((self.budget is None or is_count(self.budget)) and is_count(self.batch, least=1)):
            raise InvalidRequest(
                f"budget {self.budget}, batch {self.batch}",
                code="bad_budget",
                hint="the budget is a whole number of 0 or more judgments, a batch of at least 1",
            )
        if self.price is not None and not 0.0 <= self.price <= MOST_PRICE:
            raise InvalidRequest(
                f"price {self.price}",
                code="bad_price",
                hint=f"give 0 or more for a judgment, at most {MOST_PRICE:,.0f}",
            )
        if self.per_day is not None and not LEAST_PER_DAY <= self.per_day < math.inf:
            raise InvalidRequest(
                f"{self.per_day} judgments a day",
                code="bad_pace",
                hint=f"give a positive number, at least {LEAST_PER_DAY:f}",
            )

    @property
    def wanted(self) -> AdaptiveDesign:
        """Return the design of the plans."""
        return self.design or replace(DEFAULT_DESIGN, target=self.goal.target)


@dataclass(frozen=True, slots=True)
class Range:
    """Store quantiles over campaigns.

    Parameters
    ----------
    low, middle, high : float
        The 10 %, 50 % and 90 % quantiles.
    """

    low: float
    middle: float
    high: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a campaign will take from here.

    Parameters
    ----------
    judgments, cost, days : Range
        Until the campaign stops, because the goal is reached or nothing may be asked any more. Cost and days are None
        without a price or a pace.
    reached : float
        Probability that the goal is reached.
    reachable : Range or None
        Where the campaigns that miss the goal end, in the goal's `unit`; None where none misses it.
    most : int
        Judgments that may still be asked.
    campaigns : int
        Number of campaigns behind the forecast.
    """

    judgments: Range
    cost: Range | None
    days: Range | None
    reached: float
    reachable: Range | None
    most: int
    campaigns: int


def unjudged_state(chatbots: int, prompts: int, *, votes_per_item: int = 1) -> CampaignState:
    """Return the state of a planned campaign before the first judgment.

    Parameters
    ----------
    chatbots, prompts : int
        Numbers of chatbots and prompts.
    votes_per_item : int
        Votes per item, at least 1.

    Returns
    -------
    CampaignState
        The state.

    Raises
    ------
    InvalidRequest
        For negative numbers.
    InvalidState
        For votes_per_item below 1.
    """
    if chatbots < 0 or prompts < 0:
        raise InvalidRequest(f"{chatbots} chatbots, {prompts} prompts", code="bad_count", hint="give 0 or more")
    return CampaignState(
        tuple(f"chatbot {m}" for m in range(chatbots)),
        tuple(f"prompt {j}" for j in range(prompts)),
        votes_per_item=votes_per_item,
    )


@contextmanager
def _solvable() -> Iterator[None]:
    """Whoever asks for a forecast is told in a sentence, as of all else that none can be made of."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise NotSolvable(
            "the numbers of this campaign are too large or too far apart to be worked out",
            code="not_solvable",
            hint="ask for fewer votes of an item, or set a budget",
        ) from error


@_solvable()
def forecast(state: CampaignState, terms: ForecastTerms, *, seed: int = 0) -> Forecast:
    """Forecast a campaign, before the first judgment (`unjudged_state`) or at any later time.

    The range is over campaigns: abilities, chance in the votes, and the estimates of the fits. Judgments in flight
    count as still to come.

    Parameters
    ----------
    state : CampaignState
        Where the campaign stands.
    terms : ForecastTerms
        What it wants, and its costs.
    seed : int
        Seed, 0 or more. Equal arguments give equal answers.

    Returns
    -------
    Forecast

    Raises
    ------
    InvalidRequest
        For one chatbot, no prompts, a policy outside `FORECASTABLE_POLICIES` (use `simulate`), or a negative seed.
    NotSolvable
        Where floats cannot represent the result.
    """
    if terms.policy not in FORECASTABLE_POLICIES:
        raise InvalidRequest(
            f"policy {terms.policy!r} has no quick forecast",
            code="no_forecast",
            hint=f"simulate it, or use one of {', '.join(sorted(FORECASTABLE_POLICIES))}",
        )
    _check_seed(seed)
    inputs, most = forecast_inputs(state, terms.priors), most_of(state, terms)
    begun = len(state.judged)
    policy = FORECASTABLE_POLICIES[terms.policy](terms.wanted)
    found = course(inputs, terms.goal.shortfall, policy, most=begun + most, batch=terms.batch, seed=seed)
    taken = found.reached_at() - begun
    last = terms.goal.measure(found.estimate, found.covariance)
    # A batch of which the campaign takes next to nothing is one batch all the same.
    batches = np.where(taken > 0.0, np.maximum(1.0, np.ceil(taken / terms.batch - 1e-9)), 0.0)
    return summary(batches * terms.batch, np.isfinite(taken), last, most, terms)


@_solvable()
def attainable(state: CampaignState, terms: ForecastTerms, *, seed: int = 0) -> float:
    """Return the share of campaigns that meet the goal after all possible judgments.

    It is about `Forecast.reached` without a budget, in a tenth of the time, because no campaign is followed. It omits
    campaigns that meet the goal on the way and not at the end: at most 2 in 100 for 4 and 12 chatbots, and 0 to 2 in 16
    for 46 and 100 chatbots.

    Parameters
    ----------
    state : CampaignState
        Where the campaign stands.
    terms : ForecastTerms
        Goal, policy and limits.
    seed : int
        Seed of the campaigns.

    Returns
    -------
    float
        The share.

    Raises
    ------
    InvalidRequest
        For one chatbot, no prompts, or a negative seed.
    NotSolvable
        If floats cannot represent the result.
    """
    _check_seed(seed)
    inputs = forecast_inputs(state, terms.priors)
    return float(np.mean(final_shortfall(inputs, terms.goal.shortfall, seed=seed) <= 1.0))


def _check_seed(seed: int) -> None:
    if seed < 0:
        raise InvalidRequest(f"seed {seed}", code="bad_seed", hint="give 0 or more")


def summary(stopped: FloatArray, reached: BoolArray, last: FloatArray, most: int, terms: ForecastTerms) -> Forecast:
    """Return the forecast of campaigns.

    Parameters
    ----------
    stopped : ndarray of float, shape (C,)
        Judgments until each campaign stopped.
    reached : ndarray of bool, shape (C,)
        Whether it reached the goal.
    last : ndarray of float, shape (C,)
        Its last measure.
    most : int
        Judgments that may still be asked.
    terms : ForecastTerms
        Price and pace.

    Returns
    -------
    Forecast
        The forecast.
    """
    judgments = _whole(_range(np.minimum(stopped, most)))
    return Forecast(
        judgments=judgments,
        cost=None if terms.price is None else _times(judgments, terms.price),
        days=None if terms.per_day is None else _times(judgments, 1.0 / terms.per_day),
        reached=float(np.mean(reached)),
        reachable=None if np.all(reached) else _range(last[~reached]),
        most=most,
        campaigns=len(stopped),
    )


def most_of(state: CampaignState, terms: ForecastTerms) -> int:
    """Return the number of judgments that may still be asked, by open and pending items and by the budget.

    Parameters
    ----------
    state : CampaignState
        Where the campaign stands.
    terms : ForecastTerms
        The budget.

    Returns
    -------
    int
        The number.
    """
    left = open_votes(state)
    return left if terms.budget is None else max(0, min(left, terms.budget - state.judgments))


def _range(values: FloatArray) -> Range:
    """Quantiles of the mid-distribution (Ma, Genton & Parzen 2011), at plotting positions rank / (C + 1), so that few
    campaigns do not make a range narrow. Campaigns stop at whole batches: of those that stop at the same, half lie on
    either side, or else ranges in steps of large batches would hold nearly all campaigns."""
    value, count = np.unique(values, return_counts=True)
    rank = np.cumsum(count) - 0.5 * (count - 1.0)
    low, middle, high = np.interp([_TAIL, 0.5, 1.0 - _TAIL], rank / (len(values) + 1.0), value)
    return Range(float(low), float(middle), float(high))


def _whole(values: Range) -> Range:
    """There are no half judgments."""
    return Range(math.floor(values.low), round(values.middle), math.ceil(values.high))


def _times(judgments: Range, each: float) -> Range:
    return Range(judgments.low * each, judgments.middle * each, judgments.high * each)
