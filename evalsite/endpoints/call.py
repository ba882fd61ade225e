"""Call an endpoint once. The network is reached here and nowhere else in this app."""

import json
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import MappingProxyType

from django.utils import timezone

from evalsite.core.addresses import OutboundError
from evalsite.core.outbound import Resolver, Response, post
from evalsite.endpoints.adapters import ADAPTERS
from evalsite.endpoints.adapters.base import MASK, AdapterOptions, ChatReply, Message, masked
from evalsite.endpoints.adapters.reading import error_text
from evalsite.endpoints.failures import CallFailed, ErrorClass, Failure

logger = logging.getLogger(__name__)
_STATUS: Mapping[int, ErrorClass] = MappingProxyType(
    {
        401: ErrorClass.UNAUTHORIZED,
        402: ErrorClass.PAYMENT,
        403: ErrorClass.UNAUTHORIZED,
        404: ErrorClass.NOT_FOUND,
        405: ErrorClass.NOT_FOUND,
        408: ErrorClass.BUSY,
        425: ErrorClass.BUSY,
        429: ErrorClass.RATE_LIMITED,
    }
)


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """One attempt: `reply` or `failure`. Times are aware; `first_byte_at` is None without a response."""

    reply: ChatReply | None
    failure: Failure | None
    status: int | None
    started_at: datetime
    first_byte_at: datetime | None
    ended_at: datetime


def endpoint_call(
    adapter_key: str,
    options: AdapterOptions,
    messages: Sequence[Message],
    *,
    timeout_s: float,
    resolver: Resolver | None = None,
) -> CallOutcome:
    """Ask the endpoint for the next reply, and return what happened within `timeout_s` seconds.

    Faults of the other side are failures, never exceptions. The secret is in no part of the outcome, even if the
    endpoint sends it back. Blocks its thread.
    """
    started_at, response, reply = timezone.now(), None, None
    status, first_byte_at = None, None
    try:
        response = _response(adapter_key, options, messages, timeout_s, resolver)
        status, first_byte_at = response.status, response.first_byte_at
        reply, failure = _read(adapter_key, options, response)
    except OutboundError as error:
        status, first_byte_at = error.status, error.first_byte_at
        failure = Failure(ErrorClass(error.kind), status, None, masked(error.detail, options.secret))
    except Exception as error:  # noqa: BLE001  a fault of ours must not end the caller; its text may hold the secret
        logger.error("A call by the adapter %s failed: %s", adapter_key, type(error).__name__)
        failure = Failure(ErrorClass.INTERNAL, status, None, type(error).__name__)
    return CallOutcome(reply, failure, status, started_at, first_byte_at, timezone.now())


def _response(
    adapter_key: str,
    options: AdapterOptions,
    messages: Sequence[Message],
    timeout_s: float,
    resolver: Resolver | None,
) -> Response:
    request = ADAPTERS[adapter_key].request(options, messages)
    return post(request.url, headers=request.headers, body=request.body, timeout_s=timeout_s, resolver=resolver)


def _read(adapter_key: str, options: AdapterOptions, response: Response) -> tuple[ChatReply | None, Failure | None]:
    secret = options.secret
    body = _masked_body(response.body, secret)
    if not 200 <= response.status < 300:
        return None, _status_failure(response, masked(error_text(body), secret))
    try:
        reply = ADAPTERS[adapter_key].reply(body, options)
    except CallFailed as error:
        return None, Failure(error.error_class, response.status, None, masked(error.detail, secret))
    return replace(
        reply,
        text=masked(reply.text, secret),
        finish_reason=masked(reply.finish_reason, secret),
        model=masked(reply.model, secret),
        fingerprint=masked(reply.fingerprint, secret),
    ), None


def _masked_body(body: bytes, secret: str) -> bytes:
    """Return the body without the secret, also as JSON escapes it.

    This comes before any text is cut to length: the half of a secret that is left would not be found later.
    """
    for written in (secret, json.dumps(secret)[1:-1]):
        body = body.replace(written.encode(), MASK.encode()) if secret else body
    return body


def _status_failure(response: Response, said: str) -> Failure:
    status = response.status
    usual = ErrorClass.SERVER_ERROR if status >= 500 else ErrorClass.REJECTED
    detail = f"Status {status}: {said}" if said else f"Status {status}."
    return Failure(_STATUS.get(status, usual), status, _retry_after(response.headers.get("retry-after", "")), detail)


def _retry_after(value: str) -> float | None:
    """Return the seconds that a Retry-After header asks for, as a number or a date. None if it is neither."""
    try:
        seconds = float(value)
    except ValueError:
        try:
            when = parsedate_to_datetime(value)
        except (ValueError, OverflowError):
            return None
        seconds = ((when if when.tzinfo else when.replace(tzinfo=UTC)) - timezone.now()).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None
