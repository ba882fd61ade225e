"""Queue of requests: enqueue, claim with a lease, and take back what a dead caller held.

A claim locks the endpoint, so that its limits (state, concurrency, caps) hold over any number of callers. A claimed
request is fenced by its owner and its number of attempts: nobody else can record that call.
"""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from evalsite.core.composed import composed
from evalsite.core.db import CLOCK_SET_BACK, write_transaction
from evalsite.core.encryption import SecretUnreadable, decrypt
from evalsite.core.row_writes import MOST_ADDED, rows_add, rows_update
from evalsite.endpoints.adapters.base import AdapterOptions, Message
from evalsite.endpoints.messages import messages_of
from evalsite.endpoints.models import CallBudget, CallRequest, Endpoint, EndpointCheck
from evalsite.endpoints.money import budget_left, caps_left, reservation
from evalsite.endpoints.options import adapter_options
from evalsite.endpoints.states import CALLED, SECRET_UNREADABLE, state_set
from scheduler.reasons import Reason

log = logging.getLogger(__name__)

LONGEST_HOLD = timedelta(hours=1)  # that an endpoint may ask for; a later time comes from a clock that was set back
GRACE = timedelta(seconds=30)  # beyond the timeout of a call, until its caller counts as dead
TEST_PRIORITY, CHECK_PRIORITY, LIVE_PRIORITY, COLLECT_PRIORITY = 20, 10, 5, 0
LEAST_PRIORITY = COLLECT_PRIORITY
wakers: list[Callable[[], None]] = []
finishers: list[Callable[[Sequence[int]], None]] = []
"""Called with the ids of requests of live turns that have ended, in the transaction that records their calls."""


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A claimed request, complete with all that its call needs: no database is read during the call."""

    request_id: int
    endpoint_id: int
    collection_id: int | None
    check_id: int | None
    owner: str
    attempt: int
    adapter: str
    options: AdapterOptions = field(repr=False)
    messages: tuple[Message, ...] = field(repr=False)
    timeout_s: float
    reserved: Decimal


def requests_enqueue(requests: Sequence[CallRequest]) -> list[CallRequest]:
    """Queue requests in the caller's transaction, and wake callers when it commits."""
    few = len(requests) <= MOST_ADDED
    made = rows_add(requests) if few else CallRequest.objects.bulk_create(requests, batch_size=500)
    if made:
        wake()
    return made


def wake() -> None:
    """Tell callers of the production form, after the transaction, that there is work. Others poll."""
    if settings.PRODUCTION:
        for waker in wakers:
            transaction.on_commit(waker)


def endpoints_with_work() -> list[int]:
    """Return the ids of endpoints that may be called now and have work, those with the fewest running calls first.

    Each caller asks ten times a second and more.
    """
    now = timezone.now()
    return [number for number, _ in _endpoints_ready(now, _far(now))]


@composed
def _endpoints_ready(now: datetime, far: datetime) -> QuerySet[Endpoint, Any]:
    running = _running().filter(endpoint=OuterRef("pk")).order_by().values("endpoint").annotate(n=Count("pk"))
    free = _callable(now, far).annotate(running=Coalesce(Subquery(running.values("n")), 0))
    return free.filter(running__lt=F("concurrency")).order_by("running", "pk").values_list("pk", "running")


def calls_claim(*, owner: str, room: Mapping[int, int]) -> list[PlannedCall]:
    """Claim due requests of these endpoints, at most `room` of each, in one transaction.

    An endpoint whose row another caller has locked is left out this time.
    """
    if not room:
        return []
    now = timezone.now()
    with write_transaction():
        found = _endpoints_lock(list(room), now, _far(now))
        numbers = [one.pk for one in found]
        running = Counter(dict(_running_calls(numbers)))
        budgets = {budget.pk: budget for budget in _budgets_lock(numbers, now, _far(now))}
        free = {one.pk: min(room[one.pk], one.concurrency - running[one.pk]) for one in found}
        return [call for one in found if free[one.pk] > 0 for call in _claim_of(one, owner, free[one.pk], now, budgets)]


@composed
def _endpoints_lock(numbers: list[int], now: datetime, far: datetime) -> QuerySet[Endpoint, Endpoint]:
    locked = _callable(now, far).filter(pk__in=numbers).select_related("secret")
    return locked.select_for_update(of=("self",), no_key=True, skip_locked=True).order_by("pk")


