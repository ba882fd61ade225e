"""What submitters say of the chatbots on a board, for its further columns."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from evalsite.campaigns.models import Campaign
from evalsite.submissions.models import Submission


@dataclass(frozen=True, slots=True)
class BoardCard:
    """When a version was submitted, and licence and price as its submitter gave them; blank if not given."""

    submitted_at: datetime
    licence: str
    price: str


def board_cards(campaigns: Iterable[Campaign]) -> dict[str, BoardCard]:
    """Return the cards of submitted versions by their public IDs. Versions that owners added have none."""
    on_board = Submission.objects.filter(campaign__in=list(campaigns), version__isnull=False)
    found = on_board.values_list("version__public_id", "created_at", "card")
    return {str(key): BoardCard(at, card.get("licence", ""), card.get("price", "")) for key, at, card in found}
