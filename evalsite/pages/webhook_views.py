"""The pages of webhooks: a signed-in person adds, tests, rotates, pauses and deletes them, and reads their logs."""

import uuid
from collections.abc import Callable, Mapping
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from evalsite.accounts.models import User
from evalsite.core.addresses import MAX_URL
from evalsite.core.errors import NotFound, TooMany, TouchstoneError
from evalsite.webhooks.models import Webhook
from evalsite.webhooks.selectors import deliveries_of, delivery_get, webhook_get, webhooks_of
from evalsite.webhooks.services import (
    delivery_resend,
    webhook_create,
    webhook_delete,
    webhook_pause,
    webhook_resume,
    webhook_rotate,
    webhook_test,
)

PER_PAGE = 50


class WebhookForm(forms.Form):
    url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=MAX_URL,
        help_text=gettext_lazy("Begins with https://. A server of yours answers there with a status of 200 to 299."),
        widget=forms.URLInput({"autocomplete": "off"}),
    )


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def webhooks(request: HttpRequest) -> HttpResponse:
    """List this person's webhooks, and add one with POST. The response to that POST alone shows the secret."""
    user = cast("User", request.user)
    form = WebhookForm(request.POST if request.method == "POST" else None)
    secret = ""
    if request.method == "POST" and form.is_valid():
        try:
            _made, secret = webhook_create(user=user, url=form.cleaned_data["url"])
        except TooMany:
            raise
        except TouchstoneError as refused:
            form.add_error(refused.field or None, f"{refused.message} {refused.hint}".strip())
        else:
            form = WebhookForm()
    context = {"form": form, "secret": secret, "webhooks": webhooks_of(user)}
    return render(request, "webhooks.html", context, status=400 if form.errors else 200)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD"])
def webhook(request: HttpRequest, webhook: uuid.UUID) -> HttpResponse:
    """Show a webhook with its delivery log."""
    return _page(request, _found(request, webhook))


@login_required
@require_POST
def webhook_act(request: HttpRequest, webhook: uuid.UUID, act: str) -> HttpResponse:
    """Test, pause or resume a webhook."""
    acts: Mapping[str, tuple[Callable[..., Any], str]] = {
        "test": (webhook_test, _("The test is queued. Reload the page to see how it went.")),
        "pause": (webhook_pause, _("The webhook is paused. Events are not recorded until you resume it.")),
        "resume": (webhook_resume, _("The webhook is active again.")),
    }
    if act not in acts:
        raise NotFound(_("There is nothing at this address."), hint=_("Go to the start page."))
    perform, done = acts[act]
    perform(webhook=_found(request, webhook))
    messages.success(request, done)
    return redirect("webhook", webhook)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def webhook_secret(request: HttpRequest, webhook: uuid.UUID) -> HttpResponse:
    """Ask whether to rotate the secret. The response to POST alone shows the new one."""
    found = _found(request, webhook)
    if request.method == "POST":
        return _page(request, found, secret=webhook_rotate(webhook=found))
    words = {
        "title": _("Rotate the secret"),
        "intro": _("You get a new secret. For 24 hours each message is signed with both, so that you can change over."),
        "button": _("Rotate"),
    }
    return _question(request, found, words)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def webhook_remove(request: HttpRequest, webhook: uuid.UUID) -> HttpResponse:
    """Ask whether to delete a webhook, and delete it with POST."""
    found = _found(request, webhook)
    if request.method == "POST":
        webhook_delete(webhook=found)
        messages.success(request, _("The webhook is deleted."))
        return redirect("webhooks")
    words = {
        "title": _("Delete the webhook"),
        "intro": _("Its secret and its delivery log are deleted, too. This cannot be undone."),
        "button": _("Delete"),
    }
    return _question(request, found, words)


@login_required
@require_POST
def delivery_again(request: HttpRequest, webhook: uuid.UUID, delivery: uuid.UUID) -> HttpResponse:
    """Send a message again."""
    delivery_resend(delivery=delivery_get(webhook=_found(request, webhook), public_id=delivery))
    messages.success(request, _("The message is queued. Reload the page to see how it went."))
    return redirect("webhook", webhook)


def _found(request: HttpRequest, public_id: uuid.UUID) -> Webhook:
    return webhook_get(public_id=public_id, among=webhooks_of(cast("User", request.user)))


def _page(request: HttpRequest, webhook: Webhook, *, secret: str = "") -> HttpResponse:
    page = Paginator(deliveries_of(webhook), PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "webhook.html", {"webhook": webhook, "page": page, "secret": secret})


def _question(request: HttpRequest, webhook: Webhook, words: Mapping[str, str]) -> HttpResponse:
    context = {"subject": webhook.url, "back": "webhook", "back_key": webhook.public_id, **words}
    return render(request, "account_confirm.html", context)
