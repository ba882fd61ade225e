"""Read queries on endpoints: health, cost, progress, results of checks, alarms. Frozen values for pages and API."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Avg, Count, QuerySet
from django.utils import timezone

from evalsite.accounts.models import Organisation
from evalsite.chatbots.models import Version
from evalsite.endpoints.adapters import adapter_of
from evalsite.endpoints.adapters.base import MASK, MaskedRequest
from evalsite.endpoints.failures import advice
from evalsite.endpoints.messages import TEST_TURNS, messages_of
from evalsite.endpoints.models import Call, CallRequest, Collection, DailyCost, Drift, Endpoint, EndpointCheck, Secret
from evalsite.endpoints.money import MoneyLeft, budget_reached, caps_left, cost_so_far, reservation
from evalsite.endpoints.options import adapter_options

RECENT_CALLS, RECENT = 200, timedelta(days=1)
LOST = "lost"  # error class of a call whose caller died


@dataclass(frozen=True, slots=True)
class EndpointHealth:
    """State of an endpoint with figures of its recent calls: at most 200, of the last day. Latencies are in ms."""

    state: str
    reason: str
    advice: str
    since: datetime
    calls: int
    error_rate: float | None
    p50_ms: float | None
    p95_ms: float | None
    errors: Mapping[str, int]
    wait_until: datetime | None


@dataclass(frozen=True, slots=True)
class EndpointCost:
    """Cost of an endpoint in its currency. `at_cap` names the cap that stops new calls: "daily", "version" or "".

    `expected` is what its open requests are expected to cost.
    """

    currency: str
    today: Decimal
    total: Decimal
    expected: Decimal
    calls: int
    daily_cap: Decimal | None
    version_cap: Decimal | None
    at_cap: str


@dataclass(frozen=True, slots=True)
class CollectionProgress:
    """How far a collection is. `expected_cost` is what its open requests are expected to cost."""

    state: str
    prompts: int
    done: int
    failed: int
    open: int
    running: int
    without_text: int
    cost: Decimal
    expected_cost: Decimal
    currency: str
    waits_for: str
    errors: Mapping[str, int]

    @property
    def percent(self) -> int:
        return 100 * (self.done + self.failed) // self.prompts if self.prompts else 100


@dataclass(frozen=True, slots=True)
class CheckTurn:
    """One call of a check: the request as it may be shown, what came back, and what to change if it failed."""

    request: MaskedRequest
    prompt: str
    reply: str
    status: int | None
    error: str
    detail: str
    advice: str
    latency_ms: float
    first_byte_ms: float | None
    input_tokens: int | None
    output_tokens: int | None
    cost: Decimal
    cost_estimated: bool
    model_name: str
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A check so far: poll until `state` is no longer "running"."""

    state: str
    turns: tuple[CheckTurn, ...]
    expected_turns: int
    cost: Decimal
    currency: str
    advice: str


def endpoints_of(organisation: Organisation) -> QuerySet[Endpoint]:
    """Return the endpoints of an organisation's chatbots, newest first."""
    found = Endpoint.objects.filter(version__chatbot__organisation=organisation)
    return found.select_related("version__chatbot").order_by("-pk")


def endpoint_of(version: Version) -> Endpoint | None:
    """Return the endpoint of a version; None for a file of replies."""
    return Endpoint.objects.filter(version=version).select_related("version__chatbot").first()


def secret_set_at(endpoint: Endpoint) -> datetime | None:
    """Return when the secret was stored, which is all that is shown of it; None if there is none."""
    return Secret.objects.filter(endpoint=endpoint).values_list("set_at", flat=True).first()


