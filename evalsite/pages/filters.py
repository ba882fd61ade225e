"""The filters of a board, as its page offers them."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from evalsite.boards.selectors import BoardState, slices_of
from evalsite.presentation.filter_text import label_of
from evalsite.presentation.links import Links
from evalsite.presentation.ranking import Cut

CUT_FROM = 6  # chatbots
SHOWN_AT_ONCE = 12  # choices of a filter; more stand behind their number


@dataclass(frozen=True, slots=True)
class FilterChoice:
    """`judgments`: how many there are behind it; None for the whole board."""

    label: str
    url: str
    here: bool
    judgments: int | None = None


@dataclass(frozen=True, slots=True)
class Menu:
    by: str
    label: str
    choices: list[FilterChoice]

    @property
    def parts(self) -> int:
        """How many there are beside the whole board."""
        return len(self.choices) - 1

    @property
    def folded(self) -> bool:
        return len(self.choices) > SHOWN_AT_ONCE and not any(choice.here for choice in self.choices[1:])


def menus(standing: BoardState, key: str, cut: Cut) -> list[Menu]:
    """One for each thing that the board may be filtered by; search and order are kept, another filter is not."""
    pieces = slices_of(standing.board)
    whole = {
        "aspect": (_("Aspect"), standing.board.aspect.key),
        "category": (_("Category"), _("all")),
        "kind": (_("Chatbots"), _("all")),
    }
    found = []
    for by, (label, of_whole) in whole.items():
        own = [piece for piece in pieces if piece.by == by]
        here = standing.slice if standing.slice in own else None
        first = FilterChoice(of_whole, Links(key).to("board", **cut.asked()), here is None)
        rest = [
            FilterChoice(
                label_of(piece), Links.to_slice(piece, key).to("board", **cut.asked()), piece == here, piece.judgments
            )
            for piece in own
        ]
        found += [Menu(by, label, [first, *rest])] if own else []
    return [*found, *_tiers(standing, key, cut)]


def _tiers(standing: BoardState, key: str, cut: Cut) -> list[Menu]:
    """Only a cut: the same fit, and the filter is kept. Offered where a board is long enough to be cut."""
    rows = standing.snapshot.rows if standing.snapshot else []
    if len(rows) < CUT_FROM or not all(row.get("tier") for row in rows):
        return []
    links = Links.of(standing, key)
    labels = {"": _("all"), "1": _("stronger half"), "2": _("weaker half")}
    choices = [
        FilterChoice(label, links.to("board", **cut.asked(tier=tier)), tier == cut.tier)
        for tier, label in labels.items()
    ]
    return [Menu("tier", _("Tier"), choices)]
