"""Sets of live conversations: made and computed again by themselves when conversations of a campaign have ended."""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.utils import timezone

from evalsite.campaigns.models import Campaign
from evalsite.scorecards.live_conversations import live_mark
from evalsite.scorecards.models import ConversationSet, StoredScorecard
from evalsite.scorecards.services import AT_LEAST, scorecard_request


def live_sets_update() -> None:
    """Make the sets of live campaigns that have none, and request scorecards whose conversations have changed."""
    begun = Campaign.objects.filter(mode=Campaign.Mode.LIVE, conversations__ended_at__isnull=False).distinct()
    for campaign in begun.select_related("conversation_set", "organisation"):
        mark = live_mark(campaign)
        found = getattr(campaign, "conversation_set", None)
        if mark != (found.mark if found else "") and not _computed_lately(found):
            scorecard_request(found or live_set_make(campaign))


def live_set_make(campaign: Campaign) -> ConversationSet:
    """Return a new set of the campaign's live conversations, under a name that the organisation has not used."""
    for name in (campaign.name, f"{campaign.name} ({campaign.slug})"):
        try:
            with transaction.atomic():
                return ConversationSet.objects.create(
                    organisation=campaign.organisation, name=name[:200], campaign=campaign
                )
        except IntegrityError:
            continue
    return ConversationSet.objects.create(
        organisation=campaign.organisation, name=str(campaign.public_id), campaign=campaign
    )


def _computed_lately(conversation_set: ConversationSet | None) -> bool:
    recent = StoredScorecard.objects.filter(
        conversation_set=conversation_set, computed_at__gt=timezone.now() - AT_LEAST
    )
    return conversation_set is not None and recent.exists()