@composed
def _budgets_lock(endpoints: list[int], now: datetime, far: datetime) -> QuerySet[CallBudget, CallBudget]:
    due = _due(now, far).filter(endpoint__in=endpoints, budget__isnull=False).values("budget")
    return CallBudget.objects.filter(pk__in=due).select_for_update(no_key=True).order_by("pk")


def leases_release(*, host: str, alive: Callable[[int], bool]) -> int:
    """End the leases of dead callers of this host (owners are "host:pid"). Return their number."""
    owners = _running().filter(lease_owner__startswith=f"{host}:").values_list("lease_owner", flat=True).distinct()
    dead = [owner for owner in owners if not alive(int(owner.rpartition(":")[2]))]
    if not dead:
        return 0
    with write_transaction():
        return _running().filter(lease_owner__in=dead).update(lease_until=timezone.now() - timedelta(seconds=1))


def _callable(now: datetime, far: datetime) -> QuerySet[Endpoint]:
    """Return the endpoints with a due request that their state allows."""
    due = _due(now, far).filter(endpoint=OuterRef("pk"))
    allowed = (
        Q(state__in=CALLED) & Exists(due)
        | Q(state=Endpoint.State.FAILING) & Exists(due.filter(priority__gte=CHECK_PRIORITY))
        | Q(state=Endpoint.State.PAUSED) & Exists(due.filter(priority__gte=TEST_PRIORITY))
    )
    rested = Q(wait_until=None) | Q(wait_until__lte=now) | Q(wait_until__gt=far)
    return Endpoint.objects.filter(allowed & rested)


def _far(now: datetime) -> datetime:
    """Return the time beyond which a time in the rows was written before the clock was set back."""
    return now + LONGEST_HOLD + CLOCK_SET_BACK


def _due(now: datetime, far: datetime) -> QuerySet[CallRequest]:
    queued = CallRequest.objects.filter(Q(run_after__lte=now) | Q(run_after__gt=far), state=CallRequest.State.QUEUED)
    return queued.filter(Q(give_up_at=None) | Q(give_up_at__gt=now))


def _running() -> QuerySet[CallRequest]:
    return CallRequest.objects.filter(state=CallRequest.State.RUNNING)


@composed
def _running_calls(endpoints: list[int]) -> QuerySet[CallRequest, Any]:
    """Return the number of running calls of each endpoint (key), once these rows are locked."""
    running = _running().filter(endpoint__in=endpoints).order_by().values("endpoint").annotate(n=Count("pk"))
    return running.values_list("endpoint", "n")


def _claim_of(
    endpoint: Endpoint, owner: str, room: int, now: datetime, budgets: Mapping[int, CallBudget]
) -> list[PlannedCall]:
    """Claim requests of one endpoint within its limits and budgets. The caller holds the locks of these rows."""
    try:
        secret = _secret(endpoint)
    except SecretUnreadable:
        secret_unreadable(endpoint)
        return []
    requests, price = _affordable(endpoint, room, now, budgets)
    limits = [_timeout(request, endpoint, now) for request in requests]
    _take(requests, owner, max(limits, default=0.0), price, now)
    options = adapter_options(endpoint, secret=secret)
    found = zip(requests, limits, strict=True)
    return [_planned(request, endpoint, owner, options, messages_of(request), price, limit) for request, limit in found]


def _timeout(request: CallRequest, endpoint: Endpoint, now: datetime) -> float:
    """Return the timeout of a call in seconds: that of a live turn ends with the turn."""
    if request.give_up_at is None:
        return endpoint.timeout_s
    return max(1.0, min(endpoint.timeout_s, (request.give_up_at - now).total_seconds()))


