"""The ranking of a board for its page: parts, classes, rows.

Sorting and searching only select rows. They compute nothing again.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _

from evalsite.boards.rows import BoardRow
from evalsite.boards.selectors import BoardState, StyleResult, style_result
from evalsite.boards.withdrawn_rows import ranked_rows, unranked_rows
from evalsite.campaigns.plans import MOST_TIERS
from evalsite.core.terminal import shown
from evalsite.presentation.chart_geometry import Axis, Whisker, axis_for, whisker
from evalsite.presentation.filter_text import missing_text
from evalsite.presentation.formatting import chance, fixed, interval_text, share, signed
from evalsite.presentation.links import Links
from evalsite.presentation.page_cache import cached_part
from evalsite.submissions.board_cards import BoardCard, board_cards

SEARCH_AT_MOST = 80  # Maximum characters of a search.

TIERS = tuple(str(tier) for tier in range(1, MOST_TIERS + 1))  # In the format of addresses.


@dataclass(frozen=True, slots=True)
class Cut:
    """The reader's choice of rows and order, from the query string."""

    search: str = ""
    sort: str = "rank"
    tier: str = ""
    columns: str = ""

    @property
    def more(self) -> bool:
        """Return whether all columns are shown, because the reader asks for them or sorts by one of them."""
        return bool(self.columns) or self.sort in MORE_COLUMNS

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Cut":
        """Parse the query. An unknown order becomes the default, so that old links still work."""
        sort = query.get("sort", "rank")
        tier = query.get("tier", "")
        return cls(
            query.get("q", "").strip()[:SEARCH_AT_MOST],
            sort if sort in SORTS else "rank",
            tier if tier in TIERS else "",
            "more" if query.get("columns") == "more" else "",
        )

    def asked(self, **changes: str) -> dict[str, str]:
        """Return the query string with these changes; empty values are omitted."""
        sort = "" if self.sort == "rank" else self.sort
        return {"q": self.search, "sort": sort, "tier": self.tier, "columns": self.columns} | changes


@dataclass(frozen=True, slots=True)
class ShownRow:
    place: str  # Identifies a row, for animated rows.
    rank: int
    bounds: str
    rank_class: int | None
    opens_class: bool
    closes_class: bool
    name: str
    url: str
    beside: list[str]
    preliminary: bool
    noted: bool  # Whether the status is shown beside the name.
    status: str
    tier: int | None
    moved: str
    organisation: str
    card: BoardCard | None
    ability_text: str
    against_average: str
    interval_text: str
    se_text: str
    win_rate_text: str
    judgments: int
    whisker: Whisker


@dataclass(frozen=True, slots=True)
class WithdrawnRow:
    """A chatbot that no longer takes part, below the ranking. status: withdrawn or retired."""

    name: str
    url: str
    beside: list[str]
    status: str
    reason: str
    ability_text: str
    interval_text: str
    judgments: int


@dataclass(frozen=True, slots=True)
class RankingPart:
    """Chatbots that comparisons connect, on their own axis: zero is the mean of this part."""

    number: int
    size: int
    axis: Axis
    rows: list[ShownRow]


@dataclass(frozen=True, slots=True)
class Column:
    slug: str
    label: str
    tip: str
    url: str
    direction: str


# Every order that a reader can choose; missing values are last.
SORTS: dict[str, Callable[[BoardRow], Any]] = {
    "rank": lambda row: (row["rank"], row["name"]),
    "name": lambda row: row["name"].casefold(),
    "se": lambda row: row["se"],
    "win_rate": lambda row: (row.get("win_rate") is None, -(row.get("win_rate") or 0.0), row["rank"]),
    "judgments": lambda row: (-row["judgments"], row["rank"]),
    "tier": lambda row: (row.get("tier") or math.inf, row["rank"]),
}
DESCENDING = {"win_rate", "judgments"}
SOMETIMES = ("tier", "submitted", "licence", "price")  # Where any row has a value.
MORE_COLUMNS = ("interval", "se", "win_rate", "status", "organisation", *SOMETIMES)  # On request.


