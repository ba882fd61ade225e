"""Mail backend for a public site without a mail server: mails are never written to the log.

Mails contain links that open an account. Readers of the log (an operator, a log service) must not get them.
"""

import logging
from collections.abc import Sequence

from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend

log = logging.getLogger(__name__)


def mails_are_sent() -> bool:
    """Return whether mails of this site reach anybody: a mail server, or the terminal of a site on this machine."""
    return not settings.EMAIL_BACKEND.startswith(__name__)


class Unsent(BaseEmailBackend):
    """Drop every mail and log that, without its text or its recipient."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        for _ in email_messages:
            log.warning("a mail was not sent: this site has no mail server. Set EMAIL_HOST.")
        return 0
