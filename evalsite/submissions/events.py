"""Changes of a submission's state: the row, its mail, and the next step that the submitter reads."""

from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.core.jobs import job_enqueue
from evalsite.core.reasons import StoredReason, as_stored
from evalsite.submissions.models import Submission, SubmissionEvent
from scheduler.reasons import Reason

MAIL = "submission_mail"


def state_change(
    *,
    submission: Submission,
    state: Submission.State,
    reason: str | Reason | StoredReason = "",
    by: User | None = None,
    at: datetime | None = None,
) -> SubmissionEvent:
    """Record a change in the caller's transaction, and queue its mails.

    The row is the event: whoever delivers it elsewhere reads it from the table.
    """
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
    return event


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
        Submission.State.WITHDRAWN: _("Nothing. What was judged of it stays on the board, marked."),
    }
    return words[Submission.State(state or submission.state)]
