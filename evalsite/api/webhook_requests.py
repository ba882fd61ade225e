"""Bodies of requests about webhooks of campaigns."""

from rest_framework import serializers

from evalsite.api.fields import StrictCharField, StrictSerializer
from evalsite.campaigns.events import CampaignEvent


class WebhookRequest(StrictSerializer):
    """The address of a receiver, and the events that it receives."""

    url = StrictCharField(max_length=2000, help_text="begins with https://")
    events = serializers.ListField(
        child=serializers.ChoiceField(CampaignEvent.values),
        required=False,
        allow_empty=False,
        max_length=len(CampaignEvent.values),
        help_text="default: all events",
    )
