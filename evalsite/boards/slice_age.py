"""Whether the board of a slice and the whole board show the same state.

Slices are fitted after the whole board, by a job of their own. Until it has run, they show an earlier state. If votes
came in before it ran, they show a later one.
"""

from enum import StrEnum

from django.db.models import QuerySet, Subquery

from evalsite.boards.models import Board, Refit, Slice

MARK_LENGTH = 40  # A slice's mark begins with this many characters of the whole board's.
MIXED = {Slice.By.MODE, Slice.By.STYLE}  # They depend on more than the whole board, and may change without it.


class SliceAge(StrEnum):
    """A slice beside the whole board."""

    SAME = "same"
    EARLIER = "earlier"
    LATER = "later"


def slices_with_age(board: Board) -> QuerySet[Slice]:
    """Return the slices of a board with what `slice_age` needs of the whole board's newest refit."""
    fitted = Refit.objects.filter(board=board, snapshot__isnull=False).order_by("-pk")
    pieces: QuerySet[Slice] = board.slices.annotate(
        whole_seen=Subquery(fitted.values("seen")[:1]),
        whole_decided_at=Subquery(fitted.values("finished_at")[:1]),
        whole_made_at=Subquery(fitted.values("snapshot__created_at")[:1]),
    )
    return pieces


def slice_age(piece: Slice) -> SliceAge:
    """Compare a slice of `slices_with_age` with the whole board."""
    seen, decided_at, made_at = (getattr(piece, name) for name in ("whole_seen", "whole_decided_at", "whole_made_at"))
    if made_at is None or (seen and piece.seen[:MARK_LENGTH] == seen[:MARK_LENGTH]):
        return SliceAge.SAME
    # While a refit is still deciding, it has no mark yet. It may have found nothing new.
    if piece.looked_at is None or piece.looked_at < (decided_at if seen else made_at):
        return SliceAge.EARLIER
    return SliceAge.LATER if seen and piece.by not in MIXED else SliceAge.SAME


def categories_behind(board: Board) -> bool:
    """Return whether any category shows an earlier state than the whole board."""
    return any(slice_age(piece) == SliceAge.EARLIER for piece in slices_with_age(board).filter(by=Slice.By.CATEGORY))
