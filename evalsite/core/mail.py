"""Mail backend for a public site without a mail server: mails are never written to the log.

Mails contain links that open an account. Readers of the log (an operator, a log service) must not get them.
"""

import logging
from collections.abc import Sequence

from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend

log = logging.getLogger(__name__)


class Unsent(BaseEmailBackend):
    """Drop every mail and log that, without its text or its recipient."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        for _ in email_messages:
            log.warning("a mail was not sent: this site has no mail server. Set EMAIL_HOST.")
        return 0