def tier_words(rows: Sequence[BoardRow]) -> dict[int, str]:
    """Return the names of a board's tiers, by number."""
    tiers = sorted({tier for row in rows if (tier := row.get("tier"))})
    if tiers == [1, 2]:
        return {1: _("stronger half"), 2: _("weaker half")}
    return {tier: _("tier %(n)s") % {"n": tier} for tier in tiers}


def stamp(board_state: BoardState) -> str:
    """Return a value that changes with the ranking. A page with another stamp fetches the ranking."""
    of = board_state.snapshot or board_state.board
    state = board_state.campaign.state if board_state.campaign else "none"
    begun = int(board_state.tally.judgments > 0)
    return f"{of.public_id}{board_state.slice_key}-{state}-{board_state.withdrawn_hash}-{begun}"


def ranking_html(board_state: BoardState, key: str, cut: Cut) -> str:
    """Return the ranking as HTML.

    The whole board is rendered once per snapshot and order. Each search renders again.
    """

    def render() -> str:
        return render_to_string("_ranking.html", ranking_context(board_state, key, cut))

    return (
        render()
        if cut.search
        else cached_part(f"ranking-{key}-{stamp(board_state)}-{cut.sort}{cut.tier}{cut.columns}", render)
    )


def ranking_context(board_state: BoardState, key: str, cut: Cut) -> dict[str, Any]:
    """Return the context of _ranking.html."""
    known = board_state.rows
    rows, gone = ranked_rows(known), unranked_rows(known)
    tier = next((tier for row in rows if str(tier := row.get("tier")) == cut.tier), None)  # None: all tiers
    found, gone = ([row for row in some if _found(row, cut.search, tier)] for some in (rows, gone))
    links, style = Links.of(board_state, key), style_result(board_state)
    cards = board_cards(board_state.board.campaigns.all()) if cut.more else {}
    given, tiers = _given(rows, cards), any(row.get("tier") for row in rows)
    columns = _columns(cut, links, [*given, *(["tier"] if tiers else [])])
    return {
        "board": board_state.board,
        "state": board_state.campaign.state if board_state.campaign else "",
        "judgments": board_state.tally.judgments,
        "stamp": stamp(board_state),
        "slice": board_state.slice,
        "url": links.to("board"),
        "what_is_there": missing_text(board_state.slice) if board_state.slice else "",
        "whole_url": reverse("board", args=[key]),
        "live_url": links.to("board_ranking", **cut.asked()),
        "cut": cut,
        "columns": columns,
        "more": cut.more,
        "more_url": links.to("board", **cut.asked(columns="more")),
        "fewer_url": links.to("board", **cut.asked(columns="", sort="" if cut.sort in MORE_COLUMNS else cut.sort)),
        "tiers": tiers,
        "given": given,
        "rest": len(columns) - 3,
        "of": len(known),
        "found": len(found) + len(gone),
        "groups": max((row["group"] for row in rows), default=0),
        "style_rows": style_rows(style),
        "parts": parts_of(rows, found, cut, links, board_state, style, cards),
        "withdrawn": [_withdrawn_row(row, known, links, board_state) for row in gone],
    }


def _found(row: BoardRow, search: str, tier: int | None) -> bool:
    """Return whether each word occurs in the name or the organisation, and the tier is the chosen one."""
    if tier not in {None, row.get("tier")}:
        return False
    text = f"{row['name']} {row['organisation']}".casefold()
    return all(word in text for word in search.casefold().split())


def _given(rows: Sequence[BoardRow], cards: Mapping[str, BoardCard]) -> list[str]:
    """Return the columns of cards that have a value in any row."""
    shown = [cards[row["version"]] for row in rows if row.get("version") in cards]
    values = {
        "submitted": bool(shown),
        "licence": any(one.licence for one in shown),
        "price": any(one.price for one in shown),
    }
    return [name for name, has in values.items() if has]


