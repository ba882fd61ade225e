"""Writes of the adaptive room: boards, and opening a campaign with the board that shows it."""

from evalsite.adaptive.models import Board
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.selectors import aspect_primary
from evalsite.campaigns.services import campaign_start
from evalsite.core.db import write_transaction


def board_default(*, campaign: Campaign) -> Board:
    """The campaign's own board: all its judgments, on its primary aspect. Made when first asked for."""
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


def campaign_open(*, campaign: Campaign) -> Board:
    """Start collecting, with a board that shows the result from the first judgment on."""
    with write_transaction():
        board = board_default(campaign=campaign)
        campaign_start(campaign=campaign)
    return board
