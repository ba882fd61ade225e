"""Annotators who judge in several campaigns: their time is shared evenly among those that have work for them."""

from collections import Counter

from evalsite.campaigns.models import Campaign
from evalsite.core.errors import NotAllowed
from evalsite.judgments.models import Annotator, Assignment
from evalsite.judgments.services import assignment_claim

REMEMBERED = 100  # assignments: what lies further back is forgotten, so that a newcomer is not owed the whole past


def campaigns_fair(annotator: Annotator) -> list[Campaign]:
    """The campaigns that the annotator has joined and that collect, who has had least of their recent time first."""
    joined = Campaign.objects.filter(
        enrolments__annotator=annotator, state__in=[Campaign.State.PILOT, Campaign.State.RUNNING]
    )
    campaigns = list(joined.order_by("pk"))
    issued = Assignment.objects.filter(annotator=annotator, campaign__in=campaigns, source=Assignment.Source.PLAN)
    had = Counter(issued.order_by("-issued_at", "-pk").values_list("campaign_id", flat=True)[:REMEMBERED])
    return sorted(campaigns, key=lambda campaign: had[campaign.pk])


def work_claim(*, annotator: Annotator) -> tuple[Campaign, list[Assignment]] | None:
    """The annotator's open block, or the next one of the campaign whose turn it is; None where no campaign has work.

    Counted in assignments, so that a campaign of long blocks gets no more than one of short ones. One that has nothing
    for this annotator is passed over and loses no turn.
    """
    held = Assignment.objects.filter(annotator=annotator, state=Assignment.State.ISSUED)
    first = held.select_related("campaign").order_by("issued_at", "pk").first()
    turns = campaigns_fair(annotator)
    for campaign in [first.campaign, *turns] if first else turns:
        try:
            block = assignment_claim(campaign=campaign, annotator=annotator)
        except NotAllowed:  # it has become private since they joined
            continue
        if block:
            return campaign, block
    return None
