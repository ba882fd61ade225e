"""Mails about submissions: each change to its submitter, and what waits to those who decide."""

from django.conf import settings
from django.core.mail import send_mail
from django.db.models import Q
from django.utils import translation
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from evalsite.accounts.models import Membership, User
from evalsite.core import jobs
from evalsite.core.terminal import shown
from evalsite.submissions.events import MAIL, next_step
from evalsite.submissions.models import Submission, SubmissionEvent

MODERATORS = (Membership.Role.OWNER, Membership.Role.MANAGER)


@jobs.handles(MAIL)
def submission_mail_send(lease: jobs.Lease) -> None:
    """Send the mails of one event."""
    rows = SubmissionEvent.objects.select_related("submission__campaign", "submission__submitted_by")
    event = rows.filter(pk=lease.args["event"]).first()
    if event is None:
        return
    submitter = event.submission.submitted_by
    if event.submission.mails and submitter is not None and submitter.is_active and submitter.email:
        _send(submitter, event, f"/submissions/{event.submission.public_id}/", next_step(event.submission, event.state))
    if event.state == Submission.State.WAITING:
        for moderator in moderators(event.submission):
            path = f"/console/{event.submission.campaign.public_id}/submissions/{event.submission.public_id}/"
            _send(moderator, event, path, "")


def moderators(submission: Submission) -> list[User]:
    """Return the owners and managers of the campaign and its organisation who have an address."""
    campaign = submission.campaign
    held = Q(campaign_roles__campaign=campaign, campaign_roles__role__in=MODERATORS) | Q(
        memberships__organisation=campaign.organisation_id, memberships__role__in=MODERATORS
    )
    return list(User.objects.filter(held, is_active=True).exclude(email="").distinct().order_by("pk"))


def _send(user: User, event: SubmissionEvent, path: str, step: str) -> None:
    submission = event.submission
    with translation.override(user.mail_language):
        state = str(Submission.State(event.state).label)
        names = {"name": shown(submission.name), "label": shown(submission.label), "state": state}
        subject = " ".join((_("%(name)s %(label)s: %(state)s") % names).split())
        lines = [
            _("Campaign: %(name)s") % {"name": shown(submission.campaign.name)},
            _("State: %(state)s, %(when)s UTC") % {"state": state, "when": date_format(event.at, "DATETIME_FORMAT")},
            *([_("Reason: %(reason)s") % {"reason": shown(event.reason_text)}] if event.reason else []),
            *([_("Next: %(step)s") % {"step": step}] if step else [_("Please approve or refuse it.")]),
            "",
            f"{settings.SITE_URL}{path}",
        ]
    send_mail(subject[:200], "\n".join(lines), settings.DEFAULT_FROM_EMAIL, [user.email])
