"""The worker's jobs of exchange: forecasts for drafts, and uploaded vote files."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from evalsite.campaigns.limits import Limits
from evalsite.campaigns.plans import PlanOptions
from evalsite.core import inquiries
from evalsite.core.errors import InvalidInput
from evalsite.exchange.draft_forecasts import FORECAST, DraftDesign
from evalsite.exchange.vote_uploads import READ, TAKE


@inquiries.answers(FORECAST)
def forecast(args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return judgments, money and days for a design, with its own plan options and limits."""
    # Imported here: every process registers this, and only the worker should pay for numpy and scipy.
    from evalsite.exchange.campaign_planning import PlannedCampaign, plan_campaign
    from evalsite.refits.designs import design_of, goal_of, overlap_of
    from evalsite.refits.forecasts import forecast_error
    from scheduler import SchedulerError
    from scheduler.forecasting.forecast import FORECASTABLE_POLICIES, ForecastTerms
    from scheduler.reasons import Reason

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
        made = plan_campaign(of, terms)
    except SchedulerError as error:
        why = forecast_error(error, idea.policy)
        rest = why.text if why.data is None else Reason.from_json(why.data)
        raise InvalidInput(f"No forecast: {error}", reason=Reason("no_forecast", {"rest": rest})) from error
    return {**asdict(made), "advice": made.advice_texts, "advice_data": [one.as_json() for one in made.advice]}


@inquiries.answers(READ)
def uploaded_votes_read(args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what is in an uploaded vote file, or its fault."""
    from evalsite.exchange.vote_upload_answers import votes_read

    return votes_read(args)


@inquiries.answers(TAKE)
def uploaded_votes_take(args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Import an uploaded vote file."""
    from evalsite.exchange.vote_upload_answers import votes_take

    return votes_take(args)
