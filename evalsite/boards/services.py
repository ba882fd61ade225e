"""Create boards, and tell webhooks of new results."""

from datetime import datetime

from django.conf import settings

from evalsite.boards.models import Board
from evalsite.campaigns.events import CampaignEvent, campaign_tell
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.selectors import aspect_primary
from evalsite.core.db import write_transaction


def board_default(*, campaign: Campaign) -> Board:
    """Return the campaign's own board of all judgments on its primary aspect. Create it on the first call."""
    # Usually it exists, and then nothing waits to write.
    found: Board | None = Board.objects.filter(default_of=campaign).first()
    if found is not None:
        return found
    with write_transaction():
        board, created = Board.objects.get_or_create(
            default_of=campaign,
            defaults={
                "organisation": campaign.organisation,
                "name": campaign.name,
                "slug": campaign.slug,
                "aspect": aspect_primary(campaign),
            },
        )
        if created:
            board.campaigns.add(campaign)
    return board


def board_tell(board: Board, *, judgments: int, at: datetime, snapshot: int | None = None) -> None:
    """Tell the webhooks of the board's campaign that it has new results. Other boards belong to no single campaign.

    snapshot: its number; None where nothing is fitted.
    """
    campaign = board.default_of
    if campaign is None:
        return
    campaign_tell(
        campaign=campaign,
        event=CampaignEvent.BOARD,
        about=board.public_id,
        at=at,
        data=lambda: {
            "board": board.slug,
            "snapshot": snapshot,
            "judgments": judgments,
            "url": f"{settings.SITE_URL}/boards/{board.slug}/",
        },
    )
