"""Views of a campaign's webhooks: the list with a form, and one webhook with its delivery log."""

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from evalsite.campaigns.permissions import Act
from evalsite.campaigns.webhooks import (
    campaign_webhook_create,
    campaign_webhook_delete,
    campaign_webhook_get,
    campaign_webhook_rotate,
)
from evalsite.console.page_frame import CampaignContext, campaign_context_for, frame, person
from evalsite.console.views import console_page
from evalsite.console.webhooks import CampaignWebhookForm, list_context, webhook_context
from evalsite.core.errors import NotFound, TouchstoneError
from evalsite.webhooks.models import Webhook
from evalsite.webhooks.selectors import delivery_get
from evalsite.webhooks.services import delivery_resend, webhook_pause, webhook_resume, webhook_test


@console_page
@require_http_methods(["GET", "HEAD", "POST"])
def webhooks(request: HttpRequest, key: str) -> HttpResponse:
    """List the webhooks, and add one with POST. The response to that POST alone shows the secret."""
    desk = campaign_context_for(request, key, Act.WEBHOOKS)
    form = CampaignWebhookForm(request.POST if request.method == "POST" else None)
    secret, status = "", 400 if form.errors else 200
    if request.method == "POST" and form.is_valid():
        try:
            _made, secret = campaign_webhook_create(campaign=desk.campaign, by=person(request), **form.cleaned_data)
            form = CampaignWebhookForm()
        except TouchstoneError as error:
            field = error.field if error.field in form.fields else None
            form.add_error(field, f"{error.message} {error.hint}".strip())
            status = error.status
    context = {**frame(desk, "console_webhooks"), **list_context(desk), "form": form, "secret": secret}
    return render(request, "console/webhooks.html", context, status=status)


@console_page
@require_http_methods(["GET", "HEAD", "POST"])
def webhook(request: HttpRequest, key: str, webhook: uuid.UUID) -> HttpResponse:
    """Show a webhook with its delivery log."""
    desk = campaign_context_for(request, key, Act.WEBHOOKS)
    found = campaign_webhook_get(campaign=desk.campaign, public_id=webhook)
    return _page(request, desk, found)


@console_page
@require_http_methods(["POST"])
def webhook_act(request: HttpRequest, key: str, webhook: uuid.UUID, act: str) -> HttpResponse:
    """Test, pause, resume, rotate or delete a webhook. A response to a rotation alone shows the new secret."""
    desk = campaign_context_for(request, key, Act.WEBHOOKS)
    found = campaign_webhook_get(campaign=desk.campaign, public_id=webhook)
    if act == "secret":
        secret = campaign_webhook_rotate(webhook=found, by=person(request))
        return _page(request, desk, found, secret=secret)
    if act == "delete":
        campaign_webhook_delete(webhook=found, by=person(request))
        messages.success(request, _("The webhook is deleted."))
        return redirect(desk.url("console_webhooks"))
    perform, done = _acts(act)
    perform(webhook=found)
    messages.success(request, done)
    return redirect(desk.url("console_webhook", webhook))


@console_page
@require_http_methods(["POST"])
def delivery_again(request: HttpRequest, key: str, webhook: uuid.UUID, delivery: uuid.UUID) -> HttpResponse:
    """Send a message again."""
    desk = campaign_context_for(request, key, Act.WEBHOOKS)
    found = campaign_webhook_get(campaign=desk.campaign, public_id=webhook)
    delivery_resend(delivery=delivery_get(webhook=found, public_id=delivery))
    messages.success(request, _("The message is queued. Reload the page to see how it went."))
    return redirect(desk.url("console_webhook", webhook))


def _acts(act: str) -> tuple[Callable[..., Any], str]:
    """Return the service of an act, and the sentence after it. Raises NotFound."""
    acts: Mapping[str, tuple[Callable[..., Any], str]] = {
        "test": (webhook_test, _("The test is queued. Reload the page to see how it went.")),
        "pause": (webhook_pause, _("The webhook is paused. Events are not recorded until you resume it.")),
        "resume": (webhook_resume, _("The webhook is active again.")),
    }
    if act not in acts:
        raise NotFound(_("There is nothing at this address."), hint=_("Go to the start page."))
    return acts[act]


def _page(request: HttpRequest, desk: CampaignContext, webhook: Webhook, *, secret: str = "") -> HttpResponse:
    context = {**frame(desk, "console_webhooks"), **webhook_context(webhook), "secret": secret}
    return render(request, "console/webhook.html", context)
