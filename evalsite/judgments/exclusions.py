"""Exclusion and readmission of annotators in a campaign: a history of facts, each with its reason."""

import uuid
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.campaigns.events import CampaignEvent, campaign_tell, reason_told
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import refit_request
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput, NotFound
from evalsite.core.reasons import StoredReason, as_stored
from evalsite.judgments.models import Annotator, Exclusion
from evalsite.judgments.selectors import IN_GOOD_STANDING, standings
from scheduler.reasons import Reason

LONGEST_REASON = 500


def annotator_in(*, campaign: Campaign, annotator_id: uuid.UUID) -> Annotator:
    """Return the annotator with this public id if they take part in the campaign. Raises NotFound."""
    found = Annotator.objects.filter(public_id=annotator_id, enrolments__campaign=campaign).first()
    if found is None:
        raise NotFound(_("No such annotator takes part in this campaign."), field="annotator")
    return found


def annotator_exclude(
    *,
    campaign: Campaign,
    annotator: Annotator,
    reason: str | Reason | StoredReason,
    by: User | None = None,
    evidence: Mapping[str, Any] | None = None,
) -> Exclusion:
    """Exclude an annotator's judgments from the boards of this campaign, and request a refit.

    The judgments stay stored and paid. Their items are planned again, and the annotator gets no new assignments. `by`
    None means that the screening acts. Raises InvalidInput without a reason, and Conflict if they are excluded already.
    """
    return _record(campaign, annotator, lifted=False, reason=reason, by=by, evidence=evidence or {})


def annotator_readmit(
    *,
    campaign: Campaign,
    annotator: Annotator,
    reason: str | Reason | StoredReason,
    by: User | None = None,
    evidence: Mapping[str, Any] | None = None,
) -> Exclusion:
    """Count an annotator's judgments again, or dismiss a proposal to exclude them, and request a refit.

    A person also admits a newcomer in this way: their votes count from now on. Raises InvalidInput without a reason,
    and Conflict if there is neither an exclusion nor a proposal, and the annotator is no newcomer.
    """
    return _record(campaign, annotator, lifted=True, reason=reason, by=by, evidence=evidence or {})


def exclusion_propose(
    *, campaign: Campaign, annotator: Annotator, lifted: bool, reason: str | Reason, evidence: Mapping[str, Any]
) -> Exclusion:
    """Record a proposal of the screening for a person to decide. It has no effect by itself."""
    kept = as_stored(reason)
    with write_transaction():
        fact: Exclusion = Exclusion.objects.create(
            campaign=campaign,
            annotator=annotator,
            lifted=lifted,
            proposed=True,
            reason=kept.text[:LONGEST_REASON],
            reason_data=kept.data,
            evidence=dict(evidence),
        )
        exclusion_tell(campaign, annotator, fact)
    return fact


def _record(
    campaign: Campaign,
    annotator: Annotator,
    *,
    lifted: bool,
    reason: str | Reason | StoredReason,
    by: User | None,
    evidence: Mapping[str, Any],
) -> Exclusion:
    text, data = as_stored(reason)
    text = text.strip()
    if not text or "\0" in text or len(text) > LONGEST_REASON:
        raise InvalidInput(
            _("An exclusion has a reason."),
            hint=_("Give one of 1 to %(longest_reason)s characters.") % {"longest_reason": LONGEST_REASON},
            field="reason",
        )
    with write_transaction():
        # The lock serializes the facts about an annotator.
        locked = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        before = standings(locked).get(annotator.pk, IN_GOOD_STANDING)
        admits = lifted and by is not None and before.provisional
        decides = before.out is lifted or before.proposal is not None
        if not (admits or decides):
            raise Conflict(
                _("This annotator counts.") if lifted else _("This annotator is excluded already."),
                hint=_("Look at the latest decision about them."),
            )
        decided = [
            Exclusion.objects.create(
                campaign=locked,
                annotator=annotator,
                lifted=lifted,
                provisional=provisional,
                reason=text,
                reason_data=data,
                decided_by=by,
                evidence=dict(evidence),
            )
            for provisional in [True] * admits + [False] * decides
        ]
        fact: Exclusion = decided[-1]
        audit_record(
            act="readmit" if lifted else "exclude",
            subject=locked.public_id,
            by=by,
            before={"excluded": before.out, **({"provisional": True} if admits else {})},
            after={"excluded": not lifted, **({"provisional": False} if admits else {})},
            target=str(annotator.public_id),
            reason=StoredReason(text, data),
        )
        refit_request(locked)
        exclusion_tell(locked, annotator, fact)
    return fact


def exclusion_tell(campaign: Campaign, annotator: Annotator, fact: Exclusion) -> None:
    """Tell the campaign's webhooks of an exclusion, a re-admission, a proposal or a vetted newcomer."""
    done = "readmission" if fact.lifted else "exclusion"
    status = f"{done}_proposed" if fact.proposed else {"readmission": "readmitted", "exclusion": "excluded"}[done]
    if fact.provisional:
        status = "vetted"
    campaign_tell(
        campaign=campaign,
        event=CampaignEvent.ANNOTATOR,
        about=annotator.public_id,
        at=fact.decided_at,
        data=lambda: {
            "annotator": str(annotator.public_id),
            "status": status,
            "decided_by": decider(fact),
            **reason_told(StoredReason(fact.reason, fact.reason_data)),
            "url": f"{settings.SITE_URL}/console/{campaign.public_id}/annotators/",
        },
    )


def decider(fact: Exclusion) -> str:
    """Return who decided: a person, the screening, or the rule on newcomers."""
    if fact.decided_by_id is not None:
        return "person"
    return "rule" if fact.provisional else "screening"
