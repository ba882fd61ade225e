"""Budgets that calls of several endpoints share: set the cap, and check that an endpoint can be counted against it."""

from decimal import Decimal

from django.db.models import Q, Sum
from django.utils.translation import gettext as _

from evalsite.core.errors import Conflict, InvalidInput
from evalsite.endpoints.models import Call, CallBudget, CallRequest, Endpoint
from evalsite.endpoints.money import fits_budget
from evalsite.prompts.models import PromptSet

HIGHEST_CAP = Decimal(1_000_000)


def budget_create(*, prompt_set: PromptSet, currency: str) -> CallBudget:
    """Create a budget for the replies to these prompts. What was collected before counts, too."""
    budget = CallBudget.objects.create(currency=currency)
    CallRequest.objects.filter(collection__prompt_set=prompt_set, budget=None).update(budget=budget)
    calls = Call.objects.filter(request__budget=budget, endpoint__currency=currency)
    budget.spent = Decimal(calls.aggregate(total=Sum("cost"))["total"] or 0)
    budget.save(update_fields=["spent"])
    return budget


def budget_cap_set(*, budget: CallBudget, cap: Decimal | None) -> None:
    """Change or remove the cap. Call it in a transaction.

    Raises InvalidInput for a cap that cannot be one, and Conflict if an endpoint that works for the budget has no
    prices, or prices in another currency.
    """
    if cap is not None and not (cap.is_finite() and 0 < cap <= HIGHEST_CAP):
        raise InvalidInput(
            _("A cost cap must be more than 0."),
            hint=_("Leave it empty for no cap, or pause the collections so that nothing is spent."),
            field="call_cap",
        )
    locked = CallBudget.objects.select_for_update(no_key=True).get(pk=budget.pk)
    locked.cap = cap
    working = (
        Endpoint.objects.filter(requests__in=locked.requests.filter(state__in=CallRequest.OPEN))
        .distinct()
        .order_by("pk")
    )
    for endpoint in working.select_related("version__chatbot"):
        budget_check(endpoint, locked)
    locked.save(update_fields=["cap"])


def budget_check(endpoint: Endpoint, budget: CallBudget | None) -> None:
    """Raise Conflict unless the cost of the endpoint's calls can be counted against the cap of the budget."""
    if budget is None or fits_budget(endpoint, budget):
        return
    raise Conflict(
        _("The campaign has a cost cap in %(currency)s, and %(version)s has no prices in this currency.")
        % {"currency": budget.currency, "version": str(endpoint.version)},
        hint=_("Enter the endpoint's prices in %(currency)s, or remove the cap.") % {"currency": budget.currency},
        field="input_price",
        code="prices_needed",
    )


def budgets_check(endpoint: Endpoint) -> None:
    """Raise Conflict if the endpoint works for a budget with a cap that its prices cannot be counted against."""
    working = CallBudget.objects.filter(
        Q(requests__endpoint=endpoint, requests__state__in=CallRequest.OPEN), cap__isnull=False
    ).distinct()
    for budget in working.order_by("pk"):
        budget_check(endpoint, budget)
