"""Mail to the owner of a webhook whose message could not be delivered."""

from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import send_mail
from django.utils import translation
from django.utils.translation import gettext as _

from evalsite.core import jobs
from evalsite.core.terminal import shown
from evalsite.webhooks.models import Delivery, Webhook
from evalsite.webhooks.sending import FAILURE_MAIL


@jobs.handles(FAILURE_MAIL)
def webhook_mail_send(lease: jobs.Lease) -> None:
    """Tell the owner that a message has failed, and where its log is."""
    rows = Delivery.objects.select_related("webhook__user")
    delivery = rows.filter(pk=lease.args["delivery"]).first()
    if delivery is None or not delivery.webhook.user.is_active or not delivery.webhook.user.email:
        return
    webhook, user = delivery.webhook, delivery.webhook.user
    with translation.override(user.mail_language):
        host = shown(urlsplit(webhook.url).netloc)
        place = f"console/{webhook.subject}" if webhook.subject else "account"
        disabled = webhook.state == Webhook.State.DISABLED
        lines = [
            _("Your webhook at %(host)s is disabled, because the receiver answered 410 (gone).") % {"host": host}
            if disabled
            else _("A message to your webhook at %(host)s could not be delivered. It is not tried again.")
            % {"host": host},
            _("Event: %(event)s") % {"event": delivery.event_type},
            *([_("Status: %(status)s") % {"status": delivery.status}] if delivery.status else []),
            *([delivery.get_error_display()] if delivery.error else []),
            "",
            _("Open the delivery log to send it again:"),
            f"{settings.SITE_URL}/{place}/webhooks/{webhook.public_id}/",
        ]
        subject = _("Webhook at %(host)s: delivery failed") % {"host": host}
    send_mail(" ".join(subject.split())[:200], "\n".join(map(str, lines)), settings.DEFAULT_FROM_EMAIL, [user.email])
