"""Changes of a submission's state: the row, its mail, and the next step that the submitter reads."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.core.jobs import job_enqueue
from evalsite.core.reasons import StoredReason, as_stored
from evalsite.submissions.models import Submission, SubmissionEvent
from evalsite.webhooks.selectors import webhooks_of
from evalsite.webhooks.services import WebhookEvent, event_record
from scheduler.reasons import Reason

MAIL, CHANGED = "submission_mail", "submission.changed"


def state_change(
    *,
    submission: Submission,
    state: Submission.State,
    reason: str | Reason | StoredReason = "",
    by: User | None = None,
    at: datetime | None = None,
) -> SubmissionEvent:
    """Record a change in the caller's transaction, and queue its mails and the messages to the submitter's webhooks."""
    kept = as_stored(reason)
    if submission.state != state:
        submission.state = state
        submission.save(update_fields=["state"])
    event = SubmissionEvent.objects.create(
        submission=submission,
        state=state,
        at=at or timezone.now(),
        reason=kept.text,
        reason_data=kept.data,
        actor=by.public_id if by else None,
    )
    if submission.mails or state == Submission.State.WAITING:
        job_enqueue(kind=MAIL, key=f"{MAIL}:{event.pk}", args={"event": event.pk})
    user = submission.submitted_by
    if user is not None:
        told = WebhookEvent(CHANGED, submission.public_id, event.at, lambda: _told(event))
        event_record(webhooks=webhooks_of(user), event=told)
    return event


def _told(event: SubmissionEvent) -> dict[str, Any]:
    """Return what a webhook of the submitter is told: the change, with its reason in the active language."""
    submission = event.submission
    return {
        "submission": str(submission.public_id),
        "campaign": submission.campaign.slug,
        "organisation": submission.organisation.slug,
        "name": submission.name,
        "version": submission.label,
        "state": str(event.state),
        "reason": event.reason_text,
        "url": f"{settings.SITE_URL}/submissions/{submission.public_id}/",
    }


def next_step(submission: Submission, state: str | None = None) -> str:
    """Return what happens next, or what the submitter can do."""
    live = submission.kind == Submission.Kind.ENDPOINT
    words = {
        Submission.State.RECEIVED: _("The endpoint is being tested.") if live else _("The file is being checked."),
        Submission.State.CHECKED: _("Its replies to the prompts are being collected.")
        if live
        else _("It goes to the people who run the campaign, or joins."),
        Submission.State.REFUSED: _("Correct what the reason names, and submit again."),
        Submission.State.WAITING: _("The people who run the campaign look at it, and approve or refuse it."),
        Submission.State.JOINED: _("Annotators compare it with the others until its place is known."),
        Submission.State.PLACED: _("It has its place. Further judgments narrow its interval."),
        Submission.State.WITHDRAWN: _("Nothing. Its judgments count on, and the board lists it apart, without a rank."),
    }
    return words[Submission.State(state or submission.state)]
