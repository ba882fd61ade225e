"""The filters of a board for its page."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from evalsite.boards.models import Slice
from evalsite.boards.selectors import BoardState, slices_of
from evalsite.boards.slice_age import SliceAge, slice_age
from evalsite.presentation.filter_text import behind_text, label_of
from evalsite.presentation.links import Links
from evalsite.presentation.ranking import Cut, tier_words

CUT_FROM = 6  # Chatbots.
SHOWN_AT_ONCE = 12  # Choices of a filter; longer lists are folded.


@dataclass(frozen=True, slots=True)
class FilterChoice:
    """A choice of a filter.

    judgments: number in the slice; None for the whole board.
    """

    label: str
    url: str
    here: bool
    judgments: int | None = None


@dataclass(frozen=True, slots=True)
class Menu:
    """A filter with its choices. note: what to know of them."""

    by: str
    label: str
    choices: list[FilterChoice]
    note: str = ""

    @property
    def parts(self) -> int:
        """Return the number of choices beside the whole board."""
        return len(self.choices) - 1

    @property
    def folded(self) -> bool:
        return len(self.choices) > SHOWN_AT_ONCE and not any(choice.here for choice in self.choices[1:])


def menus(board_state: BoardState, key: str, cut: Cut) -> list[Menu]:
    """Return one menu for each filter. Links keep the search and the order, but drop the other filters."""
    pieces = slices_of(board_state.board)
    whole = {
        "aspect": (_("Aspect"), board_state.board.aspect.key),
        "category": (_("Category"), _("all")),
        "kind": (_("Chatbots"), _("all")),
        "mode": (_("Judgments"), _("conversations")),
        "style": (_("Style"), _("as judged")),
    }
    found = []
    for by, (label, of_whole) in whole.items():
        own = [piece for piece in pieces if piece.by == by and (by != Slice.By.MODE or piece.enough)]
        here = board_state.slice if board_state.slice in own else None
        alone = {"mode": Slice.OWN_MODE} if by == Slice.By.MODE else {}
        first = FilterChoice(of_whole, Links(key).to("board", **alone, **cut.asked()), here is None)
        rest = [
            FilterChoice(
                label_of(piece), Links.to_slice(piece, key).to("board", **cut.asked()), piece == here, piece.judgments
            )
            for piece in own
        ]
        is_behind = by == Slice.By.CATEGORY and any(slice_age(piece) == SliceAge.EARLIER for piece in own)
        found += [Menu(by, label, [first, *rest], behind_text() if is_behind else "")] if own else []
    return [*found, *_tiers(board_state, key, cut)]


def _tiers(board_state: BoardState, key: str, cut: Cut) -> list[Menu]:
    """Return the menu of tiers, for boards that are long enough.

    A tier only selects rows of the same fit, so the links keep the filter.
    """
    rows = board_state.snapshot.rows if board_state.snapshot else []
    if len(rows) < CUT_FROM or not all(row.get("tier") for row in rows):
        return []
    links = Links.of(board_state, key)
    labels = {"": _("all")} | {str(tier): words for tier, words in tier_words(rows).items()}
    choices = [
        FilterChoice(label, links.to("board", **cut.asked(tier=tier)), tier == cut.tier)
        for tier, label in labels.items()
    ]
    return [Menu("tier", _("Tier"), choices, _("Tiers are bands of ability, the strongest first."))]
