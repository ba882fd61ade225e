"""What a draft would take, asked by a page and worked out by the worker: an inquiry (core.inquiries).

This file loads no statistics: pages import it.
"""

from dataclasses import asdict, dataclass

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign, Entrant
from evalsite.core.errors import InvalidInput
from evalsite.core.inquiries import inquiry_ask
from evalsite.core.models import Inquiry

FORECAST = "forecast"
MOST_CHATBOTS, MOST_PROMPTS = 200, 100_000


@dataclass(frozen=True, slots=True)
class Idea:
    """A design in numbers. price: of a judgment; per_day: judgments a day; None: not known."""

    chatbots: int
    prompts: int
    votes_per_item: int
    target_se: float
    budget: int | None
    batch: int
    policy: str
    price: float | None
    per_day: int | None


def idea_of(campaign: Campaign, *, target_se: float | None, budget: int | None) -> Idea:
    """The campaign as it is set up, under these limits. Raises InvalidInput for what no forecast can be made of."""
    chatbots = campaign.entrants.filter(state=Entrant.State.ACTIVE).count()
    prompts = campaign.prompt_set.prompts.filter(corrected_by__isnull=True).count()
    if chatbots < 2 or prompts < 1:
        raise InvalidInput("A forecast needs two chatbots and a prompt.", hint="Add them in the steps before.")
    if chatbots > MOST_CHATBOTS or prompts > MOST_PROMPTS:
        raise InvalidInput(f"Forecasts are made for up to {MOST_CHATBOTS} chatbots and {MOST_PROMPTS:,} prompts.")
    if target_se is None:
        raise InvalidInput("A forecast needs a target.", hint="Give the standard error to reach.", field="target_se")
    return Idea(
        chatbots,
        prompts,
        campaign.votes_per_item,
        target_se,
        budget,
        campaign.batch_size,
        campaign.policy,
        float(campaign.pay_rate) or None,
        campaign.per_day,
    )


def forecast_ask(idea: Idea, *, by: User) -> Inquiry:
    """The same idea is worked out once. Raises TooMany for who asks about too many."""
    return inquiry_ask(kind=FORECAST, args=asdict(idea), by=by.public_id)
