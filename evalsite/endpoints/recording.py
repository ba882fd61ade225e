"""Record the outcomes of calls, each fenced by its lease, and decide what happens next with each request.

The table of retries (`retries`) decides about single calls. A collection begins up to three rounds of them, because one
bad minute of an endpoint must not leave gaps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.utils import timezone

from evalsite.core.db import write_transaction
from evalsite.core.row_files import LONGEST_CELL, unstorable
from evalsite.endpoints.adapters.base import ChatReply
from evalsite.endpoints.batches import RecordingBatch
from evalsite.endpoints.call import CallOutcome
from evalsite.endpoints.failures import ErrorClass, Failure
from evalsite.endpoints.health import OWNER_MUST_ACT
from evalsite.endpoints.models import Call, CallRequest, Endpoint
from evalsite.endpoints.money import Usage, input_estimate, usage_of
from evalsite.endpoints.queue import LONGEST_HOLD, PlannedCall
from evalsite.endpoints.retries import ATTEMPTS, DELAYS, retry_delay
from evalsite.endpoints.selectors import LOST

MAY_BE_BILLED = frozenset({ErrorClass.TIMEOUT, ErrorClass.TOO_LARGE, ErrorClass.EMPTY})
"""Failures after which the provider may charge for a reply that was not read. They cost what was reserved."""
ROUNDS, BETWEEN_ROUNDS = 3, timedelta(seconds=10)
MOST_LOSSES = 5  # callers that died during the calls of one request: it may be the cause


@dataclass(frozen=True, slots=True)
class CallResult:
    """A claimed request and what its call gave."""

    planned: PlannedCall
    outcome: CallOutcome


def calls_record(results: Sequence[CallResult]) -> int:
    """Record the results whose lease is valid, in one transaction. Return their number."""
    if not results:
        return 0
    plans = [result.planned for result in results]
    with write_transaction():
        batch = RecordingBatch((one.request_id, one.endpoint_id, one.collection_id) for one in plans)
        for result in results:
            plan = result.planned
            if (request := batch.take(plan.request_id, plan.owner, plan.attempt)) is not None:
                _record(batch, request, result)
        return batch.write()


def lost_calls_requeue() -> int:
    """Queue the requests of dead callers again. Return their number.

    The outcome of a lost call is unknown. It may be billed, so it costs what was reserved.
    """
    now = timezone.now()
    lost = CallRequest.objects.filter(state=CallRequest.State.RUNNING, lease_until__lt=now)
    found = list(lost.order_by("pk")[:500])
    if not found:
        return 0
    with write_transaction():
        batch = RecordingBatch((one.pk, one.endpoint_id, one.collection_id) for one in found)
        for one in found:
            if (request := batch.take(one.pk, one.lease_owner, one.attempts)) is not None:
                _record_lost(batch, request, now)
        return batch.write()


def _record(batch: RecordingBatch, request: CallRequest, result: CallResult) -> None:
    endpoint, plan = batch.endpoints[request.endpoint_id], result.planned
    reply, failure = _accepted(result.outcome)
    said = result.outcome.reply
    usage = usage_of(endpoint, said, input_tokens=input_estimate(endpoint, plan.messages)) if said else None
    if reply is not None and usage is not None:
        batch.call(_call(request, result.outcome, usage=usage, reply=reply))
        batch.done(request, reply.text)
        return
    assert failure is not None  # noqa: S101  an outcome has a reply or a failure
    if usage is None:  # a reply that cannot be stored costs what it costs
        billed = plan.reserved if failure.error_class in MAY_BE_BILLED else Decimal(0)
        usage = Usage(0, 0, billed, bool(billed))
    batch.call(_call(request, result.outcome, usage=usage, failure=failure))
    _after_failure(endpoint, request, failure, batch.now)
    batch.changed(request)


def _record_lost(batch: RecordingBatch, request: CallRequest, now: datetime) -> None:
    begun = min(now, (request.lease_until or now))
    batch.call(
        Call(
            request=request,
            endpoint_id=request.endpoint_id,
            attempt=request.attempts,
            started_at=begun,
            ended_at=now,
            error_class=LOST,
            cost=request.reserved,
            cost_estimated=bool(request.reserved),
        )
    )
    request.losses += 1
    given_up = request.losses >= MOST_LOSSES or (request.give_up_at is not None and request.give_up_at <= now)
    request.state = CallRequest.State.FAILED if given_up else CallRequest.State.QUEUED
    request.error_class = LOST
    batch.changed(request)


def _accepted(outcome: CallOutcome) -> tuple[ChatReply | None, Failure | None]:
    """Return the reply if it can be stored, else why not."""
    reply = outcome.reply
    if reply is None:
        return None, outcome.failure or Failure(ErrorClass.INTERNAL)
    if not reply.text.strip():
        return None, Failure(ErrorClass.EMPTY, outcome.status)
    if what := unstorable(reply.text):
        return None, Failure(ErrorClass.BAD_RESPONSE, outcome.status, None, f"The reply contains {what}.")
    if len(reply.text) > LONGEST_CELL:
        return None, Failure(ErrorClass.TOO_LARGE, outcome.status, None, "The reply is longer than a reply may be.")
    return reply, None


def _call(
    request: CallRequest,
    outcome: CallOutcome,
    *,
    usage: Usage,
    reply: ChatReply | None = None,
    failure: Failure | None = None,
) -> Call:
    began, ended = outcome.started_at, max(outcome.started_at, outcome.ended_at)  # the clock may be set back
    return Call(
        request=request,
        endpoint_id=request.endpoint_id,
        attempt=request.attempts,
        started_at=began,
        first_byte_at=outcome.first_byte_at and max(began, outcome.first_byte_at),
        ended_at=ended,
        status=outcome.status,
        error_class=failure.error_class if failure else "",
        detail=_storable(failure.detail, 300) if failure else "",
        input_tokens=usage.input_tokens if reply else None,
        output_tokens=usage.output_tokens if reply else None,
        cost=usage.cost,
        cost_estimated=usage.estimated,
        model_name=_storable(reply.model, 200) if reply else "",
        fingerprint=_storable(reply.fingerprint, 200) if reply else "",
        flags=list(reply.flags) if reply else [],
    )


def _storable(text: str, longest: int) -> str:
    return ascii(text)[1 : longest + 1] if unstorable(text) else text[:longest]


def _after_failure(endpoint: Endpoint, request: CallRequest, failure: Failure, now: datetime) -> None:
    """Set when the request is called again, or that it has failed. Checks are not repeated: their failure is shown."""
    request.error_class = failure.error_class
    asked = timedelta(seconds=min(failure.retry_after_s or 0.0, LONGEST_HOLD.total_seconds()))
    if failure.error_class == ErrorClass.RATE_LIMITED:
        _hold(endpoint, now + max(asked, timedelta(seconds=1)))
    wait = None if request.check_run_id else _wait(request, failure, asked)
    if wait is None or (request.give_up_at is not None and now + wait >= request.give_up_at):
        request.state = CallRequest.State.FAILED
    else:
        request.state, request.run_after = CallRequest.State.QUEUED, now + wait


def _wait(request: CallRequest, failure: Failure, asked: timedelta) -> timedelta | None:
    """Return how long the request waits for its next call; None to give up. An annotator waits for a live turn."""
    request.failures += 1
    if request.give_up_at is not None:
        delay = retry_delay(failure, attempt=request.failures)
        return None if delay is None else timedelta(seconds=delay)
    if failure.error_class in OWNER_MUST_ACT:  # the endpoint is failing now: its requests wait for its owner
        return timedelta(0) if request.failures < ATTEMPTS else None
    delay = retry_delay(failure, attempt=request.failures)
    if delay is not None:
        return timedelta(seconds=delay)
    if failure.error_class not in DELAYS or request.rounds + 1 >= ROUNDS:
        return None
    request.failures, request.rounds = 0, request.rounds + 1
    return max(BETWEEN_ROUNDS * request.rounds**2, asked)


def _hold(endpoint: Endpoint, until: datetime) -> None:
    """Have no call begin before this time, because the endpoint accepts fewer calls."""
    if endpoint.wait_until is None or endpoint.wait_until < until:
        endpoint.wait_until = until
        endpoint.save(update_fields=["wait_until"])
