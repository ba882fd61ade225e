"""Planning of a campaign from numbers: its cost, adaptive and non-adaptive, and advice."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace

from evalsite.core.reasons import TEMPLATES
from scheduler.campaign_simulation import simulate
from scheduler.forecasting.forecast import Forecast, ForecastTerms, attainable, forecast, unjudged_state
from scheduler.forecasting.goals import AllAbilities, ForecastGoal, Neighbours, Separated
from scheduler.overlap import Overlap
from scheduler.reasons import Reason
from scheduler.state import CampaignState

Progress = Callable[[int, int], None]

_WITHOUT_CHOICE = "random"  # The non-adaptive design for comparison.
_SURE = 0.9  # Below this share of successful campaigns, the plan gives advice.
MOST_PROMPTS = 1_000_000
_RANGE_OF: Mapping[type, str] = {  # goal -> the sentence about what is reachable
    AllAbilities: "largest_se_range",
    Neighbours: "neighbour_se_range",
    Separated: "separated_range",
}


@dataclass(frozen=True, slots=True)
class PlannedCampaign:
    """A planned campaign, with at most `votes_per_item` votes of every pair on every prompt.

    votes_per_pair: maximum votes of a pair on all prompts together; None: no limit.
    overlap: the items that get more votes than that.
    """

    chatbots: int
    prompts: int
    votes_per_item: int = 1
    votes_per_pair: int | None = None
    overlap: Overlap = field(default_factory=Overlap)

    def forecast(self, terms: ForecastTerms, seed: int) -> Forecast:
        """Return the forecast.

        Raises SchedulerError.
        """
        return forecast(self.state, terms, seed=seed)

    def attainable(self, terms: ForecastTerms, seed: int) -> float:
        """Return the share of campaigns that reach their goal without a budget.

        Raises SchedulerError.
        """
        return attainable(self.state, terms, seed=seed)

    def times(self, times: int) -> PlannedCampaign:
        """Return the same campaign with a multiple of its prompts."""
        return replace(self, prompts=self.prompts * times)

    @property
    def state(self) -> CampaignState:
        """Return the initial state, without judgments."""
        state = unjudged_state(self.chatbots, self.prompts, votes_per_item=self.votes_per_item)
        if (self.votes_per_pair, self.overlap) == (state.votes_per_pair, state.overlap):
            return state  # a copy would check the names of up to a million prompts again
        return replace(state, votes_per_pair=self.votes_per_pair, overlap=self.overlap)


@dataclass(frozen=True, slots=True)
class ForecastRow:
    """A forecast under one policy.

    simulated: True if it comes from complete campaigns instead of the expected information.
    """

    policy: str
    simulated: bool
    forecast: Forecast


@dataclass(frozen=True, slots=True)
class CampaignPlan:
    """The result of `plan_campaign`; the field names are those of its JSON.

    Ranges hold four of five campaigns. saves is the share of judgments that the adaptive policy saves against random,
    by the medians. A negative share means that it takes more.
    """

    chatbots: int
    prompts: int
    votes_per_item: int
    goal: str
    target: float
    budget: int | None
    forecasts: tuple[ForecastRow, ...]
    saves: float
    advice: tuple[Reason, ...]

    @property
    def advice_texts(self) -> list[str]:
        """The advice in English."""
        return [one.text(TEMPLATES) for one in self.advice]


def plan_campaign(
    campaign: PlannedCampaign,
    terms: ForecastTerms,
    *,
    simulated: int = 0,
    seed: int = 0,
    progress: Progress | None = None,
) -> CampaignPlan:
    """Forecast the campaign's policy and a non-adaptive design, and optionally simulate complete campaigns.

    simulated: number of campaigns to simulate.

    Raises SchedulerError. Raises EngineError if a simulated campaign cannot be fitted.
    """
    policies = list(dict.fromkeys([terms.policy, _WITHOUT_CHOICE]))
    rows = [ForecastRow(name, False, campaign.forecast(replace(terms, policy=name), seed)) for name in policies]
    if simulated:
        found = simulate(campaign.state, terms, campaigns=simulated, seed=seed, progress=progress)
        rows.insert(1, ForecastRow(terms.policy, True, found))
    chosen, spread = rows[0].forecast.judgments.middle, rows[-1].forecast.judgments.middle
    return CampaignPlan(
        chatbots=campaign.chatbots,
        prompts=campaign.prompts,
        votes_per_item=campaign.votes_per_item,
        goal=terms.goal.unit,
        target=_target(terms.goal),
        budget=terms.budget,
        forecasts=tuple(rows),
        saves=1.0 - chosen / spread if spread else 0.0,
        advice=tuple(_advice(campaign, terms, rows[0].forecast, seed)),
    )


def _target(goal: ForecastGoal) -> float:
    match goal:
        case AllAbilities(se) | Neighbours(se):
            return se
        case Separated(share):
            return share
    raise TypeError(goal)


def _advice(campaign: PlannedCampaign, terms: ForecastTerms, found: Forecast, seed: int) -> Iterator[Reason]:
    """Yield advice on a goal that campaigns may miss."""
    if found.reached >= _SURE or found.reachable is None:
        return
    reached = Reason(_RANGE_OF[type(terms.goal)], asdict(found.reachable))
    missed: dict[str, str | int | float | Reason] = {"judgments": found.most, "rest": reached}
    if found.reached == 0.0:
        yield Reason("goal_never_reached", missed)
    else:
        yield Reason("goal_often_missed", {"share": 100.0 * (1.0 - found.reached), **missed})
    if terms.budget is not None and campaign.attainable(terms, seed) >= _SURE:
        open_ended = campaign.forecast(replace(terms, budget=None), seed)
        yield Reason("budget_advised", {"judgments": round(open_ended.judgments.high)})
        return
    more = [
        2**doubled for doubled in range(1, MOST_PROMPTS.bit_length()) if campaign.prompts << doubled <= MOST_PROMPTS
    ]
    enough = bisect_left(more, True, key=lambda times: campaign.times(times).attainable(terms, seed) >= _SURE)
    if enough == len(more):
        yield Reason("prompts_do_not_help")
        return
    code = "prompts_advised" if terms.budget is None else "prompts_and_no_budget_advised"
    yield Reason(code, {"prompts": campaign.times(more[enough]).prompts})
