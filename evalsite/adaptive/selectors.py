"""Reads of the adaptive room: boards as their readers may see them."""

from dataclasses import dataclass

from django.db.models import Q, QuerySet

from evalsite.accounts.models import User
from evalsite.adaptive.models import Board, Decision, Snapshot
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.selectors import as_uuid, visible_by_key
from evalsite.core.errors import NotFound
from evalsite.judgments.selectors import Tally, tally


@dataclass(frozen=True, slots=True)
class BoardState:
    """A board at this moment: its newest snapshot, its campaign's state, and what has come in since."""

    board: Board
    campaign: Campaign | None
    snapshot: Snapshot | None
    decision: Decision | None
    tally: Tally

    @property
    def etag(self) -> str:
        """Changes when, and only when, something that a reader sees changes."""
        number = self.snapshot.number if self.snapshot else 0
        state = self.campaign.state if self.campaign else "none"
        return f'"{self.board.pk}-{number}-{self.tally.judgments}-{state}"'


def board_get(*, key: str, user: User | None) -> Board:
    """The board at this address, if every campaign that it ranks may be seen by this person.

    Raises NotFound alike for what is not there and what is not theirs.
    """
    public_id = as_uuid(key)
    board: Board | None = (
        (Board.objects.filter(public_id=public_id) if public_id else Board.objects.filter(slug=key))
        .select_related("organisation", "default_of", "aspect")
        .first()
    )
    if board is None or not _visible(board, user, by_link=public_id is not None):
        raise NotFound("There is no such board.", hint="Check the address; a private board needs you to log in.")
    return board


def _visible(board: Board, user: User | None, *, by_link: bool) -> bool:
    campaigns = list(board.campaigns.all())
    if not campaigns:
        return False
    return all(
        Campaign.objects.filter(visible_by_key(str(campaign.public_id) if by_link else campaign.slug, user)).exists()
        for campaign in campaigns
    )


def board_state_get(board: Board) -> BoardState:
    """The newest state of a board."""
    snapshot = snapshot_current(board)
    # The last decision stands until there is another: late answers after a stop make snapshots, not decisions.
    decision = Decision.objects.filter(snapshot__board=board).order_by("-pk").first()
    return BoardState(board, board.default_of, snapshot, decision, tally(board.campaigns.all()))


def snapshot_current(board: Board) -> Snapshot | None:
    """The snapshot of the newest refit that came to an end (an earlier one again, when its input came back)."""
    return Snapshot.objects.filter(refits__board=board).defer("posterior").order_by("-refits__pk").first()


def boards_listed(user: User | None) -> QuerySet[Board]:
    """Boards that this person finds without a link: public ones, and all of their own; oldest first."""
    if user is not None and user.is_staff:
        return Board.objects.order_by("pk")
    return Board.objects.filter(Q(pk__in=boards_public().values("pk")) | Q(pk__in=Board.objects.of(user))).order_by(
        "pk"
    )


def snapshots_of(board: Board) -> QuerySet[Snapshot]:
    """A board's snapshots without what only the worker reads, oldest first."""
    return board.snapshots.defer("posterior").order_by("pk")


def snapshot_get(*, board: Board, number: int) -> Snapshot:
    """One snapshot of a board. Raises NotFound."""
    found = snapshots_of(board).filter(number=number).first() if number < 2**31 else None
    if found is None:
        raise NotFound("The board has no such snapshot.", field="number")
    return found


def boards_public() -> QuerySet[Board]:
    """Boards that everybody may see, newest first."""
    return (
        Board.objects.filter(default_of__visibility=Campaign.Visibility.PUBLIC)
        .exclude(default_of__state=Campaign.State.DRAFT)
        .exclude(campaigns__in=Campaign.objects.exclude(visibility=Campaign.Visibility.PUBLIC))
        .select_related("default_of")
        .order_by("-pk")
    )
