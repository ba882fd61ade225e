"""Rows of one recording transaction: locked at its begin in the order endpoints, collections, requests; written at
its end."""

import logging
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, date
from decimal import Decimal

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from evalsite.chatbots.models import Reply
from evalsite.chatbots.services import replies_add
from evalsite.core.composed import composed
from evalsite.core.row_writes import rows_add, rows_update
from evalsite.endpoints.check_progress import check_advance
from evalsite.endpoints.drift_alarms import models_observe
from evalsite.endpoints.health import health_judge
from evalsite.endpoints.models import Call, CallBudget, CallRequest, Collection, DailyCost, Endpoint, EndpointCheck
from evalsite.endpoints.queue import finishers
from evalsite.prompts.models import Prompt

log = logging.getLogger(__name__)

CHANGED = (
    "state",
    "run_after",
    "lease_until",
    "lease_owner",
    "reserved",
    "failures",
    "rounds",
    "losses",
    "error_class",
    "finished_at",
    "reply",
)
COUNTED = ("calls", "failed", "input_tokens", "output_tokens", "cost")
ENDED = ("state", "lease_until", "lease_owner", "reserved", "finished_at", "reply")


@composed
def _endpoints(numbers: list[int]) -> QuerySet[Endpoint, Endpoint]:
    wanted = Endpoint.objects.filter(pk__in=numbers).select_related("version")
    return wanted.select_for_update(no_key=True, of=("self",)).order_by("pk")


@composed
def _running(numbers: list[int]) -> QuerySet[CallRequest, CallRequest]:
    running = CallRequest.objects.filter(pk__in=numbers, state=CallRequest.State.RUNNING)
    return running.select_for_update(no_key=True).order_by("pk")


class RecordingBatch:
    """Requests that are locked, and what their calls gave. Create and write it in one transaction."""

    def __init__(self, requests: Iterable[tuple[int, int, int | None]]) -> None:
        """Lock the rows of these requests (id, endpoint id, collection id)."""
        wanted = list(requests)
        self.now = timezone.now()
        self.endpoints = {row.pk: row for row in _endpoints(sorted({endpoint for _, endpoint, _ in wanted}))}
        collections = Collection.objects.filter(pk__in={number for _, _, number in wanted if number})
        self.collections = {row.pk: row for row in collections.select_for_update(no_key=True).order_by("pk")}
        self.requests = {row.pk: row for row in _running(sorted({pk for pk, _, _ in wanted}))}
        self._calls: list[Call] = []
        self._done: list[CallRequest] = []
        self._changed: list[CallRequest] = []
        self._replied: list[CallRequest] = []
        self._replies: dict[int, dict[int, str]] = defaultdict(dict)
        self._seen: dict[int, set[tuple[str, str]]] = defaultdict(set)

    def take(self, request_id: int, owner: str, attempt: int) -> CallRequest | None:
        """Return the request if its lease is still that of this attempt. Each attempt is taken once."""
        request = self.requests.get(request_id)
        if request is None or (request.lease_owner, request.attempts) != (owner, attempt):
            log.warning("request %s: lease lost, result dropped", request_id)
            return None
        return self.requests.pop(request_id)

    def call(self, call: Call) -> None:
        call.endpoint = self.endpoints[call.endpoint_id]
        self._calls.append(call)
        if not call.error_class:
            self._seen[call.endpoint_id].add((call.model_name, call.fingerprint))

    def done(self, request: CallRequest, text: str) -> None:
        """Keep a reply: as a row of the version, or with the request of a check."""
        if request.collection_id and request.prompt_id:
            self._replies[request.endpoint_id][request.prompt_id] = text
        else:
            request.reply = text
            self._replied.append(request)
        request.state, request.finished_at = CallRequest.State.DONE, self.now
        self._done.append(request)

    def changed(self, request: CallRequest) -> None:
        """Keep the new state of a request that has no reply."""
        collection = self.collections.get(request.collection_id or 0)
        paused = collection is not None and collection.state == Collection.State.PAUSED
        if paused and request.state == CallRequest.State.QUEUED:
            request.state = CallRequest.State.HELD
        if request.state == CallRequest.State.FAILED:
            request.finished_at = self.now
        self._changed.append(request)

    def write(self) -> int:
        """Write everything, and update what depends on it. Return the number of calls."""
        rows_add(self._calls)
        for number, texts in self._replies.items():
            _store(self.endpoints[number], texts)
        for request in [*self._done, *self._changed]:
            request.lease_until, request.lease_owner, request.reserved = None, "", Decimal(0)
        rows_update(self._done, ENDED)
        for request in self._changed:
            request.save(update_fields=CHANGED)
        _add_costs(self._calls)
        self._follow_up()
        return len(self._calls)

    def _follow_up(self) -> None:
        for number, seen in self._seen.items():
            models_observe(self.endpoints[number], seen)
        errors: dict[int, list[str]] = defaultdict(list)
        for call in self._calls:
            errors[call.endpoint_id].append(call.error_class)
        for number, newest in errors.items():
            health_judge(self.endpoints[number], newest)
        checks = {call.request.check_run_id for call in self._calls if call.request.check_run_id}
        for check in EndpointCheck.objects.filter(pk__in=checks).order_by("pk"):
            check.endpoint = self.endpoints[check.endpoint_id]
            check_advance(check)
        for collection in self.collections.values():
            _complete(collection)
        self._tell_finishers()

    def _tell_finishers(self) -> None:
        """Tell the app of live conversations. Its failure must not lose the calls: its sweep tries again."""
        failed = [request for request in self._changed if request.state == CallRequest.State.FAILED]
        ended = [request.pk for request in self._replied + failed if request.give_up_at is not None]
        for finisher in finishers if ended else []:
            try:
                with transaction.atomic():
                    finisher(ended)
            except (OperationalError, InterfaceError):
                raise
            except Exception:
                log.exception("live turns of %s requests could not go on", len(ended))


