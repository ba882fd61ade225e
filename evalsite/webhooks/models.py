"""Webhooks of people and campaigns, their signing secrets, and the messages that are delivered to them."""

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from evalsite.accounts.models import User
from evalsite.core.db import PublicModel

LONGEST_RESPONSE = 1000


class Webhook(PublicModel):
    """An address that is told the changes of its owner's submissions, or the events of one campaign."""

    class State(models.TextChoices):
        ACTIVE = "active", _("active")
        PAUSED = "paused", _("paused")
        DISABLED = "disabled", _("disabled: the receiver answered 410 (gone)")

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="webhooks")
    subject = models.UUIDField(
        null=True, db_index=True, editable=False, help_text="public id of the campaign; null: the owner's submissions"
    )
    events = models.JSONField(default=list, help_text="types of the events that it is told; empty: all")
    url = models.CharField(max_length=2000)
    state = models.CharField(max_length=10, choices=State, default=State.ACTIVE)
    told_at = models.DateTimeField(null=True, editable=False, help_text="last mail to the owner about a failure")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.CheckConstraint(condition=~Q(url=""), name="webhook_has_address")]

    def __str__(self) -> str:
        return f"webhook {self.public_id}"


class WebhookSecret(models.Model):
    """An encrypted signing secret. One has no expiry; a rotated one signs until it expires."""

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="secrets")
    token = models.TextField(editable=False, help_text="encrypted (core.encryption)")
    key_id = models.CharField(max_length=16, help_text="identifies the key that it is encrypted with")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField(null=True, editable=False, help_text="null: the present secret")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["webhook"], condition=Q(expires_at__isnull=True), name="webhook_secret_present_once"
            )
        ]

    def __str__(self) -> str:
        return f"secret of {self.webhook}"


class Delivery(PublicModel):
    """A message to a webhook, and the outcome of the latest attempt to deliver it."""

    class State(models.TextChoices):
        QUEUED = "queued", _("queued")
        DELIVERED = "delivered", _("delivered")
        FAILED = "failed", _("failed")

    class Error(models.TextChoices):
        ADDRESS_REFUSED = "address_refused", _("The address leads to a network that this site does not call.")
        UNRESOLVED = "unresolved", _("No server was found under this name.")
        CONNECT = "connect", _("The server does not accept connections, or closed the connection.")
        TLS = "tls", _("The secure connection failed.")
        TIMEOUT = "timeout", _("No complete response arrived in time.")
        TOO_LARGE = "too_large", _("The response is too large.")
        REDIRECT = "redirect", _("The server redirects. Redirects are not followed.")
        ENCODED = "encoded", _("The response is compressed, although no compression was asked for.")
        PROTOCOL = "protocol", _("The server does not answer in HTTP.")
        SECRET = "secret", _("The signing secret cannot be read. Rotate it.")

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    message_id = models.CharField(max_length=40, unique=True, editable=False, help_text="the header webhook-id")
    event_type = models.CharField(max_length=60)
    about = models.UUIDField(
        null=True, editable=False, help_text="public id of the changed object; its messages arrive in order"
    )
    body = models.TextField(help_text="JSON, exactly as it is signed and sent")
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    attempts = models.PositiveIntegerField(default=0, help_text="since it was queued by its event or a person")
    next_attempt_at = models.DateTimeField(default=timezone.now)
    attempted_at = models.DateTimeField(null=True, help_text="latest attempt")
    duration_ms = models.PositiveIntegerField(null=True, help_text="of the latest attempt")
    status = models.PositiveIntegerField(null=True, help_text="of HTTP; null without a response")
    response = models.CharField(max_length=LONGEST_RESPONSE, blank=True, default="", help_text="its beginning")
    error = models.CharField(max_length=20, blank=True, default="", choices=Error)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        verbose_name_plural = "deliveries"
        indexes = [
            models.Index(fields=["next_attempt_at"], condition=Q(state="queued"), name="delivery_due"),
            models.Index(fields=["webhook", "-id"], name="delivery_of_webhook"),
            models.Index(fields=["created_at"], name="delivery_age"),
            models.Index(
                fields=["webhook", "about", "id"],
                condition=Q(state="queued", about__isnull=False),
                name="delivery_queued_about",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event_type} {self.message_id} ({self.state})"
