"""Forecasts for drafts, requested by a page and computed by the worker as an inquiry (core.inquiries).

This module loads no statistics, because pages import it.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.campaigns.limits import Limits
from evalsite.campaigns.models import Campaign, Entrant, PlanSpec
from evalsite.campaigns.plans import PlanOptions
from evalsite.campaigns.services import plan_options
from evalsite.core.errors import InvalidInput
from evalsite.core.inquiries import inquiry_ask
from evalsite.core.models import Inquiry
from evalsite.core.number_format import whole

FORECAST = "forecast"
MOST_CHATBOTS, MOST_PROMPTS = 200, 100_000


@dataclass(frozen=True, slots=True)
class DraftDesign:
    """A design in numbers.

    price: of a judgment; None if unknown.
    per_day: judgments per day; None if unknown.
    budget: the campaign's own, or the judgments before its deadline at that pace.
    plan: `PlanOptions`; its newcomer is an index into the chatbots.
    """

    chatbots: int
    prompts: int
    votes_per_item: int
    target_se: float | None
    min_difference: float | None
    alpha: float
    power: float
    budget: int | None
    batch: int
    policy: str
    price: float | None
    per_day: int | None
    plan: Mapping[str, Any]


def draft_design(campaign: Campaign, limits: Limits, plan: PlanOptions | None = None) -> DraftDesign:
    """Return the design of the campaign under these limits, with its own plan or another one.

    Raises InvalidInput if no forecast is possible.
    """
    entrants = list(campaign.entrants.filter(state=Entrant.State.ACTIVE).order_by("pk").values_list("pk", flat=True))
    prompts = campaign.prompt_set.prompts.filter(corrected_by__isnull=True).count()
    if len(entrants) < 2 or prompts < 1:
        raise InvalidInput(_("A forecast needs two chatbots and a prompt."), hint=_("Add them in the steps before."))
    if len(entrants) > MOST_CHATBOTS or prompts > MOST_PROMPTS:
        raise InvalidInput(
            _("Forecasts are made for up to %(chatbots)s chatbots and %(prompts)s prompts.")
            % {"chatbots": MOST_CHATBOTS, "prompts": whole(MOST_PROMPTS)}
        )
    options = plan or plan_options(campaign)
    newcomer = entrants.index(options.newcomer) if options.newcomer in entrants else None
    # A withdrawn newcomer is not placed; the campaign ranks the others.
    if newcomer is None and options.newcomer is not None:
        options = replace(options, target=PlanSpec.Target.AIM, newcomer=None)
    return DraftDesign(
        chatbots=len(entrants),
        prompts=prompts,
        votes_per_item=campaign.votes_per_item,
        target_se=limits.target_se,
        min_difference=limits.min_difference,
        alpha=limits.alpha,
        power=limits.power,
        budget=_budget(limits, campaign.per_day),
        batch=campaign.batch_size,
        policy=campaign.policy,
        price=float(campaign.judgment_price) or None,
        per_day=campaign.per_day,
        plan={**asdict(options), "newcomer": newcomer},
    )


def _budget(limits: Limits, per_day: int | None) -> int | None:
    """Return the budget, or the judgments before the deadline.

    Whole days are used, so that repeated requests have the same inquiry.
    """
    if limits.deadline is None or per_day is None:
        return limits.budget
    by_then = max((limits.deadline - timezone.now()).days, 0) * per_day
    return by_then if limits.budget is None else min(limits.budget, by_then)


def forecast_ask(campaign: Campaign, idea: DraftDesign, *, by: User) -> Inquiry:
    """Request a forecast. The same design of a campaign is computed once.

    Raises TooMany for too many requests.
    """
    return inquiry_ask(kind=FORECAST, args=asdict(idea), by=by.public_id, subject=campaign.public_id)
