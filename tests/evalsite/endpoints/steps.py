"""Steps of these tests: settings, outcomes, and a caller that runs here until nothing is left to do."""

import threading
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone

from evalsite.endpoints.adapters.base import ChatReply
from evalsite.endpoints.call import CallOutcome
from evalsite.endpoints.caller import Caller
from evalsite.endpoints.failures import ErrorClass, Failure
from evalsite.endpoints.models import CallRequest, Endpoint
from evalsite.endpoints.options import EndpointSettings
from evalsite.endpoints.queue import PlannedCall, calls_claim, endpoints_with_work
from evalsite.endpoints.recording import CallResult, calls_record

SECRET = "sk-very-secret-0123456789-tests"
PRICED = EndpointSettings(
    adapter="openai",
    url="https://chat.example.org/v1",
    model="tiny",
    max_tokens=1000,
    input_price=Decimal(1),
    output_price=Decimal(10),
)


def wanted(**changes: Any) -> EndpointSettings:
    return replace(PRICED, **changes)


def said(text: str = "An answer.", **more: Any) -> CallOutcome:
    """The outcome of a call that went well in a quarter of a second."""
    now = timezone.now()
    given: dict[str, Any] = {"prompt_tokens": 10, "completion_tokens": 20, "model": "tiny-1", **more}
    return CallOutcome(
        ChatReply(text, **given), None, 200, now - timedelta(seconds=0.25), now - timedelta(seconds=0.1), now
    )


def failed(error: ErrorClass, *, status: int | None = 500, retry_after_s: float | None = None) -> CallOutcome:
    now = timezone.now()
    return CallOutcome(None, Failure(error, status, retry_after_s, "It says no."), status, now, now, now)


def claim(endpoint: Endpoint, most: int = 100, *, owner: str = "here:1") -> list[PlannedCall]:
    return calls_claim(owner=owner, room={endpoint.pk: most})


def work(endpoint: Endpoint, *outcomes: CallOutcome) -> int:
    """Claim as many calls as there are outcomes, at most, and record them; the number of calls."""
    plans = claim(endpoint, len(outcomes))
    return calls_record([CallResult(plan, outcome) for plan, outcome in zip(plans, outcomes, strict=False)])


def make_due() -> None:
    """Let waiting requests and endpoints be called now."""
    past = timezone.now() - timedelta(seconds=1)
    CallRequest.objects.filter(state=CallRequest.State.QUEUED).update(run_after=past)
    Endpoint.objects.update(wait_until=None)


def call_all(**options: Any) -> None:
    """Run a caller here until no request is due and nothing is in progress."""
    Caller(owner="here:1", **options).run_until(threading.Event(), idle=lambda: not endpoints_with_work())