def endpoint_health(endpoint: Endpoint) -> EndpointHealth:
    """Return the state and the figures of recent calls."""
    recent = endpoint.calls.filter(started_at__gt=timezone.now() - RECENT).exclude(error_class=LOST)
    calls = list(recent.order_by("-pk").values_list("error_class", "started_at", "ended_at")[:RECENT_CALLS])
    errors: dict[str, int] = {}
    for error, _started, _ended in calls:
        if error:
            errors[error] = errors.get(error, 0) + 1
    times = sorted(1000 * (ended - started).total_seconds() for error, started, ended in calls if not error)
    worst = ((endpoint.state_data or {}).get("params") or {}).get("error", "")
    return EndpointHealth(
        state=endpoint.state,
        reason=endpoint.state_text,
        advice=advice_on(str(worst)),
        since=endpoint.state_since,
        calls=len(calls),
        error_rate=sum(errors.values()) / len(calls) if calls else None,
        p50_ms=_quantile(times, 0.5),
        p95_ms=_quantile(times, 0.95),
        errors=errors,
        wait_until=endpoint.wait_until if endpoint.wait_until and endpoint.wait_until > timezone.now() else None,
    )


def endpoint_cost(endpoint: Endpoint) -> EndpointCost:
    """Return what the calls have cost, and whether a cap stops new ones."""
    now = timezone.now()
    days = DailyCost.objects.filter(endpoint=endpoint)
    calls = sum(days.values_list("calls", flat=True))
    return EndpointCost(
        currency=endpoint.currency,
        today=cost_so_far(endpoint, day=now),
        total=cost_so_far(endpoint),
        expected=_expected_of_open(endpoint),
        calls=calls,
        daily_cap=endpoint.daily_cap,
        version_cap=endpoint.version_cap,
        at_cap=_cap_reached(caps_left(endpoint, now), reservation(endpoint, [])),
    )


def daily_costs(endpoint: Endpoint, *, days: int = 30) -> list[tuple[date, int, int, Decimal]]:
    """Return day, calls, failed calls and cost of the last days with calls, newest first."""
    rows = endpoint.daily_costs.order_by("-day").values_list("day", "calls", "failed", "cost")
    return list(rows[:days])


def collection_progress(collection: Collection) -> CollectionProgress:
    """Return how far a collection is, what it has cost, and why it waits."""
    endpoint = collection.endpoint
    counts = dict(collection.requests.order_by().values_list("state").annotate(n=Count("pk")))
    failed = collection.requests.filter(state=CallRequest.State.FAILED)
    spent = Call.objects.filter(request__collection=collection)
    open_requests = sum(counts.get(state, 0) for state in CallRequest.OPEN)
    return CollectionProgress(
        state=collection.state,
        prompts=sum(counts.values()),
        done=counts.get("done", 0),
        failed=counts.get("failed", 0),
        open=open_requests,
        running=counts.get("running", 0),
        without_text=_without_text(collection),
        cost=sum(spent.values_list("cost", flat=True), Decimal(0)),
        expected_cost=open_requests * _expected_of_one(endpoint, collection, spent),
        currency=endpoint.currency,
        waits_for=_waits_for(endpoint, collection) if open_requests else "",
        errors=dict(failed.order_by().values_list("error_class").annotate(n=Count("pk"))),
    )


def collections_of(endpoint: Endpoint) -> list[Collection]:
    """Return the collections of an endpoint, newest first."""
    return list(endpoint.collections.select_related("prompt_set", "endpoint__version__chatbot").order_by("-pk"))


def check_result(check: EndpointCheck) -> CheckResult:
    """Return the calls of a check so far. The secret is not decrypted for it."""
    calls = Call.objects.filter(request__check_run=check).select_related("request", "endpoint").order_by("pk")
    turns = tuple(_turn(call) for call in calls)
    said = next((turn.advice for turn in turns if turn.error), "")
    if check.state == EndpointCheck.State.FAILED and not said:
        said = check.endpoint.state_text
    return CheckResult(
        state=check.state,
        turns=turns,
        expected_turns=len(TEST_TURNS) if check.kind == EndpointCheck.Kind.TEST else check.requests.count(),
        cost=sum((turn.cost for turn in turns), Decimal(0)),
        currency=check.endpoint.currency,
        advice=said,
    )


