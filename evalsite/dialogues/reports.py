"""Reports of replies: annotators report, n reports pause a chatbot, the owner decides."""

import uuid

from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign, Entrant
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import InvalidInput, NotFound
from evalsite.dialogues.locking import turn_lock
from evalsite.dialogues.models import LONGEST_REPORT, ChatbotReport, EntrantPause
from evalsite.dialogues.texts import text_checked
from evalsite.judgments.models import LABELS, Annotator


def reply_report(*, annotator: Annotator, turn_id: uuid.UUID, label: str, reason: str, note: str = "") -> ChatbotReport:
    """Report a shown reply by its label. Enough annotators' open reports pause the chatbot in this campaign.

    A repeated report of the same reply returns the first one.
    """
    if reason not in ChatbotReport.Reason.values:
        raise InvalidInput(
            _("%(reason)s is not a reason to report a reply.") % {"reason": repr(reason)},
            hint=_("Use one of: %(values)s.") % {"values": ", ".join(ChatbotReport.Reason.values)},
            field="reason",
        )
    note = text_checked(note, longest=LONGEST_REPORT, field="note")
    with write_transaction():
        turn = turn_lock(annotator, turn_id)
        shown = {LABELS[row.position or 0]: row for row in turn.replies.shown()}
        if label not in shown:
            raise NotFound(
                _("This turn shows no reply %(label)s.") % {"label": repr(label)},
                hint=_("Use one of: %(labels)s.") % {"labels": ", ".join(shown) or "-"},
                field="candidate",
            )
        report, created = ChatbotReport.objects.get_or_create(
            reply=shown[label], annotator=annotator, defaults={"reason": reason, "note": note}
        )
        if created:
            _pause_if_enough(shown[label].entrant, turn.conversation.campaign.live.reports_to_pause)
    return report


def _pause_if_enough(entrant: Entrant, enough: int) -> None:
    since = ChatbotReport.objects.filter(reply__entrant=entrant, outcome=ChatbotReport.Outcome.OPEN)
    if since.values("annotator").distinct().count() < enough:
        return
    _, created = EntrantPause.objects.get_or_create(entrant=entrant, defaults={"by_reports": True})
    if created:
        audit_record(
            act="pause_chatbot", subject=entrant.campaign.public_id, target=str(entrant.version), reason="reports"
        )


def report_get(*, campaign: Campaign, public_id: uuid.UUID) -> ChatbotReport:
    """Return a report of a reply in this campaign. Raises NotFound."""
    own = ChatbotReport.objects.filter(reply__turn__conversation__campaign=campaign)
    found = own.filter(public_id=public_id).first()
    if found is None:
        raise NotFound(_("There is no such report."), hint=_("Go back to the reports."), field="report")
    return found


def report_settle(*, report: ChatbotReport, upheld: bool, by: User | None) -> ChatbotReport:
    """Uphold or dismiss a report. The chatbot stays paused until `entrant_resume`."""
    with write_transaction():
        locked = ChatbotReport.objects.select_for_update(of=("self",)).get(pk=report.pk)
        outcome = ChatbotReport.Outcome.UPHELD if upheld else ChatbotReport.Outcome.DISMISSED
        if locked.outcome != outcome:
            before, locked.outcome = locked.outcome, outcome
            locked.settled_at, locked.settled_by = timezone.now(), by
            locked.save(update_fields=["outcome", "settled_at", "settled_by"])
            audit_record(
                act="settle_report",
                subject=locked.reply.entrant.campaign.public_id,
                by=by,
                target=str(locked.reply.entrant.version),
                before={"outcome": before},
                after={"outcome": outcome},
            )
    return locked


def entrant_pause(*, entrant: Entrant, by: User | None = None) -> None:
    """Give a chatbot no new conversations. Running ones go on."""
    with write_transaction():
        _, created = EntrantPause.objects.get_or_create(entrant=entrant)
        if created:
            audit_record(act="pause_chatbot", subject=entrant.campaign.public_id, by=by, target=str(entrant.version))


def entrant_resume(*, entrant: Entrant, by: User | None = None) -> None:
    """Give a paused chatbot new conversations again. Its open reports count as dismissed."""
    with write_transaction():
        if EntrantPause.objects.filter(entrant=entrant).delete()[0]:
            reports = ChatbotReport.objects.filter(reply__entrant=entrant, outcome=ChatbotReport.Outcome.OPEN)
            reports.update(outcome=ChatbotReport.Outcome.DISMISSED, settled_at=timezone.now(), settled_by=by)
            audit_record(act="resume_chatbot", subject=entrant.campaign.public_id, by=by, target=str(entrant.version))
