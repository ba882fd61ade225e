"""What the views of annotators share: the caller, the body of the request and the throttle."""

from collections.abc import Callable
from functools import cache
from typing import Any, cast

from rest_framework.request import Request
from rest_framework.response import Response

from evalsite.api.authentication import AnnotatorCaller
from evalsite.api.fields import StrictSerializer
from evalsite.api.idempotency import answered
from evalsite.api.parsers import json_sent
from evalsite.campaigns.models import Campaign
from evalsite.core.errors import NotFound
from evalsite.core.idempotency import StoredAnswer
from evalsite.core.throttle import admit, client_address
from evalsite.judgments.claim_selectors import campaign_joined
from evalsite.judgments.models import Annotator

JOIN = "Join it first: POST /api/v1/campaigns/{campaign}/enrolments."


def checked_body(serializer: type[StrictSerializer], request: Request) -> dict[str, Any]:
    return dict(_serializer(serializer).run_validation(json_sent(request)))


@cache
def _serializer(serializer: type[StrictSerializer]) -> StrictSerializer:
    """Return one instance for all requests. It keeps nothing of them, and copying its fields would double the time."""
    return serializer()


def address_of(request: Request) -> str:
    return client_address(request._request)


def answered_to(request: Request, act: Callable[[], StoredAnswer]) -> Response:
    return answered(request, f"annotator:{caller_of(request).public_id}", act)


def caller_of(request: Request) -> Annotator:
    """Return the annotator of the token. Authentication and permissions have checked that there is one."""
    return cast("AnnotatorCaller", request.user).annotator


def admitted_caller(request: Request, what: str, per_minute: int) -> Annotator:
    """Return the caller and count this request. Raises TooMany."""
    annotator = caller_of(request)
    admit(what=what, who=str(annotator.public_id), at_most=per_minute, per_s=60)
    return annotator


def joined_campaign(key: str, annotator: Annotator) -> Campaign:
    """Return the campaign of this slug or id, if the annotator has joined it. Raises NotFound."""
    campaign = campaign_joined(annotator.pk, key)
    if campaign is None:
        raise NotFound("You have not joined such a campaign.", hint=JOIN)
    return campaign