def _store(endpoint: Endpoint, texts: dict[int, str]) -> None:
    """Store replies by prompt id. A prompt that has one already keeps it."""
    there = Reply.objects.filter(version=endpoint.version_id, prompt__in=texts, sample=1)
    missing = Prompt.objects.filter(pk__in=texts.keys() - set(there.values_list("prompt", flat=True))).only("pk")
    pairs = [(prompt, texts[prompt.pk]) for prompt in missing.order_by("pk")]
    replies_add(version=endpoint.version, replies=pairs, origin=Reply.Origin.ENDPOINT)


def _add_costs(calls: list[Call]) -> None:
    """Add the calls to the sums of their days. The caller's locks of the endpoints let nobody else change these."""
    _add_to_budgets(calls)
    for day in sorted({_day_of(call) for call in calls}):
        of_day = [call for call in calls if _day_of(call) == day]
        numbers = sorted({call.endpoint_id for call in of_day})
        rows = {row.endpoint_id: row for row in _costs(numbers, day)}
        for number in numbers:
            if number not in rows:
                rows[number] = DailyCost.objects.create(endpoint_id=number, day=day)
        for call in of_day:
            _add(rows[call.endpoint_id], call)
        rows_update([rows[number] for number in numbers], COUNTED)


def _day_of(call: Call) -> date:
    return call.ended_at.astimezone(UTC).date()


@composed
def _costs(endpoints: list[int], day: date) -> QuerySet[DailyCost, DailyCost]:
    return DailyCost.objects.filter(endpoint__in=endpoints, day=day)


def _add_to_budgets(calls: list[Call]) -> None:
    """Count costs in the currency of each budget. A budget does not count others."""
    sums: dict[tuple[int, str], Decimal] = defaultdict(Decimal)
    for call in calls:
        if call.request.budget_id and call.cost:
            sums[call.request.budget_id, call.endpoint.currency] += call.cost
    for (number, currency), cost in sorted(sums.items()):
        CallBudget.objects.filter(pk=number, currency=currency).update(spent=F("spent") + cost)


def _add(row: DailyCost, call: Call) -> None:
    row.calls += 1
    row.failed += bool(call.error_class)
    row.input_tokens += call.input_tokens or 0
    row.output_tokens += call.output_tokens or 0
    row.cost += call.cost


def _complete(collection: Collection) -> None:
    """Close a collection without open requests."""
    if collection.state == Collection.State.COMPLETE or collection.requests.filter(state__in=CallRequest.OPEN).exists():
        return
    collection.state, collection.finished_at = Collection.State.COMPLETE, timezone.now()
    collection.save(update_fields=["state", "finished_at"])
