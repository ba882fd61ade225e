"""Endpoints of live chatbots: settings, health, cost, tests, calls and collections. A secret is in none of them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers as s

from evalsite.api.responses.base import ResponseSerializer, cursor
from evalsite.endpoints.models import Call, Collection, Drift, Endpoint, EndpointCheck
from evalsite.endpoints.options import NAMES
from evalsite.endpoints.selectors import (
    CheckResult,
    CheckTurn,
    EndpointCost,
    EndpointHealth,
    check_result,
    collection_progress,
    drifts_open,
    endpoint_cost,
    endpoint_health,
    secret_set_at,
)

AMOUNT = "a decimal number as text"


def amount(value: Decimal | None) -> str | None:
    """Return an amount of money without trailing zeros."""
    return None if value is None else f"{value.normalize() + 0:f}"


class _Amount(s.CharField):
    """Describes an amount. The methods of the serializers make its text."""

    def __init__(self, **more: Any) -> None:
        super().__init__(help_text=AMOUNT, **more)


@extend_schema_serializer(component_name="EndpointChatbot")
class EndpointChatbotSerializer(ResponseSerializer):
    """The chatbot and the version that an endpoint belongs to."""

    id = s.UUIDField(source="chatbot.public_id")
    name = s.CharField(source="chatbot.name")
    version = s.UUIDField(source="public_id")
    version_label = s.CharField(source="label")


class EndpointHealthSerializer(ResponseSerializer):
    """State of an endpoint with figures of its recent calls: at most 200, of the last day."""

    state = s.CharField(help_text="untested, healthy, degraded, failing or paused")
    reason = s.CharField(allow_blank=True)
    advice = s.CharField(allow_blank=True, help_text="what to change")
    since = s.DateTimeField()
    calls = s.IntegerField()
    error_rate = s.FloatField(allow_null=True, help_text="from 0 to 1; null without calls")
    p50_ms = s.FloatField(allow_null=True, help_text="median latency of replies")
    p95_ms = s.FloatField(allow_null=True)
    errors = s.DictField(  # type: ignore[assignment]  # also an attribute of every serializer
        child=s.IntegerField(), help_text="failed calls by error class"
    )
    wait_until = s.DateTimeField(allow_null=True, help_text="time requested by the endpoint (Retry-After)")

    def get_errors(self, row: EndpointHealth) -> Mapping[str, int]:
        return dict(row.errors)


class EndpointCostSerializer(ResponseSerializer):
    """The cost of the calls."""

    currency = s.CharField()
    today = _Amount()
    total = _Amount()
    expected = _Amount()
    calls = s.IntegerField()
    daily_cap = _Amount(allow_null=True)
    version_cap = _Amount(allow_null=True)
    at_cap = s.CharField(allow_blank=True, help_text="the cap that stops new calls: daily, version, or blank")

    def get_today(self, row: EndpointCost) -> str | None:
        return amount(row.today)

    def get_total(self, row: EndpointCost) -> str | None:
        return amount(row.total)

    def get_expected(self, row: EndpointCost) -> str | None:
        return amount(row.expected)

    def get_daily_cap(self, row: EndpointCost) -> str | None:
        return amount(row.daily_cap)

    def get_version_cap(self, row: EndpointCost) -> str | None:
        return amount(row.version_cap)


class DriftSerializer(ResponseSerializer):
    """An unsettled sign that the model behind an endpoint has changed."""

    id = s.UUIDField(source="public_id")
    sign = s.CharField(help_text="model, fingerprint or replies")
    before = s.CharField(allow_blank=True)
    value = s.CharField(allow_blank=True, help_text="what the endpoint returned")
    raised_at = s.DateTimeField()


class EndpointSettingsSerializer(ResponseSerializer):
    """The settings of an endpoint. Prices are per million tokens."""

    adapter = s.CharField(help_text="openai, anthropic or http_json")
    url = s.CharField()
    model = s.CharField(allow_blank=True)
    system_prompt = s.CharField(allow_blank=True)
    temperature = s.FloatField(allow_null=True)
    max_tokens = s.IntegerField()
    headers = s.DictField(child=s.CharField(allow_blank=True), help_text="{secret} stands for the secret")
    body_template = s.CharField(allow_blank=True)
    reply_path = s.CharField(allow_blank=True)
    input_price = _Amount(allow_null=True)
    output_price = _Amount(allow_null=True)
    currency = s.CharField()
    daily_cap = _Amount(allow_null=True)
    version_cap = _Amount(allow_null=True)
    timeout_s = s.IntegerField()
    concurrency = s.IntegerField()

    def to_representation(self, instance: Endpoint) -> dict[str, Any]:
        values = {name: getattr(instance, name) for name in NAMES}
        return {name: amount(one) if isinstance(one, Decimal) else one for name, one in values.items()}


class EndpointSummarySerializer(ResponseSerializer):
    """An endpoint in a list."""

    id = s.UUIDField(source="public_id")
    chatbot = EndpointChatbotSerializer(source="version")
    adapter = s.CharField()
    url = s.CharField()
    model = s.CharField(allow_blank=True)
    state = s.CharField(help_text="untested, healthy, degraded, failing or paused")
    created_at = s.DateTimeField()


class EndpointSerializer(ResponseSerializer):
    """An endpoint."""

    id = s.UUIDField(source="public_id")
    chatbot = EndpointChatbotSerializer(source="version")
    settings = EndpointSettingsSerializer(source="*")
    secret_set_at = s.DateTimeField(
        allow_null=True, help_text="null if there is no secret; the secret itself is never shown"
    )
    health = EndpointHealthSerializer()
    cost = EndpointCostSerializer()
    drifts = DriftSerializer(many=True)
    created_at = s.DateTimeField()

    def get_secret_set_at(self, row: Endpoint) -> Any:
        return secret_set_at(row)

    def get_health(self, row: Endpoint) -> EndpointHealth:
        return endpoint_health(row)

    def get_cost(self, row: Endpoint) -> EndpointCost:
        return endpoint_cost(row)

    def get_drifts(self, row: Endpoint) -> list[Drift]:
        return drifts_open(row)


@extend_schema_serializer(component_name="Endpoints")
class EndpointPageSerializer(ResponseSerializer):
    """One page of the list of endpoints."""

    results = EndpointSummarySerializer(many=True)
    next = cursor()


# Tests -------------------------------------------------------------------------------------------------


class MaskedRequestSerializer(ResponseSerializer):
    """A request as it was sent, without the secret."""

    url = s.CharField()
    headers = s.DictField(child=s.CharField(allow_blank=True))
    body = s.CharField()

    def get_headers(self, row: Any) -> Mapping[str, str]:
        return dict(row.headers)


class CheckTurnSerializer(ResponseSerializer):
    """One call of a test."""

    request = MaskedRequestSerializer()
    prompt = s.CharField(allow_blank=True)
    reply = s.CharField(allow_blank=True)
    status = s.IntegerField(allow_null=True, help_text="HTTP status; null without a response")
    error = s.CharField(allow_blank=True, help_text="error class; blank if there is a reply")
    detail = s.CharField(allow_blank=True)
    advice = s.CharField(allow_blank=True, help_text="what to change")
    latency_ms = s.FloatField()
    first_byte_ms = s.FloatField(allow_null=True)
    input_tokens = s.IntegerField(allow_null=True)
    output_tokens = s.IntegerField(allow_null=True)
    cost = _Amount()
    cost_estimated = s.BooleanField(help_text="whether the endpoint reported no token counts")
    model_name = s.CharField(allow_blank=True)
    flags = s.ListField(child=s.CharField(), help_text="truncated, refusal, tool_call")

    def get_cost(self, row: CheckTurn) -> str | None:
        return amount(row.cost)

    def get_flags(self, row: CheckTurn) -> list[str]:
        return list(row.flags)


@extend_schema_serializer(component_name="EndpointTest")
class CheckSerializer(ResponseSerializer):
    """A test of an endpoint. Poll it until its state is no longer running."""

    id = s.UUIDField()
    state = s.CharField(help_text="running, passed or failed")
    expected_turns = s.IntegerField()
    cost = _Amount()
    currency = s.CharField()
    advice = s.CharField(allow_blank=True, help_text="what to change")
    turns = CheckTurnSerializer(many=True)

    def get_cost(self, row: Any) -> str | None:
        return amount(row.cost)

    def get_turns(self, row: Any) -> Sequence[CheckTurn]:
        return list(row.turns)

    @classmethod
    def of(cls, check: EndpointCheck) -> dict[str, Any]:
        result: CheckResult = check_result(check)
        shown = {name: getattr(result, name) for name in CheckResult.__dataclass_fields__}
        return cls.render({**shown, "id": check.public_id})


# Calls and costs ---------------------------------------------------------------------------------------


@extend_schema_serializer(component_name="Call")
class CallSerializer(ResponseSerializer):
    """One attempt to get a reply."""

    id = s.UUIDField(source="public_id")
    request = s.UUIDField(
        source="request.public_id", help_text="id of the request; all attempts at the same reply share it"
    )
    attempt = s.IntegerField()
    started_at = s.DateTimeField()
    first_byte_at = s.DateTimeField(allow_null=True)
    ended_at = s.DateTimeField()
    status = s.IntegerField(allow_null=True, help_text="HTTP status; null without a response")
    error = s.CharField(source="error_class", allow_blank=True, help_text="blank if there is a reply")
    detail = s.CharField(allow_blank=True)
    input_tokens = s.IntegerField(allow_null=True)
    output_tokens = s.IntegerField(allow_null=True)
    cost = _Amount()
    cost_estimated = s.BooleanField(help_text="whether the endpoint reported no token counts")
    model_name = s.CharField(allow_blank=True)
    flags = s.ListField(child=s.CharField(), help_text="truncated, refusal, tool_call")

    def get_cost(self, row: Call) -> str | None:
        return amount(row.cost)


@extend_schema_serializer(component_name="Calls")
class CallPageSerializer(ResponseSerializer):
    """One page of the list of calls."""

    results = CallSerializer(many=True)
    next = cursor()


class DailyCostSerializer(ResponseSerializer):
    """The calls of one day (UTC)."""

    day = s.CharField(help_text="such as 2026-11-24")
    calls = s.IntegerField()
    failed = s.IntegerField()
    cost = _Amount()


@extend_schema_serializer(component_name="DailyCosts")
class DailyCostsSerializer(ResponseSerializer):
    """The last days with calls, newest first."""

    currency = s.CharField()
    days = DailyCostSerializer(many=True)


# Collections -------------------------------------------------------------------------------------------


@extend_schema_serializer(component_name="Collection")
class CollectionSerializer(ResponseSerializer):
    """The state of the collection of replies to a prompt set."""

    id = s.UUIDField()
    endpoint = s.UUIDField()
    prompt_set = s.UUIDField()
    state = s.CharField(help_text="running, paused or complete")
    prompts = s.IntegerField()
    done = s.IntegerField()
    failed = s.IntegerField()
    open = s.IntegerField(help_text="prompts that are queued or in progress")
    running = s.IntegerField(help_text="calls in progress")
    without_text = s.IntegerField(help_text="prompts of the set that have no text and are skipped")
    cost = _Amount()
    expected_cost = _Amount()
    currency = s.CharField()
    waits_for = s.CharField(
        allow_blank=True,
        help_text="reason why no call begins: paused, failing, endpoint_paused, rate_limited, daily_cap, version_cap",
    )
    errors = s.DictField(  # type: ignore[assignment]  # also an attribute of every serializer
        child=s.IntegerField(), help_text="prompts without a reply, by error class"
    )
    created_at = s.DateTimeField()

    def get_cost(self, row: Any) -> str | None:
        return amount(row.cost)

    def get_expected_cost(self, row: Any) -> str | None:
        return amount(row.expected_cost)

    @classmethod
    def of(cls, collection: Collection) -> dict[str, Any]:
        """Return the body of an answer that shows this collection."""
        return cls.render(
            {
                **asdict(collection_progress(collection)),
                "id": collection.public_id,
                "endpoint": collection.endpoint.public_id,
                "prompt_set": collection.prompt_set.public_id,
                "created_at": collection.created_at,
            }
        )


@extend_schema_serializer(component_name="Collections")
class CollectionsSerializer(ResponseSerializer):
    """The collections of an endpoint, newest first."""

    results = CollectionSerializer(many=True)
