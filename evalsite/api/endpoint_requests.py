"""Bodies of requests about endpoints."""

from typing import Any

from rest_framework import serializers

from evalsite.api.fields import (
    MAX_MONEY,
    AmountField,
    StrictCharField,
    StrictFloatField,
    StrictIntegerField,
    StrictSerializer,
    StrictUUIDField,
)
from evalsite.endpoints.adapters import ADAPTERS
from evalsite.endpoints.models import LONGEST_TIMEOUT_S, MOST_CONCURRENT, MOST_TOKENS
from evalsite.endpoints.options import LONGEST_SECRET, SHORTEST_SECRET

MAX_TEXT, MAX_NAME, MAX_URL = 20_000, 200, 2000


def _text(most: int, **more: Any) -> StrictCharField:
    return StrictCharField(max_length=most, required=False, allow_blank=True, **more)


def _amount(**more: Any) -> AmountField:
    return AmountField(min_value=0, max_value=MAX_MONEY, required=False, allow_null=True, **more)


class EndpointChangeRequest(StrictSerializer):
    """Settings of an endpoint. Absent settings do not change."""

    adapter = serializers.ChoiceField(choices=list(ADAPTERS), required=False)
    url = StrictCharField(max_length=MAX_URL, required=False)
    model = _text(MAX_NAME)
    system_prompt = _text(MAX_TEXT)
    temperature = StrictFloatField(min_value=0, max_value=2, required=False, allow_null=True)
    max_tokens = StrictIntegerField(min_value=1, max_value=MOST_TOKENS, required=False)
    headers = serializers.DictField(
        child=StrictCharField(max_length=MAX_URL, allow_blank=True),
        required=False,
        help_text="{secret} stands for the secret",
    )
    body_template = _text(MAX_TEXT, help_text='for http_json: JSON with "{messages}" in place of the messages')
    reply_path = _text(MAX_NAME, help_text="for http_json: such as choices.0.message.content")
    input_price = _amount(help_text="price of a million input tokens")
    output_price = _amount(help_text="price of a million output tokens")
    currency = StrictCharField(max_length=3, required=False)
    daily_cap = _amount(help_text="maximum cost of the calls of one day (UTC): above 0, needs both prices")
    version_cap = _amount(help_text="maximum cost of all calls: above 0, needs both prices")
    timeout_s = StrictIntegerField(min_value=1, max_value=LONGEST_TIMEOUT_S, required=False)
    concurrency = StrictIntegerField(min_value=1, max_value=MOST_CONCURRENT, required=False)
    secret = StrictCharField(
        min_length=SHORTEST_SECRET,
        max_length=LONGEST_SECRET,
        required=False,
        help_text="write-only; required again if the address, the adapter, a header or the template changes",
    )


class EndpointRequest(EndpointChangeRequest):
    """A new version of a chatbot with an endpoint."""

    name = StrictCharField(max_length=200, help_text="name of the chatbot, which is created if it does not exist")
    label = StrictCharField(  # type: ignore[assignment]  # also an attribute of every field
        max_length=100, required=False, help_text="label of the version; default: the next number"
    )
    adapter = serializers.ChoiceField(choices=list(ADAPTERS))
    url = StrictCharField(max_length=MAX_URL)


class SecretRequest(StrictSerializer):
    """The secret of an endpoint. No response contains it."""

    secret = StrictCharField(min_length=SHORTEST_SECRET, max_length=LONGEST_SECRET)


class PauseRequest(StrictSerializer):
    """The reason for the pause of an endpoint."""

    reason = StrictCharField(max_length=500, required=False, allow_blank=True)


class CollectionRequest(StrictSerializer):
    """The prompt set of a collection."""

    prompt_set = StrictUUIDField(help_text="id of a prompt set that you may see")
