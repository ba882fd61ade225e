"""How docs/openapi.yaml is generated (`make openapi`): requests, responses and errors of each operation."""

from collections.abc import Callable
from itertools import product
from typing import Any, TypeVar

from drf_spectacular.authentication import SessionScheme
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema

from evalsite.api.fields import StrictSerializer
from evalsite.api.responses.errors import ErrorSerializer
from evalsite.operations.actions import PERFORMED

JSON = "application/json"
REFUSALS = {
    400: "the request does not match this document",
    401: "the token is missing or not valid",
    403: "you do not have permission",
    404: "not found, or not visible to you",
    406: "the response is available as JSON only",
    409: "the request conflicts with the current state; `code` names the conflict",
    413: "the body is too large",
    415: "the content type is not supported",
    429: "too many requests; see Retry-After",
    503: "the database does not respond; repeat the request after Retry-After",
}
ENROLLING = (400, 403, 404, 406, 409, 413, 415, 429, 503)
JUDGING = (400, 401, 404, 406, 409, 413, 415, 429, 503)
ACTING = (400, 401, 403, 404, 406, 409, 413, 415, 429, 503)
READING = (400, 401, 403, 404, 406, 429, 503)
_TAGS = {READING: "read", ACTING: "act"}
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
    OpenApiParameter.HEADER,
    description="A repeated request with the same key gets the first response, for a day.",
)
RETRY_AFTER = OpenApiParameter(
    "Retry-After",
    {"type": "integer", "minimum": 1},
    OpenApiParameter.HEADER,
    required=True,
    response=[429, 503],
    description="seconds",
)
KEYS = {"key": "a slug (public campaigns), or an id (also by link)", "organisation": "its slug"}
ViewT = TypeVar("ViewT", bound=Callable[..., Any])


def operation(
    name: str,
    summary: str,
    answers: dict[int, Any],
    refusals: tuple[int, ...],
    *,
    body: type[StrictSerializer] | dict[str, Any] | None = None,
    query: type[StrictSerializer] | None = None,
    parameters: tuple[OpenApiParameter, ...] = (),
    content_types: tuple[str, ...] = (JSON,),
    tag: str = "",
) -> Callable[[ViewT], ViewT]:
    """Describe a method of a view."""
    shaped = product(((status, shape) for status, shape in answers.items() if shape is not None), content_types)
    answered = {(status, content_type): shape for (status, shape), content_type in shaped}
    empty = {status: OpenApiResponse(description="not modified") for status in answers if not answers[status]}
    refused = {(status, JSON): OpenApiResponse(ErrorSerializer, REFUSALS[status]) for status in refusals}
    return extend_schema(
        operation_id=name,
        summary=summary,
        description="",
        tags=[tag or _TAGS.get(refusals, "judge")],
        request=body,
        parameters=[*parameters, RETRY_AFTER, *([query] if query else [])],
        responses={**answered, **empty, **refused},
    )


def enrolling(name: str, summary: str, shape: Any, **more: Any) -> Callable[[ViewT], ViewT]:
    """Describe a POST without a token."""
    return operation(name, summary, {201: shape}, ENROLLING, parameters=(IDEMPOTENCY_KEY,), **more)


def judging(name: str, summary: str, *answers: Any, admits: bool = False, **more: Any) -> Callable[[ViewT], ViewT]:
    """Describe a POST of an annotator. admits: whether the campaign may refuse the annotator."""
    statuses = {200: answers[0]} if len(answers) == 1 else {200: answers[0], 201: answers[1]}
    refusals = ACTING if admits else JUDGING
    return operation(name, summary, statuses, refusals, parameters=(IDEMPOTENCY_KEY,), tag="judge", **more)


def acting(name: str, summary: str, shape: Any, **more: Any) -> Callable[[ViewT], ViewT]:
    """Describe a POST of a person who runs a campaign."""
    act = OpenApiParameter(
        "act",
        str,
        OpenApiParameter.PATH,
        enum=PERFORMED,
        description="the action; docs/roles.md lists who may perform it",
    )
    return operation(name, summary, {200: shape}, ACTING, parameters=(IDEMPOTENCY_KEY, act), **more)


def sending(name: str, summary: str, shape: Any, *, types: tuple[str, ...], **more: Any) -> Callable[[ViewT], ViewT]:
    """Describe a POST of a file: 201 with a report, or 200 if nothing was stored."""
    answers, body = {200: shape, 201: shape}, dict.fromkeys(types, OpenApiTypes.STR)
    return operation(name, summary, answers, ACTING, parameters=(IDEMPOTENCY_KEY,), body=body, **more)


def reading(name: str, summary: str, shape: Any, **more: Any) -> Callable[[ViewT], ViewT]:
    """Describe a GET of a reader."""
    return operation(name, summary, {200: shape}, READING, **more)


class Schema(AutoSchema):
    """Name a body after its class: `JudgmentRequest` is JudgmentRequest, `BlockSerializer` is Block."""

    def get_serializer_name(self, serializer: Any, direction: Any) -> str:
        """Return the name without the suffix that the framework adds to requests."""
        return str(super().get_serializer_name(serializer, direction)).removesuffix("Request")


class _Bearer(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    description = ""

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": self.description}


class AnnotatorBearer(_Bearer):  # type: ignore[no-untyped-call]
    target_class = "evalsite.api.authentication.AnnotatorTokenAuthentication"
    name = "annotator"
    description = "An annotator's token, from POST /api/v1/annotators."


class PersonBearer(_Bearer):  # type: ignore[no-untyped-call]
    target_class = "evalsite.api.authentication.PersonTokenAuthentication"
    name = "person"
    description = "A person's token with scopes, from the page of API tokens or manage.py api_token."


class BrowserSession(SessionScheme):  # type: ignore[no-untyped-call]
    target_class = "evalsite.api.authentication.BrowserAuthentication"


def sharpen(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add to the generated schema that unknown fields are refused, and the pattern of keys."""
    for name, schema in result["components"]["schemas"].items():
        if name.endswith("Request"):
            schema["additionalProperties"] = False
    for operations in result["paths"].values():
        for described in operations.values():
            for parameter in described.get("parameters", []):
                if parameter["in"] == "path" and parameter["name"] in KEYS:
                    parameter["schema"]["pattern"] = "^[-a-zA-Z0-9_]+$"
                    parameter["description"] = KEYS[parameter["name"]]
    return result


TEXT = OpenApiTypes.STR
