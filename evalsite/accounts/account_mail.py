"""Account mails: password reset and confirmation of an e-mail address.

A request only queues a job, with the same work whether the account exists or not. Neither the response nor its duration
reveals an account. The worker finds the account, sends the mail and then removes the address from the row of the job.
"""

import hashlib
from typing import Any

from django.conf import settings
from django.contrib.auth.forms import PasswordResetForm
from django.core import signing
from django.core.mail import send_mail
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from evalsite.accounts.first_administrator import administrator_exists, setup_link_issue
from evalsite.accounts.models import User
from evalsite.core import jobs
from evalsite.core.db import write_transaction
from evalsite.core.errors import NotFound
from evalsite.core.models import Job
from evalsite.core.throttle import admit

PASSWORD_MAIL, ADDRESS_MAIL, SETUP_MAIL = "password_mail", "address_mail", "setup_mail"
ADDRESS_SALT = "accounts.address"
MAILS_PER_HOUR = 5  # to one address


def password_mail_queue(*, email: str) -> None:
    """Queue a mail with a password reset link, whether or not an account has this address. Raises TooMany."""
    _queue_mail(PASSWORD_MAIL, email, {"email": email})


def address_mail_queue(*, user: User, email: str) -> None:
    """Queue a mail that lets this person confirm their address. Raises TooMany."""
    _queue_mail(ADDRESS_MAIL, f"{email}:{user.pk}", {"email": email, "user": user.pk})


def setup_mail_queue() -> None:
    """Queue a mail with the setup link to the configured address. Raises NotFound if nobody may ask, and TooMany."""
    if not settings.ADMIN_EMAIL or administrator_exists():
        raise NotFound(_("There is nothing at this address."), hint=_("Go to the start page."))
    _queue_mail(SETUP_MAIL, settings.ADMIN_EMAIL, {})


def _queue_mail(kind: str, to: str, args: dict[str, Any]) -> None:
    key = hashlib.sha256(to.lower().encode()).hexdigest()[:32]
    admit(what=kind, who=key, at_most=MAILS_PER_HOUR, per_s=3600)
    with write_transaction():
        jobs.job_enqueue(kind=kind, key=f"{kind}:{key}", args=args)


def address_confirm(*, token: str) -> None:
    """Set the address of the account in a confirmation link. Raises NotFound for a used or expired link."""
    try:
        number, email = signing.loads(token, salt=ADDRESS_SALT, max_age=settings.PASSWORD_RESET_TIMEOUT)
    except (signing.BadSignature, ValueError, TypeError):
        raise _link_is_void() from None
    with write_transaction():
        taken = User.objects.filter(email__iexact=email).exists()
        if taken or not User.objects.filter(public_id=number, email="", is_active=True).update(email=email):
            raise _link_is_void()


def _link_is_void() -> NotFound:
    return NotFound(_("This link has been used or is too old."), hint=_("Log in, or ask for a new password."))


@jobs.handles(PASSWORD_MAIL)
def password_mail_send(lease: jobs.Lease) -> None:
    """Send the mail to every account with the address, each in its own language."""
    form = _Reset({"email": lease.args.get("email", "")})
    if form.is_valid():
        form.save(
            domain_override="unused",  # the template uses the configured site address
            subject_template_name="account_reset_subject.txt",
            email_template_name="account_reset.txt",
        )
    _erase_address(lease)


@jobs.handles(ADDRESS_MAIL)
def address_mail_send(lease: jobs.Lease) -> None:
    """Send a confirmation link to the address, or a note that an account already has it."""
    user, email = User.objects.filter(pk=lease.args["user"], email="", is_active=True).first(), lease.args["email"]
    if user is not None:
        context = {
            "site": settings.SITE_URL,
            "taken": User.objects.filter(email__iexact=email).exists(),
            "token": signing.dumps([str(user.public_id), email], salt=ADDRESS_SALT),
        }
        with translation.override(user.mail_language):
            subject, body = _("Your e-mail address at Touchstone"), render_to_string("account_address.txt", context)
        send_mail(subject, body, settings.DEFAULT_FROM_EMAIL, [email])
    _erase_address(lease)


@jobs.handles(SETUP_MAIL)
def setup_mail_send(lease: jobs.Lease) -> None:
    """Send a new setup link, unless there is an administrator by now. The job's row never holds the link."""
    if administrator_exists() or not settings.ADMIN_EMAIL:
        return
    link = f"{settings.SITE_URL}{reverse('setup_link', args=[setup_link_issue()])}"
    with translation.override(settings.LANGUAGE_CODE):
        body = render_to_string("setup_mail.txt", {"link": link})
        subject = _("The first administrator of Touchstone")
    send_mail(subject, body, settings.DEFAULT_FROM_EMAIL, [settings.ADMIN_EMAIL])


def _erase_address(lease: jobs.Lease) -> None:
    with write_transaction():
        Job.objects.filter(pk=lease.job_id).update(args={})


class _Reset(PasswordResetForm):
    """Django's form, with the mail in the language of the account.

    The link uses the configured site address. The host of a request is chosen by its sender. A link with that host
    would hand the account to them.
    """

    def send_mail(self, *args: Any, **kwargs: Any) -> None:
        context = kwargs.get("context") or args[2]
        context["site"] = settings.SITE_URL
        with translation.override(context["user"].mail_language):
            super().send_mail(*args, **kwargs)
