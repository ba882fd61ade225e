"""The ranking of a board for its page: parts, classes, rows.

Sorting and searching only select rows. They compute nothing again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _

from evalsite.boards.rows import BoardRow
from evalsite.boards.selectors import BoardState
from evalsite.core.terminal import shown
from evalsite.presentation.chart_geometry import Axis, Whisker, axis_for, whisker
from evalsite.presentation.filter_text import missing_text
from evalsite.presentation.formatting import fixed, interval_text, share, signed
from evalsite.presentation.links import Links
from evalsite.presentation.page_cache import cached_part

SEARCH_AT_MOST = 80  # Maximum characters of a search.
TIERS = ("1", "2")  # In the format of the rows.


@dataclass(frozen=True, slots=True)
class Cut:
    """The reader's choice of rows and order, from the query string."""

    search: str = ""
    sort: str = "rank"
    tier: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Cut":
        """Parse the query. An unknown order becomes the default, so that old links still work."""
        sort = query.get("sort", "rank")
        tier = query.get("tier", "")
        return cls(
            query.get("q", "").strip()[:SEARCH_AT_MOST],
            sort if sort in SORTS else "rank",
            tier if tier in TIERS else "",
        )

    def asked(self, **changes: str) -> dict[str, str]:
        """Return the query string with these changes; empty values are omitted."""
        return {"q": self.search, "sort": "" if self.sort == "rank" else self.sort, "tier": self.tier} | changes


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
    withdrawn: str | None
    preliminary: bool
    status: str
    tier: int | None
    ability_text: str
    interval_text: str
    se_text: str
    win_rate_text: str
    judgments: int
    whisker: Whisker


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
    "tier": lambda row: (row.get("tier") or len(TIERS) + 1, row["rank"]),
}
DESCENDING = {"win_rate", "judgments"}


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

    return render() if cut.search else cached_part(f"ranking-{key}-{stamp(board_state)}-{cut.sort}{cut.tier}", render)


def ranking_context(board_state: BoardState, key: str, cut: Cut) -> dict[str, Any]:
    """Return the context of _ranking.html."""
    rows: list[BoardRow] = board_state.snapshot.rows if board_state.snapshot else []
    found = [row for row in rows if _matches(row, cut.search) and cut.tier in {"", str(row.get("tier"))}]
    links = Links.of(board_state, key)
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
        "columns": _columns(cut, links, tiers=any(row.get("tier") for row in rows)),
        "tiers": any(row.get("tier") for row in rows),
        "of": len(rows),
        "found": len(found),
        "groups": max((row["group"] for row in rows), default=0),
        "parts": parts_of(rows, found, cut, links, board_state),
    }


def _matches(row: BoardRow, search: str) -> bool:
    """Return whether each word occurs in the name or the organisation."""
    text = f"{row['name']} {row['organisation']}".casefold()
    return all(word in text for word in search.casefold().split())


def _columns(cut: Cut, links: Links, *, tiers: bool) -> list[Column]:
    wins = _("Wins and half of the ties, known ones too. It depends on whom it met; the ability allows for that")
    drawn = _("Bar: where the ability plausibly lies. Dot: the best estimate. Line at 0: the average chatbot")
    status = _("Preliminary: too few judgments to rely on it. Retired: a later version takes part in its place")
    heads = [
        ("rank", _("Rank"), _("Place by ability; in brackets the best and worst place the evidence still allows")),
        ("name", _("Chatbot"), ""),
        ("drawn", _("Ability and its 95 % interval"), drawn),
        ("ability", _("Ability"), _("Best estimate, in logits; 0 is the average of this board")),
        ("interval", _("95 % interval"), ""),
        ("se", _("SE"), _("Standard error of the ability: smaller is surer")),
        ("win_rate", _("Wins"), wins),
        ("judgments", _("Judgments"), _("Comparisons this chatbot took part in")),
        *([("tier", _("Tier"), _("1: the stronger half of this board. 2: the weaker half"))] if tiers else []),
        ("status", _("Status"), status),
    ]
    return [_column(cut, links, *head) for head in heads]


def _column(cut: Cut, links: Links, slug: str, label: str, tip: str) -> Column:
    url = links.to("board", **cut.asked(sort="" if slug in {"rank", cut.sort} else slug))
    direction = "descending" if slug in DESCENDING else "ascending"
    return Column(slug, label, tip, url if slug in SORTS else "", direction if slug == cut.sort else "")


def parts_of(
    rows: list[BoardRow], found: list[BoardRow], cut: Cut, links: Links, board_state: BoardState
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
                    _shown_row(row, axis, links, beside, status_of(row, rows, withdrawn, new), around[i : i + 3])
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


def _shown_row(
    row: BoardRow,
    axis: Axis,
    links: Links,
    beside: _NameSuffix,
    status: Status,
    classes: list[int | None],
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
        withdrawn=status.reason,
        preliminary=row["preliminary"],
        status=status.word,
        tier=row.get("tier"),
        ability_text=signed(row["ability"]),
        interval_text=interval_text(row["lower"], row["upper"]),
        se_text=fixed(row["se"]),
        win_rate_text=share(row.get("win_rate")),
        judgments=row["judgments"],
        whisker=whisker(axis, row["lower"], row["ability"], row["upper"]),
    )
