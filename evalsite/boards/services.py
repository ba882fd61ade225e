"""Create boards."""

from evalsite.boards.models import Board
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.selectors import aspect_primary
from evalsite.core.db import write_transaction


def board_default(*, campaign: Campaign) -> Board:
    """Return the campaign's own board of all judgments on its primary aspect. Create it on the first call."""
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
