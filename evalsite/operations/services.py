"""Open campaigns."""

from evalsite.accounts.models import User
from evalsite.boards.analysis_plans import plan_freeze
from evalsite.boards.models import Board
from evalsite.boards.services import board_default
from evalsite.campaigns.live import live_launch_check
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import campaign_start
from evalsite.core.db import write_transaction


def campaign_open(*, campaign: Campaign, by: User | None = None, pilot: int | None = None) -> Board:
    """Start collecting, with a board that shows results from the first judgment on.

    pilot: number of judgments after which the campaign pauses for its owner.
    """
    with write_transaction():
        if campaign.is_live:
            live_launch_check(campaign)
        board = board_default(campaign=campaign)
        campaign_start(campaign=campaign, by=by, pilot=pilot)
        plan_freeze(campaign)
    return board
