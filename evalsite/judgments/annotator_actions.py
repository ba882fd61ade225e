"""Actions on one annotator by the people who run a campaign: notes and pauses (exclusions.py has the rest)."""

from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.judgments.leases import checked_text
from evalsite.judgments.models import Annotator, AnnotatorNote, Enrolment

LONGEST_NOTE = 500


def annotator_note(*, campaign: Campaign, annotator: Annotator, text: str, by: User | None = None) -> AnnotatorNote:
    """Add a note about an annotator. The log records the action without the text, because notes can be erased."""
    text = checked_text(text, longest=LONGEST_NOTE, field="reason")
    if not text:
        raise InvalidInput(_("The note is empty."), hint=_("Write something."), field="reason")
    with write_transaction():
        note: AnnotatorNote = AnnotatorNote.objects.create(campaign=campaign, annotator=annotator, text=text, by=by)
        audit_record(act="note", subject=campaign.public_id, by=by, target=str(annotator.public_id))
    return note


def annotator_hold(
    *, campaign: Campaign, annotator: Annotator, paused: bool, reason: str = "", by: User | None = None
) -> None:
    """Pause an annotator, so that nothing new is issued to them, or end the pause.

    Open assignments may still be answered, and they count and are paid. Raises Conflict if nothing changes.
    """
    reason = checked_text(reason, longest=LONGEST_NOTE, field="reason")
    with write_transaction():
        own = Enrolment.objects.filter(campaign=campaign, annotator=annotator, paused_at__isnull=paused)
        if not own.update(paused_at=timezone.now() if paused else None):
            raise Conflict(_("This annotator is paused already.") if paused else _("This annotator is not paused."))
        audit_record(
            act="pause_annotator" if paused else "resume_annotator",
            subject=campaign.public_id,
            by=by,
            before={"paused": not paused},
            after={"paused": paused},
            target=str(annotator.public_id),
            reason=reason,
        )
