"""Write operations on the onboarding of annotators."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign, Onboarding, QualificationItem
from evalsite.campaigns.selectors import aspect_primary
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput

MOST_REASONS = 8
LONGEST_REASON = 40


@dataclass(frozen=True, slots=True)
class NewQualificationItem:
    """A comparison and its correct answer: "A", "B", "tie" or "both_bad"."""

    turns: Sequence[dict[str, str]]
    reply_a: str
    reply_b: str
    right: str
    explanation: str


def onboarding_set(*, campaign: Campaign, by: User | None = None, **fields: Any) -> Onboarding:
    """Set these fields of the campaign's onboarding (campaigns.models.Onboarding), and keep the others.

    Changes are logged.
    """
    _check_reasons(fields.get("reasons", []))
    with write_transaction():
        onboarding = Onboarding.objects.select_for_update().filter(campaign=campaign).first() or Onboarding(
            campaign=campaign
        )
        changed = {name: value for name, value in fields.items() if getattr(onboarding, name) != value}
        before = {name: getattr(onboarding, name) for name in changed}
        for name, value in changed.items():
            setattr(onboarding, name, value)
        if onboarding.platform != Onboarding.Platform.NONE and not onboarding.code_complete:
            raise InvalidInput(_("A crowd platform needs a completion code."), field="code_complete")
        if onboarding.comment_required and not onboarding.comments:
            raise InvalidInput(
                _("A required justification needs comments."), hint=_("Allow comments, too."), field="comment_required"
            )
        onboarding.save()
        if changed:
            audit_record(act="set_up", subject=campaign.public_id, by=by, before=before, after=changed)
    return onboarding


def _check_reasons(reasons: Sequence[str]) -> None:
    if len(reasons) > MOST_REASONS or len(set(reasons)) < len(reasons):
        raise InvalidInput(
            _("Offer at most %(most_reasons)s different reasons.") % {"most_reasons": MOST_REASONS}, field="reasons"
        )
    if any(not reason.strip() or len(reason) > LONGEST_REASON for reason in reasons):
        raise InvalidInput(
            _("A reason has 1 to %(longest_reason)s characters.") % {"longest_reason": LONGEST_REASON}, field="reasons"
        )


def qualification_of(campaign: Campaign) -> list[NewQualificationItem]:
    """Return the current qualification items in their order."""
    rows = QualificationItem.objects.filter(campaign=campaign).order_by("position")
    return [NewQualificationItem(one.turns, one.reply_a, one.reply_b, one.right, one.explanation) for one in rows]


def qualification_set(
    *, campaign: Campaign, items: Sequence[NewQualificationItem], pass_mark: int, by: User | None = None
) -> None:
    """Set the qualification items; `pass_mark` correct answers pass. Fixed once collecting begins."""
    if items and campaign.is_single:
        raise Conflict(
            _("Qualification compares two replies, and here replies are judged one at a time."),
            hint=_("Check annotators by gold items instead."),
            field="items",
        )
    choices = aspect_primary(campaign).choices
    if not 0 <= pass_mark <= len(items):
        raise InvalidInput(_("The pass mark is from 0 to %(items)s.") % {"items": len(items)}, field="pass_mark")
    if wrong := [item.right for item in items if item.right not in choices]:
        raise InvalidInput(
            _("%(wrong)s is not a choice of this question.") % {"wrong": repr(wrong[0])},
            hint=_("Use of: %(choices)s.") % {"choices": ", ".join(choices)},
            field="right",
        )
    with write_transaction():
        if campaign.state != Campaign.State.DRAFT:
            raise Conflict(_("Qualification items are fixed once a campaign collects."), field="items")
        _log_items(campaign, qualification_of(campaign), [replace(item, turns=list(item.turns)) for item in items], by)
        QualificationItem.objects.filter(campaign=campaign).delete()
        QualificationItem.objects.bulk_create(
            QualificationItem(
                campaign=campaign,
                position=position,
                turns=list(item.turns),
                reply_a=item.reply_a,
                reply_b=item.reply_b,
                right=item.right,
                explanation=item.explanation,
            )
            for position, item in enumerate(items)
        )
        onboarding_set(campaign=campaign, by=by, pass_mark=pass_mark)


def _log_items(
    campaign: Campaign, old: Sequence[NewQualificationItem], new: Sequence[NewQualificationItem], by: User | None
) -> None:
    """Log only the numbers of items that changed: viewers read the log and must not learn the answers."""
    if old == new:
        return
    was = {"qualification_items": len(old)}
    now = {"qualification_items": len(new), "kept": sum(item in old for item in new)}
    audit_record(act="set_up", subject=campaign.public_id, by=by, before=was, after=now)
