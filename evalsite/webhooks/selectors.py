"""Read operations on webhooks and their deliveries."""

import uuid
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.core.db import CLOCK_SET_BACK
from evalsite.core.errors import NotFound
from evalsite.webhooks.models import Delivery, Webhook, WebhookSecret

LONGEST_WAIT = timedelta(hours=24)


def webhooks_of(user: User) -> QuerySet[Webhook]:
    """Return the webhooks for a person's submissions, the oldest first."""
    return Webhook.objects.filter(user=user, subject=None).order_by("pk")


def webhooks_on(subject: uuid.UUID) -> QuerySet[Webhook]:
    """Return the webhooks of a campaign, the oldest first."""
    return Webhook.objects.filter(subject=subject).select_related("user").order_by("pk")


def webhook_get(*, public_id: uuid.UUID, among: QuerySet[Webhook]) -> Webhook:
    """Return the webhook with this public id. Raises NotFound."""
    found = among.filter(public_id=public_id).first()
    if found is None:
        raise NotFound(_("There is no such webhook."), hint=_("Look at the list of webhooks."))
    return found


def deliveries_of(webhook: Webhook) -> QuerySet[Delivery]:
    """Return the messages to a webhook, the newest first."""
    return Delivery.objects.filter(webhook=webhook).order_by("-pk")


def delivery_get(*, webhook: Webhook, public_id: uuid.UUID) -> Delivery:
    """Return a message to this webhook. Raises NotFound."""
    found = deliveries_of(webhook).filter(public_id=public_id).first()
    if found is None:
        raise NotFound(_("This webhook has no such delivery."), hint=_("Look at its delivery log."))
    return found


def due_deliveries(now: datetime) -> QuerySet[Delivery]:
    """Return messages to active webhooks that can be sent now, the longest waiting first.

    A message waits for the earlier ones about the same object.
    """
    far = now + LONGEST_WAIT + CLOCK_SET_BACK
    due = Q(next_attempt_at__lte=now) | Q(next_attempt_at__gt=far)
    queued = Delivery.objects.filter(state=Delivery.State.QUEUED)
    earlier = queued.filter(webhook=OuterRef("webhook"), about=OuterRef("about"), pk__lt=OuterRef("pk"))
    rows = queued.filter(due, ~Exists(earlier), webhook__state=Webhook.State.ACTIVE)
    return rows.order_by("next_attempt_at", "pk")


def signing_secrets(webhook: Webhook, now: datetime) -> QuerySet[WebhookSecret]:
    """Return the secrets in force, the newest first."""
    return webhook.secrets.filter(Q(expires_at=None) | Q(expires_at__gt=now)).order_by("-pk")