def _columns(cut: Cut, links: Links, given: Collection[str]) -> list[Column]:
    """Return the columns; those of cards and tiers only where they are `given`."""
    wins = _("Wins and half of the ties, known ones too. It depends on whom it met; the ability allows for that")
    drawn = _("Bar: where the ability plausibly lies. Dot: the best estimate. Line at 0: the average chatbot")
    average = _("Expected share of votes against the average chatbot of this board; a tie counts half")
    places = _("Place by ability; in brackets the best and worst place the evidence still allows.")
    classes = _("A line joins a class: the chatbots not shown as different from the strongest of them.")
    status = _("Preliminary: too few judgments to rely on it. Retired: a later version takes part in its place")
    heads = [
        ("rank", _("Rank"), f"{places} {classes}"),
        ("name", _("Chatbot"), ""),
        ("drawn", _("Ability and its 95 % interval"), drawn),
        (
            "ability",
            _("Ability"),
            _("Best estimate, in logits: a lead of 1 wins 73 % of decided judgments. 0 is the average of this board"),
        ),
        ("average", _("Beats the average"), average),
        ("interval", _("95 % interval"), ""),
        ("se", _("SE"), _("Standard error of the ability: smaller is surer")),
        ("win_rate", _("Wins"), wins),
        ("judgments", _("Judgments"), _("Comparisons this chatbot took part in")),
        ("tier", _("Tier"), _("Band of ability; 1 has the strongest chatbots of this board")),
        ("status", _("Status"), status),
        ("organisation", _("Organisation"), ""),
        ("submitted", _("Submitted"), ""),
        ("licence", _("Licence"), _("As its submitter gave it")),
        ("price", _("Price"), _("As its submitter gave it")),
    ]
    shown = [head for head in heads if head[0] not in SOMETIMES or head[0] in given]
    return [_column(cut, links, *head) for head in shown if cut.more or head[0] not in MORE_COLUMNS]


def _column(cut: Cut, links: Links, slug: str, label: str, tip: str) -> Column:
    url = links.to("board", **cut.asked(sort="" if slug in {"rank", cut.sort} else slug))
    direction = "descending" if slug in DESCENDING else "ascending"
    return Column(slug, label, tip, url if slug in SORTS else "", direction if slug == cut.sort else "")


def parts_of(
    rows: list[BoardRow],
    found: list[BoardRow],
    cut: Cut,
    links: Links,
    board_state: BoardState,
    style: StyleResult | None = None,
    cards: Mapping[str, BoardCard] | None = None,
) -> list[RankingPart]:
    """Return the parts of the ranking.

    The axes cover the whole board, so that a search does not move anything.
    """
    beside, withdrawn = _NameSuffix(rows, board_state.verified), board_state.withdrawn
    new = frozenset(one.version for one in board_state.newcomers)
    parts = []
    for group in sorted({row["group"] for row in found}):
        whole = [row for row in rows if row["group"] == group]
        axis = axis_for([row["lower"] for row in whole], [row["upper"] for row in whole])
        shown = sorted((row for row in found if row["group"] == group), key=SORTS[cut.sort])
        classes = [row.get("rank_class") if cut.sort == "rank" else None for row in shown]
        around = [None, *classes, None]
        parts.append(
            RankingPart(
                number=group,
                size=len(whole),
                axis=axis,
                rows=[
                    _shown_row(
                        row,
                        axis,
                        links,
                        beside,
                        status_of(row, rows, withdrawn, new),
                        around[i : i + 3],
                        moved_text(row, style),
                        (cards or {}).get(row.get("version", "")),
                    )
                    for i, row in enumerate(shown)
                ],
            )
        )
    return parts


class Status(NamedTuple):
    """The status of a row in one word.

    reason: why the chatbot was withdrawn; None otherwise.
    """

    word: str
    reason: str | None


def status_of(
    row: BoardRow, rows: list[BoardRow], withdrawn: Mapping[str, str], new: frozenset[str] = frozenset()
) -> Status:
    """Return the status of a row.

    A withdrawn version is "retired" if another version of the same chatbot stays. One that is being placed is "new".
    """
    reason = withdrawn.get(row.get("version", ""))
    if reason is None and row.get("version", "") in new:
        return Status(_("new"), None)
    if reason is None:
        return Status(_("preliminary") if row["preliminary"] else _("established"), None)
    others = [each.get("version", "") for each in rows if each["chatbot"] == row["chatbot"]]
    replaced = any(version not in withdrawn for version in others)
    return Status(_("retired") if replaced else _("withdrawn"), reason)


