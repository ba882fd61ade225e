"""What the worker does for the exchange room."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from evalsite.core import inquiries
from evalsite.core.errors import InvalidInput
from evalsite.exchange.forecasting import FORECAST, Idea


@inquiries.answers(FORECAST)
def forecast(args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Judgments, money and days of a campaign that is only an idea; as `manage.py plan_campaign` tells."""
    # Imported here: every process registers this, and only the worker should pay for numpy and scipy.
    from evalsite.exchange.planning import Campaign, plan_campaign
    from scheduler import SchedulerError
    from scheduler.forecasting import QUICK, Terms
    from scheduler.goals import AllAbilities

    idea = Idea(**args)
    try:
        terms = Terms(
            AllAbilities(idea.target_se),
            budget=idea.budget,
            policy=idea.policy if idea.policy in QUICK else "adaptive",
            batch=idea.batch,
            price=idea.price,
            per_day=idea.per_day,
        )
        return asdict(plan_campaign(Campaign(idea.chatbots, idea.prompts, idea.votes_per_item), terms))
    except SchedulerError as error:
        raise InvalidInput(f"No forecast: {error}") from error
