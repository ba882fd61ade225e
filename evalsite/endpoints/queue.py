"""Queue of requests: enqueue, claim with a lease, and take back what a dead caller held.

A claim locks the endpoint, so that its limits (state, concurrency, caps) hold over any number of callers. A claimed
request is fenced by its owner and its number of attempts: nobody else can record that call.
"""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from evalsite.core.db import CLOCK_SET_BACK, as_stored, rows, write_transaction
from evalsite.core.encryption import SecretUnreadable, decrypt
from evalsite.endpoints.adapters.base import AdapterOptions, Message
from evalsite.endpoints.messages import messages_of
from evalsite.endpoints.models import CallBudget, CallRequest, Endpoint, EndpointCheck
from evalsite.endpoints.money import budget_left, caps_left, reservation
from evalsite.endpoints.options import adapter_options
from evalsite.endpoints.states import CALLED, SECRET_UNREADABLE, state_set
from scheduler.reasons import Reason

log = logging.getLogger(__name__)

LONGEST_HOLD = timedelta(hours=1)  # that an endpoint may ask for; a later time comes from a clock that was set back
ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)  # stands for now in a statement that is composed once
GRACE = timedelta(seconds=30)  # beyond the timeout of a call, until its caller counts as dead
TEST_PRIORITY, CHECK_PRIORITY, LIVE_PRIORITY, COLLECT_PRIORITY = 20, 10, 5, 0
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
    made = CallRequest.objects.bulk_create(requests, batch_size=500)
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

    Each caller asks ten times a second and more, so the statement is composed once.
    """
    now, (statement, values) = timezone.now(), _work_statement(connection.vendor)
    return [number for number, *_ in rows(statement, [as_stored(_far(now) if is_far else now) for is_far in values])]


@cache
def _work_statement(vendor: str) -> tuple[str, tuple[bool, ...]]:
    """Return the SQL of `endpoints_with_work` for a kind of database, and for each of its times whether it is `_far`.

    All other values stand in the text: PostgreSQL uses the partial indexes of states for no prepared value.
    """
    running = _running().filter(endpoint=OuterRef("pk")).order_by().values("endpoint").annotate(n=Count("pk"))
    free = _callable(ANY_TIME).annotate(running=Coalesce(Subquery(running.values("n")), 0))
    found = free.filter(running__lt=F("concurrency")).order_by("running", "pk").values_list("pk", "running")
    statement, values = found.query.sql_with_params()
    times = {as_stored(ANY_TIME): False, as_stored(_far(ANY_TIME)): True}
    written = ["%s" if value in times else _literal(value) for value in values]
    return statement % tuple(written), tuple(times[value] for value in values if value in times)


def _literal(value: str | int) -> str:
    """Return a state or a number as SQL."""
    assert isinstance(value, int) or value.isidentifier()  # noqa: S101  values of ours
    return str(value) if isinstance(value, int) else f"'{value}'"


def calls_claim(*, owner: str, room: Mapping[int, int]) -> list[PlannedCall]:
    """Claim due requests of these endpoints, at most `room` of each, in one transaction.

    An endpoint whose row another caller has locked is left out this time.
    """
    if not room:
        return []
    now = timezone.now()
    with write_transaction():
        locked = _callable(now).filter(pk__in=room).select_related("secret")
        endpoints = locked.select_for_update(of=("self",), no_key=True, skip_locked=True).order_by("pk")
        found = list(endpoints)
        running = _running_calls(found)
        due = _due(now).filter(endpoint__in=found, budget__isnull=False).values("budget")
        wanted = CallBudget.objects.filter(pk__in=due).select_for_update(no_key=True).order_by("pk")
        budgets = {budget.pk: budget for budget in wanted}
        free = {one.pk: min(room[one.pk], one.concurrency - running[one.pk]) for one in found}
        return [call for one in found if free[one.pk] > 0 for call in _claim_of(one, owner, free[one.pk], now, budgets)]


def leases_release(*, host: str, alive: Callable[[int], bool]) -> int:
    """End the leases of dead callers of this host (owners are "host:pid"). Return their number."""
    owners = _running().filter(lease_owner__startswith=f"{host}:").values_list("lease_owner", flat=True).distinct()
    dead = [owner for owner in owners if not alive(int(owner.rpartition(":")[2]))]
    if not dead:
        return 0
    with write_transaction():
        return _running().filter(lease_owner__in=dead).update(lease_until=timezone.now() - timedelta(seconds=1))


def _callable(now: datetime) -> QuerySet[Endpoint]:
    """Return the endpoints with a due request that their state allows."""
    due = _due(now).filter(endpoint=OuterRef("pk"))
    allowed = (
        Q(state__in=CALLED) & Exists(due)
        | Q(state=Endpoint.State.FAILING) & Exists(due.filter(priority__gte=CHECK_PRIORITY))
        | Q(state=Endpoint.State.PAUSED) & Exists(due.filter(priority__gte=TEST_PRIORITY))
    )
    rested = Q(wait_until=None) | Q(wait_until__lte=now) | Q(wait_until__gt=_far(now))
    return Endpoint.objects.filter(allowed & rested)


def _far(now: datetime) -> datetime:
    """Return the time beyond which a time in the rows was written before the clock was set back."""
    return now + LONGEST_HOLD + CLOCK_SET_BACK


def _due(now: datetime) -> QuerySet[CallRequest]:
    queued = CallRequest.objects.filter(
        Q(run_after__lte=now) | Q(run_after__gt=_far(now)), state=CallRequest.State.QUEUED
    )
    return queued.filter(Q(give_up_at=None) | Q(give_up_at__gt=now))


def _running() -> QuerySet[CallRequest]:
    return CallRequest.objects.filter(state=CallRequest.State.RUNNING)


def _running_calls(endpoints: Collection[Endpoint]) -> Counter[int]:
    """Return the number of running calls of each endpoint (key), once these rows are locked."""
    running = _running().filter(endpoint__in=endpoints).order_by().values("endpoint").annotate(n=Count("pk"))
    return Counter(dict(running.values_list("endpoint", "n")))


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
        requests = list(_first(endpoint, room, now, used_up))
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


def _first(endpoint: Endpoint, room: int, now: datetime, used_up: Collection[int]) -> QuerySet[CallRequest]:
    least = {Endpoint.State.FAILING: CHECK_PRIORITY, Endpoint.State.PAUSED: TEST_PRIORITY}
    due = _due(now).filter(endpoint=endpoint)
    if (lowest := least.get(Endpoint.State(endpoint.state))) is not None:
        due = due.filter(priority__gte=lowest)
    if used_up:
        due = due.filter(Q(budget=None) | ~Q(budget__in=used_up))
    due = due.select_related("prompt").order_by("-priority", "run_after", "id")
    return due.select_for_update(of=("self",), skip_locked=True)[:room]


def _take(requests: list[CallRequest], owner: str, timeout_s: float, price: Decimal, now: datetime) -> None:
    if requests:
        CallRequest.objects.filter(pk__in=[request.pk for request in requests]).update(
            state=CallRequest.State.RUNNING,
            lease_owner=owner,
            lease_until=now + timedelta(seconds=timeout_s) + GRACE,
            attempts=F("attempts") + 1,
            reserved=price,
        )


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
        attempt=request.attempts + 1,
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