def drifts_open(endpoint: Endpoint) -> list[Drift]:
    """Return the alarms that nobody has settled, newest first."""
    return list(endpoint.drifts.filter(outcome=Drift.Outcome.OPEN).order_by("-pk"))


def advice_on(error_class: str) -> str:
    """Return what to change after a failure; "" for none, and for a call that was lost with its caller."""
    return advice(error_class) if error_class and error_class != LOST else ""


def _turn(call: Call) -> CheckTurn:
    messages = messages_of(call.request)
    options = adapter_options(call.endpoint, secret=MASK)
    first = None if call.first_byte_at is None else 1000 * (call.first_byte_at - call.started_at).total_seconds()
    return CheckTurn(
        request=adapter_of(call.endpoint.adapter).request(options, messages).masked(MASK),
        prompt=messages[-1].content if messages else "",
        reply=call.request.reply or "",
        status=call.status,
        error=call.error_class,
        detail=call.detail,
        advice=advice_on(call.error_class),
        latency_ms=1000 * (call.ended_at - call.started_at).total_seconds(),
        first_byte_ms=first,
        input_tokens=call.input_tokens,
        output_tokens=call.output_tokens,
        cost=call.cost,
        cost_estimated=call.cost_estimated,
        model_name=call.model_name,
        flags=tuple(call.flags),
    )


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def _cap_reached(left: list[MoneyLeft], price: Decimal) -> str:
    return next((one.code for one in left if one.amount < price or one.amount <= 0), "")


def _without_text(collection: Collection) -> int:
    return collection.prompt_set.prompts.filter(corrected_by__isnull=True, turns__isnull=True).count()


def _expected_of_open(endpoint: Endpoint) -> Decimal:
    """Return what the open requests of collections are expected to cost, each by the replies of its collection."""
    if not endpoint.input_price and not endpoint.output_price:
        return Decimal(0)
    found = Decimal(0)
    for collection in endpoint.collections.exclude(state=Collection.State.COMPLETE):
        count = collection.requests.filter(state__in=CallRequest.OPEN).count()
        found += count * _expected_of_one(endpoint, collection, Call.objects.filter(request__collection=collection))
    return found


def _expected_of_one(endpoint: Endpoint, collection: Collection, spent: QuerySet[Call]) -> Decimal:
    """Return the mean cost of a reply so far; before the first one, the reservation of the first prompt."""
    mean: dict[str, Any] = spent.filter(error_class="").aggregate(mean=Avg("cost"))
    if mean["mean"] is not None:
        return Decimal(mean["mean"])
    first = collection.requests.select_related("prompt").order_by("pk").first()
    return reservation(endpoint, messages_of(first)) if first else Decimal(0)


def _waits_for(endpoint: Endpoint, collection: Collection) -> str:
    """Return why no call begins: "paused", "failing", "endpoint_paused", "rate_limited", a cap, or ""."""
    if collection.state == Collection.State.PAUSED:
        return "paused"
    if endpoint.state in {Endpoint.State.PAUSED, Endpoint.State.FAILING}:
        return "failing" if endpoint.state == Endpoint.State.FAILING else "endpoint_paused"
    if endpoint.wait_until and endpoint.wait_until > timezone.now():
        return "rate_limited"
    waiting = collection.requests.filter(state=CallRequest.State.QUEUED).select_related("prompt", "budget")
    if (request := waiting.order_by("run_after", "pk").first()) is None:
        return ""
    price = reservation(endpoint, messages_of(request))
    if request.budget is not None and budget_reached(endpoint, request.budget, price):
        return "campaign_cap"
    cap = _cap_reached(caps_left(endpoint, timezone.now()), price)
    return f"{cap}_cap" if cap else ""
