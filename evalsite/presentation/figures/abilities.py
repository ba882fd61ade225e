"""Abilities with their intervals, and the certainty of the order of neighbours."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evalsite.boards.chart_data import Pair
from evalsite.boards.rows import BoardRow
from evalsite.boards.withdrawn_rows import ranked_rows
from evalsite.presentation.board_head import headline
from evalsite.presentation.chart_geometry import Axis, ChartFrame, axis_for, bell
from evalsite.presentation.figures.base import Cell, Figure, FigureInput, Table
from evalsite.presentation.formatting import chance, interval_text
from evalsite.presentation.links import Links
from evalsite.presentation.ranking import Cut, parts_of

NEIGHBOURS_AT_MOST = 20


def intervals(given: FigureInput) -> Figure:
    columns = ["group", "class", "rank", "rank_lower", "rank_upper", "chatbot", "ability", "lower", "upper", "se"]
    rows: list[list[Cell]] = [
        [
            row["group"],
            *_places(row),
            row["name"],
            row["ability"],
            row["lower"],
            row["upper"],
            row["se"],
        ]
        for row in given.rows
    ]
    ranked = ranked_rows(given.rows)
    parts = parts_of(ranked, ranked, Cut(), Links.of(given.board_state, given.key), given.board_state)
    finding = headline(ranked, more_to_come=given.collecting)
    return Figure("intervals", _("Abilities and their 95 % intervals"), finding, Table(columns, rows), parts)


def _places(row: BoardRow) -> list[Cell]:
    """Return class and ranks; a withdrawn chatbot has none."""
    if "withdrawn" in row:
        return [None, None, None, None]
    return [row.get("rank_class"), row["rank"], row["rank_lower"], row["rank_upper"]]


@dataclass(frozen=True, slots=True)
class Bell:
    """The distribution of one difference, as a curve.

    below: the part with the opposite order.
    apart: whether the board shows the two as different; None where it is not known.
    """

    first: str
    second: str
    chance: str
    apart: bool | None
    interval: str
    curve: str
    below: str


def differences(given: FigureInput) -> Figure:
    ranked = [place for place, row in enumerate(given.rows) if "withdrawn" not in row]
    below = dict(pairwise(ranked))
    neighbours = [pair for pair in given.record.pairs if below.get(pair.first) == pair.second]
    shown = neighbours[:NEIGHBOURS_AT_MOST]
    across = axis_for([p.mean - 3 * p.se for p in shown], [p.mean + 3 * p.se for p in shown])
    columns = ["higher", "lower", "difference", "lower_bound", "upper_bound", "se", "probability_of_order", "different"]
    rows: list[list[Cell]] = [
        [*given.names(p), p.mean, p.mean - p.margin, p.mean + p.margin, p.se, p.p_above, _mark(p)] for p in neighbours
    ]
    drawing = {
        "axis": across,
        "bells": [_bell(given, pair, across, min(p.se for p in shown)) for pair in shown],
        "left_out": len(neighbours) - len(shown),
    }
    title = _("Can neighbours be told apart?")
    return Figure("differences", title, _finding(neighbours), Table(columns, rows), drawing)


def _mark(pair: Pair) -> str:
    """Return the column `different`; empty where the record is older than the mark."""
    return {True: "yes", False: "no", None: ""}[pair.apart]


def _finding(neighbours: Sequence[Pair]) -> str:
    """Say how many pairs of neighbours the board shows as different."""
    if any(pair.apart is None for pair in neighbours):
        return _("Which of them the board shows as different appears with the next update of the board.")
    return ngettext(
        "The board shows %(apart)s of %(all)s pair of neighbours as different.",
        "The board shows %(apart)s of %(all)s pairs of neighbours as different.",
        len(neighbours),
    ) % {"apart": sum(bool(pair.apart) for pair in neighbours), "all": len(neighbours)}


def _bell(given: FigureInput, pair: Pair, across: Axis, smallest_se: float) -> Bell:
    """Return the curve of a pair. Curves enclose equal areas, so a more certain difference is taller."""
    frame = ChartFrame(across, Axis(0.0, 1.0), top=4.0, bottom=38.0)
    height = smallest_se / pair.se
    points = [(x, y * height) for x, y in bell(pair.mean, pair.se) if across.low <= x <= across.high]
    below = [point for point in points if point[0] <= 0]
    first, second = given.names(pair)
    return Bell(
        first=first,
        second=second,
        chance=chance(pair.p_above),
        apart=pair.apart,
        interval=interval_text(pair.mean - pair.margin, pair.mean + pair.margin),
        curve=_area(frame, points),
        below=_area(frame, [*below, (0.0, below[-1][1])]) if below else "",
    )


def _area(frame: ChartFrame, points: Sequence[tuple[float, float]]) -> str:
    return frame.band([(x, 0.0, y) for x, y in points])
