"""Delivery of queued messages: signed requests to the receivers, retries, and the outcome of each attempt.

One job at a time sends the messages of a webhook. A server that hangs therefore holds up its own messages only. No
transaction is open during a request.
"""

import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.utils import timezone

from evalsite.core import jobs
from evalsite.core.addresses import OutboundError
from evalsite.core.db import write_transaction
from evalsite.core.encryption import SecretUnreadable, decrypt
from evalsite.core.jobs import job_enqueue
from evalsite.core.outbound import post
from evalsite.webhooks.models import LONGEST_RESPONSE, Delivery, Webhook
from evalsite.webhooks.selectors import due_deliveries, signing_secrets
from evalsite.webhooks.services import DELIVER, deliver_soon
from evalsite.webhooks.signatures import headers

WAITS = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=14),
    timedelta(hours=20),
    timedelta(hours=24),
)
"""Waits between the attempts, as the specification suggests. After the last one the message has failed."""

FAILURE_MAIL = "webhook_mail"
TIMEOUT_S = 15.0
TURN_S = 15.0  # after which a job leaves the thread to other webhooks
MAX_RESPONSE_BYTES = 64_000
GONE = 410
KEPT = timedelta(days=30)
TOLD_EVERY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """One request, complete with all that it needs."""

    url: str
    body: str = field(repr=False)
    headers: dict[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an attempt. `error` is blank if there was a complete response."""

    at: datetime
    duration_ms: int = 0
    status: int | None = None
    response: str = ""
    error: str = ""

    @property
    def accepted(self) -> bool:
        """Whether the receiver has the message: the status decides, even if its response was too large to read."""
        return self.status is not None and 200 <= self.status < 300 and self.error in {"", Delivery.Error.TOO_LARGE}


@jobs.handles(DELIVER, outbound=True)
def deliveries_send(lease: jobs.Lease) -> None:
    """Send the due messages of one webhook until one fails or the turn is over. The sweep queues the rest again."""
    end = time.monotonic() + TURN_S
    while time.monotonic() < end:
        delivery = (
            due_deliveries(timezone.now()).select_related("webhook").filter(webhook=lease.args["webhook"]).first()
        )
        if delivery is None or not _attempt(lease, delivery):
            return


def _attempt(lease: jobs.Lease, delivery: Delivery) -> bool:
    """Send one message and record the outcome. Return whether it was accepted."""
    try:
        outcome = _sent(_request_of(delivery))
    except SecretUnreadable:
        outcome = Outcome(timezone.now(), error=Delivery.Error.SECRET)
    _record(lease, delivery, outcome)
    return outcome.accepted


def deliveries_due_queue() -> None:
    """Queue a job for each webhook with a due message, for retries and for what a full turn left over."""
    rows = due_deliveries(timezone.now()).order_by().values_list("webhook", flat=True).distinct()
    for number in [one for one in rows if not jobs.job_is_pending(f"{DELIVER}:{one}")]:
        with write_transaction():
            deliver_soon(number)


def old_deliveries_delete() -> None:
    """Delete old entries of the delivery logs."""
    old = Delivery.objects.filter(created_at__lt=timezone.now() - KEPT).order_by("created_at")
    if old.exists():  # checked without a lock: an idle sweep must not take the write lock
        with write_transaction():
            Delivery.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:1000])).delete()


def _request_of(delivery: Delivery) -> SignedRequest:
    """Return the signed request. Raises SecretUnreadable."""
    now = timezone.now()
    secrets = [decrypt(secret.token) for secret in signing_secrets(delivery.webhook, now)]
    signed = headers(secrets, message_id=delivery.message_id, timestamp=int(now.timestamp()), body=delivery.body)
    fixed = {"Content-Type": "application/json", "User-Agent": "Touchstone-Webhooks"}
    return SignedRequest(delivery.webhook.url, delivery.body, {**fixed, **signed})


def _sent(request: SignedRequest) -> Outcome:
    begun, at = time.monotonic(), timezone.now()
    status, response, error = None, "", ""
    try:
        answer = post(
            request.url,
            headers=request.headers,
            body=request.body.encode(),
            timeout_s=TIMEOUT_S,
            max_bytes=MAX_RESPONSE_BYTES,
        )
        status, response = answer.status, answer.body.decode("utf-8", "replace").replace("\0", "\ufffd")
    except OutboundError as failed:
        status, error = failed.status, failed.kind
    return Outcome(at, int(1000 * (time.monotonic() - begun)), status, response[:LONGEST_RESPONSE], error)


def _record(lease: jobs.Lease, sent: Delivery, outcome: Outcome) -> None:
    """Store the outcome, unless the message was deleted or queued anew meanwhile."""
    with write_transaction():
        lease.confirm()
        webhook = Webhook.objects.select_for_update(no_key=True).filter(pk=sent.webhook_id).first()
        same = Delivery.objects.select_for_update().filter(pk=sent.pk, state=Delivery.State.QUEUED)
        delivery = same.filter(attempts=sent.attempts, next_attempt_at=sent.next_attempt_at).first()
        if webhook is None or delivery is None:
            return
        delivery.attempts += 1
        delivery.attempted_at, delivery.duration_ms = outcome.at, outcome.duration_ms
        delivery.status, delivery.response, delivery.error = outcome.status, outcome.response, outcome.error
        _move_on(delivery, outcome)
        delivery.save()
        if outcome.status == GONE:
            webhook.state = Webhook.State.DISABLED
            webhook.save(update_fields=["state"])
        if delivery.state == Delivery.State.FAILED:
            _tell_owner(webhook, delivery, disabled=outcome.status == GONE)


def _move_on(delivery: Delivery, outcome: Outcome) -> None:
    """Set the state after an attempt, and when the next one is due."""
    if outcome.accepted:
        delivery.state = Delivery.State.DELIVERED
    elif outcome.status == GONE or delivery.attempts > len(WAITS):
        delivery.state = Delivery.State.FAILED
    else:
        delivery.next_attempt_at = timezone.now() + WAITS[delivery.attempts - 1]


def _tell_owner(webhook: Webhook, delivery: Delivery, *, disabled: bool) -> None:
    """Queue a mail about a failed message, at most one a day, and one for a webhook that was disabled."""
    now = timezone.now()
    if not disabled and webhook.told_at is not None and webhook.told_at > now - TOLD_EVERY:
        return
    webhook.told_at = now
    webhook.save(update_fields=["told_at"])
    job_enqueue(kind=FAILURE_MAIL, key=f"{FAILURE_MAIL}:{webhook.pk}", args={"delivery": delivery.pk})
