"""Forecasts for a running campaign or a draft, with the design that its plans use."""

from evalsite.boards.selectors import snapshot_current
from evalsite.campaigns.models import Campaign
from evalsite.core.reasons import StoredReason, as_stored
from evalsite.judgments.selectors import judgments_spent
from evalsite.refits.designs import terms_of
from evalsite.refits.mapping import ENGINE, Planner
from irt_engine import Posterior
from scheduler import Forecast, SchedulerError, forecast, with_retired
from scheduler.forecasting.forecast import FORECASTABLE_POLICIES
from scheduler.reasons import Reason


def campaign_forecast(campaign: Campaign, *, per_day: float | None = None) -> Forecast:
    """Return remaining judgments, cost and days, each with an interval, in well under a second.

    The forecast starts from the newest snapshot. Before the first snapshot, it starts from priors on chatbots and
    prompts.

    per_day: expected judgments per day.

    Raises SchedulerError for a policy without a quick forecast, fewer than two chatbots, or no prompts.
    """
    planner = Planner(campaign)
    judgments = judgments_spent(campaign)
    state = planner.state(_posterior(campaign), judgments)
    state = with_retired(state, planner.design.retirement, planner.design.placement)
    terms = terms_of(campaign, planner.design, judgments=judgments, per_day=per_day)
    return forecast(state, terms, seed=campaign.seed)


def forecast_error(error: SchedulerError, policy: str) -> StoredReason:
    """Return why a campaign with this policy has no forecast."""
    reason = {
        "one_chatbot": Reason("forecast_needs_chatbots"),
        "no_prompts": Reason("forecast_needs_prompts"),
        "not_solvable": Reason("forecast_not_solvable"),
        "no_forecast": Reason(
            "forecast_without_policy", {"policy": repr(policy), "policies": ", ".join(sorted(FORECASTABLE_POLICIES))}
        ),
    }.get(error.code)
    return StoredReason(str(error)) if reason is None else as_stored(reason)


def _posterior(campaign: Campaign) -> Posterior | None:
    board = campaign.boards.filter(default_of=campaign).first()
    last = snapshot_current(board) if board is not None else None
    return Posterior.from_bytes(bytes(last.posterior)) if last is not None and last.engine == ENGINE else None
