"""Webhooks of a campaign: add, test, pause, rotate and delete them, and read their delivery logs."""

import uuid
from collections.abc import Callable
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from evalsite.api.base_views import ManagerView
from evalsite.api.openapi import ACTING, IDEMPOTENCY_KEY, operation, reading
from evalsite.api.paging import page_of
from evalsite.api.requests import EmptyRequest, PageQuery
from evalsite.api.responses.webhooks import (
    DeliveryPageSerializer,
    DeliverySerializer,
    WebhookPageSerializer,
    WebhookSerializer,
    WebhookWithSecretSerializer,
)
from evalsite.api.webhook_requests import WebhookRequest
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.permissions import Act, campaign_for
from evalsite.campaigns.webhooks import (
    campaign_webhook_create,
    campaign_webhook_delete,
    campaign_webhook_get,
    campaign_webhook_rotate,
)
from evalsite.webhooks.models import Webhook
from evalsite.webhooks.selectors import deliveries_of, delivery_get, webhooks_on
from evalsite.webhooks.services import delivery_resend, webhook_pause, webhook_resume, webhook_test

KEYED = (IDEMPOTENCY_KEY,)


class CampaignWebhookView(ManagerView):
    """A view for people who may manage the webhooks of a campaign."""

    def campaign(self, request: Request, key: str) -> Campaign:
        return campaign_for(key=key, user=self.user(request), act=Act.WEBHOOKS)[0]

    def webhook(self, request: Request, key: str, webhook: uuid.UUID) -> Webhook:
        return campaign_webhook_get(campaign=self.campaign(request, key), public_id=webhook)

    def changed(self, request: Request, webhook: Webhook, change: Callable[..., None]) -> Response:
        """Return the answer of a change: the webhook afterwards."""
        self.body(request, EmptyRequest)

        def act() -> tuple[int, dict[str, Any]]:
            change(webhook=webhook)
            webhook.refresh_from_db()
            return 200, WebhookSerializer.render(webhook)

        return self.done(request, act)


class WebhooksView(CampaignWebhookView):
    """The webhooks of a campaign. An answer with a secret is not stored, so these POSTs take no Idempotency-Key."""

    query = PageQuery

    @reading("webhooks", "Its webhooks", WebhookPageSerializer, query=PageQuery)
    def get(self, request: Request, key: str) -> Response:
        rows = webhooks_on(self.campaign(request, key).public_id)
        return Response(WebhookPageSerializer.render(page_of(rows, **self.checked_query(request))))

    @operation("add_webhook", "Add a webhook; the answer shows its secret once", {201: WebhookWithSecretSerializer},
               ACTING, body=WebhookRequest)  # fmt: skip
    def post(self, request: Request, key: str) -> Response:
        campaign, given = self.campaign(request, key), self.body(request, WebhookRequest)
        made, secret = campaign_webhook_create(campaign=campaign, by=self.user(request), **given)
        return Response(WebhookWithSecretSerializer.of(made, secret), 201)


class WebhookView(CampaignWebhookView):
    """One webhook."""

    @reading("webhook", "A webhook", WebhookSerializer)
    def get(self, request: Request, key: str, webhook: uuid.UUID) -> Response:
        self.checked_query(request)
        return Response(WebhookSerializer.render(self.webhook(request, key, webhook)))

    @operation("delete_webhook", "Delete a webhook with its delivery log", {200: WebhookSerializer}, ACTING)
    def delete(self, request: Request, key: str, webhook: uuid.UUID) -> Response:
        found = self.webhook(request, key, webhook)
        self.body(request, EmptyRequest)
        shown = WebhookSerializer.render(found)
        campaign_webhook_delete(webhook=found, by=self.user(request))
        return Response(shown)


class WebhookSecretView(CampaignWebhookView):
    """The signing secret of a webhook."""

    @operation("rotate_webhook_secret", "Rotate its secret; both sign for 24 hours", {200: WebhookWithSecretSerializer},
               ACTING)  # fmt: skip
    def post(self, request: Request, key: str, webhook: uuid.UUID) -> Response:
        found = self.webhook(request, key, webhook)
        self.body(request, EmptyRequest)
        secret = campaign_webhook_rotate(webhook=found, by=self.user(request))
        return Response(WebhookWithSecretSerializer.of(found, secret))


class WebhookPauseView(CampaignWebhookView):
    """Pause a webhook."""

    @operation("pause_webhook", "Pause it: events meanwhile are not recorded", {200: WebhookSerializer}, ACTING,
               parameters=KEYED)  # fmt: skip
    def post(self, request: Request, key: str, webhook: uuid.UUID) -> Response:
        return self.changed(request, self.webhook(request, key, webhook), webhook_pause)


class WebhookResumeView(CampaignWebhookView):
    """Resume a webhook."""

    @operation("resume_webhook", "Deliver again", {200: WebhookSerializer}, ACTING, parameters=KEYED)
    def post(self, request: Request, key: str, webhook: uuid.UUID) -> Response:
        return self.changed(request, self.webhook(request, key, webhook), webhook_resume)


class WebhookTestView(CampaignWebhookView):
    """Send a message without an event."""

    @operation("send_webhook_test", "Send a message without an event", {202: DeliverySerializer}, ACTING,
               parameters=KEYED)  # fmt: skip
    def post(self, request: Request, key: str, webhook: uuid.UUID) -> Response:
        found = self.webhook(request, key, webhook)
        self.body(request, EmptyRequest)
        return self.done(request, lambda: (202, DeliverySerializer.render(webhook_test(webhook=found))))


class DeliveriesView(CampaignWebhookView):
    """The delivery log of a webhook."""

    query = PageQuery

    @reading("webhook_deliveries", "Its messages of 30 days", DeliveryPageSerializer, query=PageQuery)
    def get(self, request: Request, key: str, webhook: uuid.UUID) -> Response:
        rows = deliveries_of(self.webhook(request, key, webhook))
        return Response(DeliveryPageSerializer.render(page_of(rows, **self.checked_query(request))))


class DeliveryAgainView(CampaignWebhookView):
    """Send a message again."""

    @operation("send_again", "Send a message again under its own id", {202: DeliverySerializer}, ACTING,
               parameters=KEYED)  # fmt: skip
    def post(self, request: Request, key: str, webhook: uuid.UUID, delivery: uuid.UUID) -> Response:
        found = delivery_get(webhook=self.webhook(request, key, webhook), public_id=delivery)
        self.body(request, EmptyRequest)
        return self.done(request, lambda: (202, DeliverySerializer.render(delivery_resend(delivery=found))))
