"""What calls of live chatbots for a campaign cost: the replies to its prompts, of all endpoints together."""

from dataclasses import dataclass
from decimal import Decimal

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.endpoints.budgets import budget_cap_set, budget_create
from evalsite.endpoints.models import CallBudget
from evalsite.endpoints.money import finds_budget
from evalsite.prompts.models import PromptSet


@dataclass(frozen=True, slots=True)
class CallCost:
    """Cost of calls for a campaign in the currency of its cap. `reached`: the cap is used up."""

    currency: str
    spent: Decimal
    cap: Decimal

    @property
    def reached(self) -> bool:
        return self.spent >= self.cap


@finds_budget
def budget_of_campaign(prompt_set: PromptSet) -> CallBudget | None:
    """Return the budget of the newest campaign with these prompts that has one."""
    campaigns = Campaign.objects.filter(prompt_set=prompt_set, call_budget__isnull=False)
    newest = campaigns.select_related("call_budget").order_by("-pk").first()
    return newest.call_budget if newest else None


def call_cost(campaign: Campaign) -> CallCost | None:
    """Return what calls for the campaign have cost, with its cap; None without a cap."""
    budget = CallBudget.objects.filter(campaign=campaign, cap__isnull=False).first()
    return CallCost(budget.currency, budget.spent, budget.cap) if budget and budget.cap else None


def call_cap_set(*, campaign: Campaign, cap: Decimal | None, by: User | None = None) -> None:
    """Limit what calls to collect replies to the campaign's prompts may cost, in its currency. None removes the cap.

    At the cap no new call begins, and calls in progress end. Raises InvalidInput for a cap that is not more than 0,
    and Conflict for an endpoint at work without prices in the currency of the cap.
    """
    with write_transaction():
        locked = Campaign.objects.select_for_update(no_key=True).select_related(None).get(pk=campaign.pk)
        if locked.call_budget is None:
            if cap is None:
                return
            locked.call_budget = budget_create(prompt_set=locked.prompt_set, currency=locked.currency)
            locked.save(update_fields=["call_budget"])
        before = locked.call_budget.cap
        budget_cap_set(budget=locked.call_budget, cap=cap)
        if before != cap:
            was, now = {"call_cap": _said(before)}, {"call_cap": _said(cap)}
            audit_record(act="cap_calls", subject=locked.public_id, by=by, before=was, after=now)
    campaign.refresh_from_db()


def _said(cap: Decimal | None) -> str | None:
    return None if cap is None else f"{cap.normalize():f}"
