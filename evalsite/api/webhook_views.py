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
    """The webhooks of a campaign. A POST returns the secret once, so it takes no Idempotency-Key."""

    query = PageQuery

    @reading("webhooks", "List the webhooks of a campaign", WebhookPageSerializer, query=PageQuery)
    def get(self, request: Request, key: str) -> Response:
        rows = webhooks_on(self.campaign(request, key).public_id)
        return Response(WebhookPageSerializer.render(page_of(rows, **self.checked_query(request))))

    @operation("add_webhook", "Add a webhook", {201: WebhookWithSecretSerializer},
               ACTING, body=WebhookRequest)  # fmt: skip
    def post(self, request: Request, key: str) -> Response:
        campaign, given = self.campaign(request, key), self.body(request, WebhookRequest)
        made, secret = campaign_webhook_create(campaign=campaign, by=self.user(request), **given)
        return Response(WebhookWithSecretSerializer.of(made, secret), 201)


class WebhookView(CampaignWebhookView):
    """A webhook. Deleting it also deletes its delivery log."""

    @reading("webhook", "Get a webhook", WebhookSerializer)
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
    """The signing secret of a webhook. After a rotation, the old and the new secret both sign for 24 hours."""

    @operation("rotate_webhook_secret", "Rotate the secret of a webhook", {200: WebhookWithSecretSerializer},
               ACTING)  # fmt: skip
    def post(self, request: Request, key: str, webhook: uuid.UUID) -> Response:
        found = self.webhook(request, key, webhook)
        self.body(request, EmptyRequest)
        secret = campaign_webhook_rotate(webhook=found, by=self.user(request))
        return Response(WebhookWithSecretSerializer.of(found, secret))


class WebhookPauseView(CampaignWebhookView):
    """Pause a webhook. Events during the pause are not recorded."""

    @operation("pause_webhook", "Pause a webhook", {200: WebhookSerializer}, ACTING,
               parameters=KEYED)  # fmt: skip
    def post(self, request: Request, key: str, webhook: uuid.UUID) -> Response:
        return self.changed(request, self.webhook(request, key, webhook), webhook_pause)


class WebhookResumeView(CampaignWebhookView):
    """Resume a webhook and its deliveries."""

    @operation("resume_webhook", "Resume a webhook", {200: WebhookSerializer}, ACTING, parameters=KEYED)
    def post(self, request: Request, key: str, webhook: uuid.UUID) -> Response:
        return self.changed(request, self.webhook(request, key, webhook), webhook_resume)


class WebhookTestView(CampaignWebhookView):
    """Send a test message without an event."""

    @operation("send_webhook_test", "Send a test message", {202: DeliverySerializer}, ACTING,
               parameters=KEYED)  # fmt: skip
    def post(self, request: Request, key: str, webhook: uuid.UUID) -> Response:
        found = self.webhook(request, key, webhook)
        self.body(request, EmptyRequest)
        return self.done(request, lambda: (202, DeliverySerializer.render(webhook_test(webhook=found))))


class DeliveriesView(CampaignWebhookView):
    """The messages of a webhook in the last 30 days."""

    query = PageQuery

    @reading("webhook_deliveries", "List the deliveries of a webhook", DeliveryPageSerializer, query=PageQuery)
    def get(self, request: Request, key: str, webhook: uuid.UUID) -> Response:
        rows = deliveries_of(self.webhook(request, key, webhook))
        return Response(DeliveryPageSerializer.render(page_of(rows, **self.checked_query(request))))


class DeliveryAgainView(CampaignWebhookView):
    """Send a message again under its own id."""

    @operation("send_again", "Send a message again", {202: DeliverySerializer}, ACTING,
               parameters=KEYED)  # fmt: skip
    def post(self, request: Request, key: str, webhook: uuid.UUID, delivery: uuid.UUID) -> Response:
        found = delivery_get(webhook=self.webhook(request, key, webhook), public_id=delivery)
        self.body(request, EmptyRequest)
        return self.done(request, lambda: (202, DeliverySerializer.render(delivery_resend(delivery=found))))