def _affordable(
    endpoint: Endpoint, room: int, now: datetime, budgets: Mapping[int, CallBudget]
) -> tuple[list[CallRequest], Decimal]:
    """Return the first due requests that all caps allow, and what each of them reserves.

    Requests whose budget is used up do not stand in the way of others.
    """
    own = [one.amount for one in caps_left(endpoint, now)]
    left = {pk: budget_left(endpoint, budget) for pk, budget in budgets.items()}
    used_up = {pk for pk, amount in left.items() if amount is not None and amount <= 0}
    while True:
        requests = _first(endpoint, room, now, used_up)
        price = max((reservation(endpoint, messages_of(request)) for request in requests), default=Decimal(0))
        if not requests or not price:
            return requests, price
        taken = _within(requests, price, left)
        if taken or {request.budget_id for request in requests} == {None}:
            return taken[: min([room, *(max(0, int(one // price)) for one in own)])], price
        used_up |= {request.budget_id for request in requests if request.budget_id}


def _within(requests: list[CallRequest], price: Decimal, left: Mapping[int, Decimal | None]) -> list[CallRequest]:
    """Return those of these requests that their budgets allow, in their order."""
    spent: Counter[int | None] = Counter()
    taken = []
    for request in requests:
        most = left.get(request.budget_id, Decimal(0)) if request.budget_id else None  # 0: its row is not locked
        if most is None or (spent[request.budget_id] + 1) * price <= most:
            spent[request.budget_id] += 1
            taken.append(request)
    return taken


def _first(endpoint: Endpoint, room: int, now: datetime, used_up: Collection[int]) -> list[CallRequest]:
    lowest = {Endpoint.State.FAILING: CHECK_PRIORITY, Endpoint.State.PAUSED: TEST_PRIORITY}
    least = lowest.get(Endpoint.State(endpoint.state), LEAST_PRIORITY)
    if not used_up:
        return _first_composed(room)(endpoint.pk, least, now, _far(now))
    due = _due_of(endpoint.pk, least, now, _far(now))
    return list(due.filter(Q(budget=None) | ~Q(budget__in=used_up))[:room])


@cache
def _first_composed(room: int) -> Callable[[int, int, datetime, datetime], list[CallRequest]]:
    @composed
    def first(endpoint: int, least: int, now: datetime, far: datetime) -> QuerySet[CallRequest, CallRequest]:
        return _due_of(endpoint, least, now, far)[:room]

    return first


def _due_of(endpoint: int, least: int, now: datetime, far: datetime) -> QuerySet[CallRequest, CallRequest]:
    due = _due(now, far).filter(endpoint=endpoint, priority__gte=least)
    due = due.select_related("prompt").order_by("-priority", "run_after", "id")
    return due.select_for_update(of=("self",), skip_locked=True)


def _take(requests: list[CallRequest], owner: str, timeout_s: float, price: Decimal, now: datetime) -> None:
    """Give locked requests to a caller."""
    for request in requests:
        request.state, request.attempts = CallRequest.State.RUNNING, request.attempts + 1
        request.lease_owner, request.lease_until = owner, now + timedelta(seconds=timeout_s) + GRACE
        request.reserved = price
    rows_update(requests, ["state", "attempts", "lease_owner", "lease_until", "reserved"])


def _planned(
    request: CallRequest,
    endpoint: Endpoint,
    owner: str,
    options: AdapterOptions,
    messages: tuple[Message, ...],
    price: Decimal,
    timeout_s: float,
) -> PlannedCall:
    return PlannedCall(
        request_id=request.pk,
        endpoint_id=endpoint.pk,
        collection_id=request.collection_id,
        check_id=request.check_run_id,
        owner=owner,
        attempt=request.attempts,
        adapter=endpoint.adapter,
        options=options,
        messages=messages,
        timeout_s=timeout_s,
        reserved=price,
    )


def _secret(endpoint: Endpoint) -> str:
    """Return the secret in clear; "" for none. Raises SecretUnreadable."""
    return decrypt(endpoint.secret.token) if hasattr(endpoint, "secret") else ""


def secret_unreadable(endpoint: Endpoint) -> None:
    """Pause an endpoint whose secret cannot be decrypted, and end its check. The caller holds the lock of its row."""
    log.warning("endpoint %s is paused: its secret cannot be read with the keys of this site", endpoint.public_id)
    state_set(endpoint, Endpoint.State.PAUSED, Reason(SECRET_UNREADABLE))
    now = timezone.now()
    checks = EndpointCheck.objects.filter(endpoint=endpoint, state=EndpointCheck.State.RUNNING)
    waiting = CallRequest.objects.filter(check_run__in=checks, state=CallRequest.State.QUEUED)
    waiting.update(state=CallRequest.State.FAILED, finished_at=now)
    checks.update(state=EndpointCheck.State.FAILED, finished_at=now)
