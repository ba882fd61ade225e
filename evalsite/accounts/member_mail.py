"""Mails that invite people to organisations. The job holds neither the address nor the link."""

import hashlib

from django.conf import settings
from django.core.mail import send_mail
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from evalsite.accounts.members import invitation_token, member_invite
from evalsite.accounts.models import MemberInvitation, User
from evalsite.core import jobs
from evalsite.core.db import write_transaction
from evalsite.core.throttle import admit

INVITATION_MAIL = "member_invitation_mail"
INVITATIONS_PER_HOUR = 60  # by one person
MAILS_PER_HOUR = 5  # to one address


def member_invite_by_mail(*, slug: str, email: str, role: str, by: User) -> MemberInvitation:
    """Invite a person and queue the mail, both or neither. Raises TooMany."""
    key = hashlib.sha256(email.strip().lower().encode("utf-8", "surrogatepass")).hexdigest()[:32]
    with write_transaction():
        invitation = member_invite(slug=slug, email=email, role=role, by=by)
        # After the check of the role: others cannot use up the limit of an address.
        admit(what="invite", who=f"user:{by.public_id}", at_most=INVITATIONS_PER_HOUR, per_s=3600)
        admit(what=INVITATION_MAIL, who=key, at_most=MAILS_PER_HOUR, per_s=3600)
        args = {"invitation": invitation.pk}
        jobs.job_enqueue(kind=INVITATION_MAIL, key=f"{INVITATION_MAIL}:{invitation.pk}", args=args)
    return invitation


def invitation_link(invitation: MemberInvitation) -> str:
    """Return the address of an invitation, on the configured site."""
    return f"{settings.SITE_URL}{reverse('member_invitation', args=[invitation_token(invitation)])}"


@jobs.handles(INVITATION_MAIL)
def invitation_mail_send(lease: jobs.Lease) -> None:
    """Send the link of an invitation that is still open, in the language of the receiver's account if there is one."""
    rows = MemberInvitation.objects.select_related("organisation", "invited_by").exclude(email="")
    invitation = rows.filter(pk=lease.args["invitation"]).first()
    if invitation is None:
        return
    receiver = User.objects.filter(email__iexact=invitation.email).first() or invitation.invited_by
    with translation.override(receiver.mail_language if receiver else settings.LANGUAGE_CODE):
        context = {"invitation": invitation, "link": invitation_link(invitation)}
        body = render_to_string("member_invitation.txt", context)
        subject = _("An invitation to an organisation at Touchstone")
    send_mail(subject, body, settings.DEFAULT_FROM_EMAIL, [invitation.email])
