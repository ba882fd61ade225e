"""Write operations on webhooks, and the messages that an event queues for them."""

import ipaddress
import json
import secrets
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.core.addresses import OutboundError, allowed_networks, check_all, target_of
from evalsite.core.db import write_transaction
from evalsite.core.encryption import SecretUnreadable, encrypt, reencrypt
from evalsite.core.errors import Conflict, InvalidInput, NotFound
from evalsite.core.jobs import job_enqueue
from evalsite.core.throttle import admit
from evalsite.webhooks.models import Delivery, Webhook, WebhookSecret
from evalsite.webhooks.signatures import secret_make

DELIVER = "webhook_deliver"
TEST_EVENT = "webhook.test"
MOST_WEBHOOKS = 10  # of one person, for submissions and in each campaign
ACTS_PER_HOUR = 60  # of one person: each may call a stranger's server
ROTATED_SECRETS_SIGN = timedelta(hours=24)
MOST_SECRETS = 2  # that sign: the present one and the one before


@dataclass(frozen=True, slots=True)
class WebhookEvent:
    """A change that webhooks are told.

    about: public id of the changed object, whose messages arrive in order. data: the content of the message, called in
    the language of each webhook's owner.
    """

    type: str
    about: uuid.UUID
    at: datetime
    data: Callable[[], Mapping[str, Any]]


def webhook_create(
    *, user: User, url: str, subject: uuid.UUID | None = None, events: Sequence[str] = ()
) -> tuple[Webhook, str]:
    """Create a webhook. Return it with its secret, which is shown once.

    subject: public id of the campaign; None: the person's submissions. events: types of events; empty: all.

    Raises InvalidInput for an address that this site does not call, Conflict beyond the limit, and TooMany.
    """
    url = url.strip()
    _check_address(url)
    _admit(user)
    secret = secret_make()
    with write_transaction():
        User.objects.select_for_update(no_key=True).get(pk=user.pk)  # of two simultaneous requests, one waits
        if Webhook.objects.filter(user=user, subject=subject).count() >= MOST_WEBHOOKS:
            raise Conflict(
                _("You have %(most)s webhooks. That is the limit.") % {"most": MOST_WEBHOOKS},
                hint=_("Delete one that you no longer use."),
            )
        webhook = Webhook.objects.create(user=user, url=url, subject=subject, events=list(events))
        _secret_store(webhook, secret)
    return webhook, secret


def webhook_rotate(*, webhook: Webhook) -> str:
    """Create another secret and return it. The present one signs for 24 hours more. Raises TooMany."""
    _admit(webhook.user)
    secret, now = secret_make(), timezone.now()
    with write_transaction():
        locked = _locked(webhook)
        locked.secrets.filter(expires_at=None).update(expires_at=now + ROTATED_SECRETS_SIGN)
        kept = list(locked.secrets.order_by("-pk").values_list("pk", flat=True)[: MOST_SECRETS - 1])
        locked.secrets.exclude(pk__in=kept).delete()
        _secret_store(locked, secret)
    return secret


def webhook_pause(*, webhook: Webhook) -> None:
    """Stop deliveries. Queued ones wait, and events meanwhile are not recorded."""
    with write_transaction():
        locked = _locked(webhook)
        locked.state = Webhook.State.PAUSED
        locked.save(update_fields=["state"])


def webhook_resume(*, webhook: Webhook) -> None:
    """Deliver again, and begin with the queued messages."""
    with write_transaction():
        locked = _locked(webhook)
        locked.state = Webhook.State.ACTIVE
        locked.save(update_fields=["state"])
        deliver_soon(locked.pk)


def webhook_delete(*, webhook: Webhook) -> None:
    """Delete a webhook with its secrets and its delivery log."""
    with write_transaction():
        _locked(webhook).delete()


def webhooks_delete(*, user: User) -> None:
    """Delete all webhooks of a person, in the caller's transaction."""
    for webhook in Webhook.objects.select_for_update().filter(user=user).order_by("pk"):
        webhook.delete()


def webhook_test(*, webhook: Webhook) -> Delivery:
    """Queue a message without an event. Raises Conflict unless the webhook is active, and TooMany."""
    _admit(webhook.user)
    with write_transaction():
        locked = _locked(webhook)
        _check_active(locked)
        return _queue(locked, TEST_EVENT, {}, timezone.now())


