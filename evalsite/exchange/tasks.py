"""The worker's job of exchange: forecasts for drafts."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from evalsite.campaigns.limits import Limits
from evalsite.campaigns.plans import PlanOptions
from evalsite.core import inquiries
from evalsite.core.errors import InvalidInput
from evalsite.exchange.draft_forecasts import FORECAST, DraftDesign


@inquiries.answers(FORECAST)
def forecast(args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return judgments, money and days for a design, with its own plan options and limits."""
    # Imported here: every process registers this, and only the worker should pay for numpy and scipy.
    from evalsite.exchange.campaign_planning import PlannedCampaign, plan_campaign
    from evalsite.refits.designs import design_of, goal_of, overlap_of
    from scheduler import SchedulerError
    from scheduler.forecasting.forecast import FORECASTABLE_POLICIES, ForecastTerms

    idea = DraftDesign(**args)
    limits = Limits(idea.target_se, idea.min_difference, idea.alpha, idea.power)
    options = PlanOptions(**idea.plan)
    try:
        terms = ForecastTerms(
            goal_of(limits),
            budget=idea.budget,
            policy=idea.policy if idea.policy in FORECASTABLE_POLICIES else "adaptive",
            design=design_of(options, limits, range(idea.chatbots)),
            batch=idea.batch,
            price=idea.price,
            per_day=idea.per_day,
        )
        overlap = overlap_of(options, seed=0)
        of = PlannedCampaign(idea.chatbots, idea.prompts, idea.votes_per_item, options.votes_per_pair, overlap)
        return asdict(plan_campaign(of, terms))
    except SchedulerError as error:
        raise InvalidInput(f"No forecast: {error}") from error
