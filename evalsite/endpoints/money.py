"""Cost of calls: reserved before a call, settled by the usage that the endpoint reports, limited by caps.

An endpoint that does not report its usage is charged by an estimate from the length of the texts. Amounts are in the
endpoint's own currency. A campaign may have a budget, which limits the calls of all endpoints for it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from django.db.models import QuerySet, Sum

from evalsite.endpoints.adapters.base import ChatReply, Message
from evalsite.endpoints.models import CallBudget, CallRequest, DailyCost, Endpoint
from evalsite.prompts.models import PromptSet

MILLION = Decimal(1_000_000)
CHARACTERS_PER_TOKEN = 3  # fewer than in any common language but those without spaces
TOKENS_PER_MESSAGE = 8  # what chat templates add


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a call and their cost. estimated: the endpoint did not report the tokens."""

    input_tokens: int
    output_tokens: int
    cost: Decimal
    estimated: bool


@dataclass(frozen=True, slots=True)
class MoneyLeft:
    """Money left under one cap. `code` names the cap: "daily", "version" or "campaign"."""

    code: str
    amount: Decimal


BudgetFinder = Callable[[PromptSet], CallBudget | None]
_finders: list[BudgetFinder] = []


def finds_budget(finder: BudgetFinder) -> BudgetFinder:
    """Register how an app above finds the budget that pays for replies to a prompt set."""
    _finders.append(finder)
    return finder


def budget_of(prompt_set: PromptSet) -> CallBudget | None:
    """Return the budget that pays for replies to these prompts; None if nobody has set one."""
    return next((found for finder in _finders if (found := finder(prompt_set)) is not None), None)


def cost_of(endpoint: Endpoint, input_tokens: int, output_tokens: int) -> Decimal:
    """Return the price of so many tokens; 0 for an endpoint without prices."""
    spent_in = (endpoint.input_price or Decimal(0)) * input_tokens
    return (spent_in + (endpoint.output_price or Decimal(0)) * output_tokens) / MILLION


def reservation(endpoint: Endpoint, messages: Sequence[Message]) -> Decimal:
    """Return the most that a call with these messages is expected to cost: its input, and all tokens of a reply."""
    return cost_of(endpoint, input_estimate(endpoint, messages), endpoint.max_tokens)


def input_estimate(endpoint: Endpoint, messages: Sequence[Message]) -> int:
    """Return an upper estimate of the input tokens of a call."""
    texts = [endpoint.system_prompt, *(message.content for message in messages)]
    return sum(tokens_estimate(text) + TOKENS_PER_MESSAGE for text in texts)


def tokens_estimate(text: str) -> int:
    """Return an upper estimate of the tokens of a text."""
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


def usage_of(endpoint: Endpoint, reply: ChatReply, *, input_tokens: int) -> Usage:
    """Return what a reply cost. `input_tokens`: the estimate for an endpoint that does not report its usage."""
    reported = (reply.prompt_tokens, reply.completion_tokens)
    given_in, given_out = (_possible(number) for number in reported)
    tokens_in = input_tokens if given_in is None else given_in
    tokens_out = tokens_estimate(reply.text) if given_out is None else given_out
    estimated = given_in is None or given_out is None
    return Usage(tokens_in, tokens_out, cost_of(endpoint, tokens_in, tokens_out), estimated)


def caps_left(endpoint: Endpoint, now: datetime) -> list[MoneyLeft]:
    """Return what is left under the endpoint's own caps, after the costs so far and what running calls reserve."""
    found: list[MoneyLeft] = []
    if endpoint.daily_cap is None and endpoint.version_cap is None:
        return found
    reserved = _reserved(CallRequest.objects.filter(endpoint=endpoint))
    if endpoint.daily_cap is not None:
        found.append(MoneyLeft("daily", endpoint.daily_cap - cost_so_far(endpoint, day=now) - reserved))
    if endpoint.version_cap is not None:
        found.append(MoneyLeft("version", endpoint.version_cap - cost_so_far(endpoint) - reserved))
    return found


def fits_budget(endpoint: Endpoint, budget: CallBudget) -> bool:
    """Return whether the cost of this endpoint's calls can be counted against a cap of this budget."""
    priced = endpoint.input_price is not None and endpoint.output_price is not None
    return budget.cap is None or (priced and endpoint.currency == budget.currency)


def budget_left(endpoint: Endpoint, budget: CallBudget) -> Decimal | None:
    """Return what calls of this endpoint may still cost within the budget; None without a cap."""
    if budget.cap is None:
        return None
    reserved = _reserved(CallRequest.objects.filter(budget=budget))
    return budget.cap - budget.spent - reserved if fits_budget(endpoint, budget) else Decimal(0)


def budget_reached(endpoint: Endpoint, budget: CallBudget, price: Decimal) -> bool:
    """Return whether no call of this price may begin within the budget."""
    left = budget_left(endpoint, budget)
    return left is not None and (left <= 0 or left < price)


def cost_so_far(endpoint: Endpoint, *, day: datetime | None = None) -> Decimal:
    """Return the cost of all calls, or of those of one day (UTC)."""
    days = DailyCost.objects.filter(endpoint=endpoint)
    if day is not None:
        days = days.filter(day=day.astimezone(UTC).date())
    return Decimal(days.aggregate(total=Sum("cost"))["total"] or 0)


def _reserved(requests: QuerySet[CallRequest]) -> Decimal:
    running = requests.filter(state=CallRequest.State.RUNNING)
    return Decimal(running.aggregate(total=Sum("reserved"))["total"] or 0)


def _possible(tokens: int | None) -> int | None:
    """Return a reported number of tokens that a reply can have; None for none, and for nonsense."""
    return tokens if tokens is not None and 0 <= tokens < 2**31 else None