def delivery_resend(*, delivery: Delivery) -> Delivery:
    """Queue a message again under its own id, so that its receiver can tell that it is the same.

    A message that waits for its next attempt is sent now, after the earlier ones about its object. Raises Conflict
    unless the webhook is active, and TooMany.
    """
    _admit(delivery.webhook.user)
    with write_transaction():
        locked = _locked(delivery.webhook)
        _check_active(locked)
        again = Delivery.objects.select_for_update().filter(pk=delivery.pk).first()
        if again is None:
            raise NotFound(_("This webhook has no such delivery."), hint=_("Look at its delivery log."))
        if again.state != Delivery.State.QUEUED:
            again.state, again.attempts = Delivery.State.QUEUED, 0
        again.next_attempt_at = timezone.now()
        again.save(update_fields=["state", "attempts", "next_attempt_at"])
        deliver_soon(locked.pk)
    return again


def event_record(*, webhooks: QuerySet[Webhook], event: WebhookEvent) -> None:
    """Queue a message to each of these webhooks that is active and wants it, in the transaction of the event."""
    active = webhooks.filter(state=Webhook.State.ACTIVE, user__is_active=True).select_related("user")
    if not active.exists():  # checked without a lock: most people and campaigns have none
        return
    for webhook in active.select_for_update(no_key=True, of=("self",)).order_by("pk"):
        if not webhook.events or event.type in webhook.events:
            with translation.override(webhook.user.mail_language):
                _queue(webhook, event.type, event.data(), event.at, about=event.about)


def deliver_soon(webhook_id: int) -> None:
    """Queue the job that sends the due messages of a webhook. One runs at a time, so that no server gets two."""
    job_enqueue(kind=DELIVER, key=f"{DELIVER}:{webhook_id}", args={"webhook": webhook_id})


def webhook_secrets_reencrypt() -> tuple[int, int]:
    """Encrypt every secret with the first key, in the caller's transaction.

    Return how many were encrypted, and how many no key decrypts.
    """
    done = unreadable = 0
    for secret in WebhookSecret.objects.select_for_update().order_by("pk"):
        try:
            secret.token, secret.key_id = reencrypt(secret.token)
        except SecretUnreadable:
            unreadable += 1
            continue
        secret.save(update_fields=["token", "key_id"])
        done += 1
    return done, unreadable


def _queue(
    webhook: Webhook, event_type: str, data: Mapping[str, Any], at: datetime, *, about: uuid.UUID | None = None
) -> Delivery:
    message = {"type": event_type, "timestamp": at.isoformat().replace("+00:00", "Z"), "data": dict(data)}
    made = Delivery.objects.create(
        webhook=webhook,
        message_id=f"msg_{secrets.token_hex(16)}",
        event_type=event_type,
        about=about,
        body=json.dumps(message, separators=(",", ":")),
    )
    deliver_soon(webhook.pk)
    return made


def _check_address(url: str) -> None:
    """Raise InvalidInput for an address that this site does not call. Names are looked up at each delivery."""
    networks, hint = allowed_networks(), _("Use the public https address of your receiver.")
    try:
        target = target_of(url, networks)
    except OutboundError as error:
        raise InvalidInput(_(error.detail), hint=hint, field="url") from None
    try:
        if _is_number(target.host):
            check_all(target, [target.host], networks)
    except OutboundError:
        raise InvalidInput(str(Delivery.Error.ADDRESS_REFUSED.label), hint=hint, field="url") from None


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _secret_store(webhook: Webhook, secret: str) -> None:
    token, key_id = encrypt(secret)
    WebhookSecret.objects.create(webhook=webhook, token=token, key_id=key_id)


def _locked(webhook: Webhook) -> Webhook:
    """Return the webhook, locked until the transaction ends. Raises NotFound if it was deleted meanwhile."""
    found = Webhook.objects.select_for_update().filter(pk=webhook.pk).first()
    if found is None:
        raise NotFound(_("There is no such webhook."), hint=_("Look at the list of webhooks."))
    return found


def _check_active(webhook: Webhook) -> None:
    if webhook.state != Webhook.State.ACTIVE:
        raise Conflict(_("This webhook is not active."), hint=_("Resume it first."))


def _admit(user: User) -> None:
    admit(what="webhook", who=f"user:{user.public_id}", at_most=ACTS_PER_HOUR, per_s=3600)
