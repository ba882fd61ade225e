"""Webhooks of campaigns, and their deliveries."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers as s

from evalsite.api.responses.base import ResponseSerializer, cursor
from evalsite.webhooks.models import Webhook


class WebhookSerializer(ResponseSerializer):
    """A webhook of a campaign."""

    id = s.UUIDField(source="public_id")
    url = s.CharField()
    events = s.ListField(child=s.CharField(), help_text="types of the events that it receives")
    state = s.CharField(help_text="active, paused or disabled (the receiver answered 410)")
    added_by = s.CharField(source="user.username", help_text="person who gets a mail about failed messages")
    created_at = s.DateTimeField()


class WebhookWithSecretSerializer(WebhookSerializer):
    """A webhook with a new signing secret."""

    secret = s.CharField(help_text="shown in this response only")

    @classmethod
    def of(cls, webhook: Webhook, secret: str) -> dict[str, Any]:
        """Return the body of an answer that shows a new secret."""
        return {**WebhookSerializer.render(webhook), "secret": secret}


@extend_schema_serializer(component_name="Webhooks")
class WebhookPageSerializer(ResponseSerializer):
    """One page of the list of webhooks, oldest first."""

    results = WebhookSerializer(many=True)
    next = cursor()


class DeliverySerializer(ResponseSerializer):
    """A message to a webhook, with the outcome of the latest attempt."""

    id = s.UUIDField(source="public_id")
    message_id = s.CharField(help_text="value of the header `webhook-id`; a repeated message keeps it")
    event = s.CharField(source="event_type")
    body = s.CharField(help_text="JSON, exactly as it is signed and sent")
    state = s.CharField(help_text="queued, delivered or failed")
    attempts = s.IntegerField(help_text="number of attempts since it was queued")
    next_attempt_at = s.DateTimeField(allow_null=True, help_text="null unless it is queued")
    attempted_at = s.DateTimeField(allow_null=True, help_text="time of the latest attempt")
    status = s.IntegerField(allow_null=True, help_text="HTTP status; null without a response")
    error = s.CharField(
        source="get_error_display", allow_blank=True, help_text="reason why there is no complete response"
    )
    created_at = s.DateTimeField()

    def get_next_attempt_at(self, delivery: Any) -> Any:
        return delivery.next_attempt_at if delivery.state == "queued" else None

    def get_error(self, delivery: Any) -> str:
        return str(delivery.get_error_display())


@extend_schema_serializer(component_name="Deliveries")
class DeliveryPageSerializer(ResponseSerializer):
    """One page of the delivery log, oldest first."""

    results = DeliverySerializer(many=True)
    next = cursor()