def _withdrawn_row(row: BoardRow, rows: list[BoardRow], links: Links, board_state: BoardState) -> WithdrawnRow:
    return WithdrawnRow(
        name=shown(row["name"]),
        url=links.to("board_chatbot", row["chatbot"]),
        beside=_NameSuffix(rows, board_state.verified).of(row),
        status=status_of(row, rows, board_state.withdrawn).word,
        reason=row["withdrawn"],
        ability_text=signed(row["ability"]),
        interval_text=interval_text(row["lower"], row["upper"]),
        judgments=row["judgments"],
    )


class _NameSuffix:
    """The text beside a name: only the parts that distinguish the rows of this board."""

    def __init__(self, rows: list[BoardRow], verified: frozenset[str]) -> None:
        self.verified = verified
        self.organisations = len({row["organisation"] for row in rows}) > 1
        self.kinds = len({row["kind"] for row in rows}) > 1
        names = [(row["organisation"], row["name"]) for row in rows]
        self.versions = len(set(names)) < len(names)

    def of(self, row: BoardRow) -> list[str]:
        kinds = {"live": _("live"), "static": _("static")}
        parts = [
            row.get("version_label", "") if self.versions else "",
            self._organisation(row) if self.organisations else "",
            kinds.get(row["kind"], "") if self.kinds else "",
        ]
        return [part for part in parts if part]

    def _organisation(self, row: BoardRow) -> str:
        return organisation_text(row, self.verified)


def organisation_text(row: BoardRow, verified: frozenset[str]) -> str:
    """Return the organisation of a row, with the badge for verified organisations."""
    if row["chatbot"] not in verified:
        return shown(row["organisation"])
    return _("%(organisation)s ✓ verified") % {"organisation": shown(row["organisation"])}


def style_rows(style: StyleResult | None) -> list[dict[str, str]]:
    """Return the effects of style as text."""
    labels = {
        "length": _("Length (tokens)"),
        "headers": _("Headers"),
        "lists": _("List items"),
        "bold": _("Bold passages"),
    }
    return [
        {
            "label": labels.get(one.name, one.name),
            "effect": signed(one.effect),
            "interval": interval_text(one.lower, one.upper),
        }
        for one in (style.effects if style else ())
    ]


def moved_text(row: BoardRow, style: StyleResult | None) -> str:
    """Return how many places a chatbot stands higher or lower than on the board as judged; empty without a change."""
    before = None if style is None else style.ranks_as_judged.get(row.get("version", ""))
    if before is None or before == row["rank"]:
        return ""
    return f"▲ {before - row['rank']}" if before > row["rank"] else f"▼ {row['rank'] - before}"


def _shown_row(
    row: BoardRow,
    axis: Axis,
    links: Links,
    beside: _NameSuffix,
    status: Status,
    classes: list[int | None],
    moved: str,
    card: BoardCard | None,
) -> ShownRow:
    before, own, after = classes
    return ShownRow(
        place=f"{row['group']}/{row.get('version') or row['chatbot']}",
        rank=row["rank"],
        bounds="" if row["rank_lower"] == row["rank_upper"] else f"{row['rank_lower']}–{row['rank_upper']}",
        rank_class=own,
        opens_class=own != before,
        closes_class=own != after,
        name=shown(row["name"]),  # Imported votes, and rows from before names were checked.
        url=links.to("board_chatbot", row["chatbot"]),
        beside=beside.of(row),
        preliminary=row["preliminary"],
        noted=row["preliminary"] or status.word == _("new"),
        status=status.word,
        tier=row.get("tier"),
        moved=moved,
        organisation=organisation_text(row, beside.verified),
        card=card,
        ability_text=signed(row["ability"]),
        against_average=chance(1 / (1 + math.exp(-row["ability"]))),
        interval_text=interval_text(row["lower"], row["upper"]),
        se_text=fixed(row["se"]),
        win_rate_text=share(row.get("win_rate")),
        judgments=row["judgments"],
        whisker=whisker(axis, row["lower"], row["ability"], row["upper"]),
    )
