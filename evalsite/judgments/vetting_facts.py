"""Facts about newcomers: their votes are provisional from the day they join, and count once they are vetted."""

from collections.abc import Mapping

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import refit_request
from evalsite.core.db import write_transaction
from evalsite.core.reasons import as_stored
from evalsite.judgments.exclusions import exclusion_tell
from evalsite.judgments.models import Annotator, Enrolment, Exclusion
from evalsite.judgments.selectors import IN_GOOD_STANDING, standings
from evalsite.judgments.skips import is_vouched
from evalsite.judgments.vetting import begins_provisional
from scheduler.reasons import Reason


def newcomer_mark(enrolment: Enrolment) -> None:
    """Make the votes of a newcomer provisional. Runs in the transaction of the enrolment, before any vote."""
    campaign, annotator = enrolment.campaign, enrolment.annotator
    if not campaign.vets_newcomers:
        return
    has_account = annotator.user_id is not None
    known = enrolment.invited or (has_account and is_vouched(campaign, annotator))
    qualifies = campaign.qualification_items.exists()
    if begins_provisional(votes_needed=campaign.vetting_votes, is_known=known, qualifies=qualifies):
        text, data = as_stored(Reason("newcomer"))
        Exclusion.objects.create(
            campaign=campaign, annotator=annotator, provisional=True, reason=text, reason_data=data
        )


def newcomers_vet(*, campaign: Campaign, reasons: Mapping[int, Reason]) -> None:
    """Count the votes of these newcomers (by key) from now on, and request a refit.

    Runs in the transaction of a refit. Whoever was flagged or vetted meanwhile is passed over.
    """
    if not reasons:
        return
    with write_transaction():
        locked = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        now = standings(locked)
        annotators = Annotator.objects.in_bulk(list(reasons))
        facts = [
            _vetted(locked, annotators[key], reason)
            for key, reason in sorted(reasons.items())
            if (standing := now.get(key, IN_GOOD_STANDING)).provisional
            and (not standing.is_flagged or reason.code == "vetted_known")
        ]
        Exclusion.objects.bulk_create(facts)
        if facts:
            refit_request(locked)
        for fact in facts:
            exclusion_tell(locked, annotators[fact.annotator_id or 0], fact)


def _vetted(campaign: Campaign, annotator: Annotator, reason: Reason) -> Exclusion:
    text, data = as_stored(reason)
    return Exclusion(
        campaign=campaign, annotator=annotator, provisional=True, lifted=True, reason=text, reason_data=data
    )
