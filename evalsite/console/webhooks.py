"""Webhooks of a campaign in the console: the form, and what the two pages show."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from evalsite.campaigns.events import CampaignEvent
from evalsite.console.page_frame import CampaignContext
from evalsite.core.addresses import MAX_URL
from evalsite.webhooks.models import Webhook
from evalsite.webhooks.selectors import deliveries_of, webhooks_on

LOGGED = 100


class CampaignWebhookForm(forms.Form):
    """The address of a receiver, and the events that it is told."""

    url = forms.CharField(
        label=_("Address"),
        max_length=MAX_URL,
        help_text=_("Begins with https://. A server of yours answers there with a status of 200 to 299."),
        widget=forms.URLInput({"autocomplete": "off"}),
    )
    events = forms.MultipleChoiceField(
        label=_("Events"),
        choices=CampaignEvent.choices,
        initial=CampaignEvent.values,
        widget=forms.CheckboxSelectMultiple,
    )


def list_context(desk: CampaignContext) -> dict[str, Any]:
    """Return the webhooks of a campaign."""
    return {"rows": [_row(one, desk) for one in webhooks_on(desk.campaign.public_id)]}


def webhook_context(webhook: Webhook) -> dict[str, Any]:
    """Return a webhook with its latest deliveries."""
    return {"webhook": webhook, "events": _event_labels(webhook), "page": deliveries_of(webhook)[:LOGGED]}


def _row(webhook: Webhook, desk: CampaignContext) -> dict[str, Any]:
    return {
        "webhook": webhook,
        "url": desk.url("console_webhook", webhook.public_id),
        "events": _event_labels(webhook),
    }


def _event_labels(webhook: Webhook) -> list[Any]:
    return [label for value, label in CampaignEvent.choices if value in webhook.events]
