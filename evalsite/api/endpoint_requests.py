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
    """Settings of an endpoint. Those that are absent stay as they are."""

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
    body_template = _text(MAX_TEXT, help_text='http_json: JSON with "{messages}" where the messages belong')
    reply_path = _text(MAX_NAME, help_text="http_json: such as choices.0.message.content")
    input_price = _amount(help_text="of a million input tokens")
    output_price = _amount(help_text="of a million output tokens")
    currency = StrictCharField(max_length=3, required=False)
    daily_cap = _amount(help_text="most that calls of one day (UTC) may cost: above 0, with both prices")
    version_cap = _amount(help_text="most that all calls may cost: above 0, with both prices")
    timeout_s = StrictIntegerField(min_value=1, max_value=LONGEST_TIMEOUT_S, required=False)
    concurrency = StrictIntegerField(min_value=1, max_value=MOST_CONCURRENT, required=False)
    secret = StrictCharField(
        min_length=SHORTEST_SECRET,
        max_length=LONGEST_SECRET,
        required=False,
        help_text="write-only; needed again with another address, adapter, header or template",
    )


class EndpointRequest(EndpointChangeRequest):
    """A new version of a chatbot that replies by an endpoint."""

    name = StrictCharField(max_length=200, help_text="name of the chatbot, which is created if there is none")
    label = StrictCharField(  # type: ignore[assignment]  # also an attribute of every field
        max_length=100, required=False, help_text="of the version; absent: the next number"
    )
    adapter = serializers.ChoiceField(choices=list(ADAPTERS))
    url = StrictCharField(max_length=MAX_URL)


class SecretRequest(StrictSerializer):
    """The secret of an endpoint. No answer shows it."""

    secret = StrictCharField(min_length=SHORTEST_SECRET, max_length=LONGEST_SECRET)


class PauseRequest(StrictSerializer):
    """Why an endpoint is paused."""

    reason = StrictCharField(max_length=500, required=False, allow_blank=True)


class CollectionRequest(StrictSerializer):
    """Whose prompts are asked."""

    prompt_set = StrictUUIDField(help_text="the id of a prompt set that you may see")
