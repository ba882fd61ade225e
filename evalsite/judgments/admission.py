"""Admission and consent of annotators, checked at every entry point."""

from typing import Any

from django.utils import timezone
from django.utils.translation import gettext

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.selectors import onboarding_of
from evalsite.core.errors import InvalidInput, NotAllowed
from evalsite.judgments.models import Enrolment


def admission_check(campaign: Campaign, user: User | None) -> None:
    """Raise NotAllowed unless this person may judge now. A campaign may have become private since they joined."""
    by_members = campaign.admission == Campaign.Admission.MEMBERS
    private = campaign.visibility == Campaign.Visibility.PRIVATE
    if (by_members or private) and not Campaign.objects.of(user).filter(pk=campaign.pk).exists():
        raise NotAllowed(
            gettext("This campaign is judged by invited people only."), hint=gettext("Ask its owner for an invitation.")
        )


def consent_check(campaign: Campaign, *, consents: bool, earlier: Enrolment | None = None) -> dict[str, Any]:
    """Return the consent fields of an enrolment. Raises InvalidInput if consent is required and was never given."""
    if consents:
        return {"consented_at": timezone.now()}
    if onboarding_of(campaign).consent_required and (earlier is None or earlier.consented_at is None):
        raise InvalidInput(
            gettext("You can take part only if you agree."),
            hint=gettext('Read the notice on the judging page. Tick the box there, or send "consent": true.'),
            field="consent",
            code="consent_required",
        )
    return {}


def lacks_consent(enrolment: Enrolment) -> bool:
    """Return whether the campaign requires a consent that this annotator has not given."""
    return enrolment.consented_at is None and onboarding_of(enrolment.campaign).consent_required
