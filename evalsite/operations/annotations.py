"""Launch of campaigns that annotate conversations."""

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.permissions import Act, allows, role_of
from evalsite.core.db import write_transaction
from evalsite.core.throttle import admit_costly
from evalsite.operations.services import campaign_open
from evalsite.scorecards.annotation import AnnotationRequest, annotation_create
from evalsite.scorecards.models import ConversationSet


def annotation_launch(
    *, conversation_set: ConversationSet, request: AnnotationRequest, by: User | None, draft: bool = False
) -> Campaign:
    """Create a campaign on a sample of replies and launch it. It stays a draft for those who may not launch.

    by: the person; None on the command line, where everything is allowed.
    draft: leave it a draft, for its pay, its annotators and its gold to be set up.

    The caller has checked that the person may change the set. Raises InvalidInput, Conflict, TooMany.
    """
    if by is not None:
        admit_costly(what="campaign", who=by.public_id)
    with write_transaction():
        campaign = annotation_create(conversation_set=conversation_set, request=request, by=by)
        if not draft and (by is None or allows(role_of(by, campaign), Act.LAUNCH)):
            campaign_open(campaign=campaign, by=by)
    campaign.refresh_from_db()
    return campaign
