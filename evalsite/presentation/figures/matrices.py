"""Matrices of all pairs of chatbots: wins and numbers of votes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evalsite.boards.chart_data import Pair
from evalsite.boards.rows import BoardRow
from evalsite.core.terminal import shown
from evalsite.presentation.figures.base import Cell, Figure, FigureInput, Table
from evalsite.presentation.formatting import whole
from evalsite.presentation.links import Links

MATRIX_AT_MOST = 40


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """A cell of a matrix.

    level: shade from 0 to 4.
    words: the full content as text.
    """

    text: str
    level: int
    words: str


@dataclass(frozen=True, slots=True)
class MatrixRow:
    rank: str
    name: str
    cells: list[MatrixCell | None]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows `first` to `last` of `size` (counted from 1), against each other.

    starts: first row, last row and address of each part.
    """

    rows: list[MatrixRow]
    first: int
    last: int
    size: int
    starts: list[tuple[int, int, str]]

    def leading_to(self, page: str) -> "Matrix":
        """Return the same matrix with links to its other parts on the page at this address."""
        starts = [(first, last, f"{page}?{urlencode({'from': first})}") for first, last, _ in self.starts]
        return replace(self, starts=starts)


def wins(given: FigureInput) -> Figure:
    compared = [pair for pair in given.record.pairs if pair.judgments]
    against = sum(pair.won < pair.lost for pair in compared)
    finding = _("In %(against)s of %(all)s compared pairs the votes went against the ranking.") % {
        "against": against or _("none"),
        "all": len(compared),
    }
    matrix = _matrix(given, "wins", lambda pair: _win_cell(given, pair))
    return Figure("wins", _("Wins by pair"), finding, _pair_table(given, compared), matrix)


def counts(given: FigureInput) -> Figure:
    compared = [pair for pair in given.record.pairs if pair.judgments]
    most = max((pair.judgments for pair in compared), default=1)
    finding = _("%(judgments)s judgments on %(pairs)s pairs; at most %(most)s on one pair.") % {
        "judgments": whole(sum(pair.judgments for pair in compared)),
        "pairs": whole(len(compared)),
        "most": most,
    }
    matrix = _matrix(given, "counts", lambda pair: _count_cell(given, pair, most))
    return Figure("counts", _("How often each pair was judged"), finding, _pair_table(given, compared), matrix)


def _pair_table(given: FigureInput, compared: Sequence[Pair]) -> Table:
    columns = ["higher", "lower", "judgments", "won", "tied", "lost", "win_fraction", "known_ties"]
    rows: list[list[Cell]] = [
        [*given.names(pair), pair.judgments, pair.won, pair.tied, pair.lost, pair.win_rate, pair.known]
        for pair in compared
    ]
    return Table(columns, rows)


def _win_cell(given: FigureInput, pair: Pair) -> MatrixCell:
    first, second = map(shown, given.names(pair))
    fraction = pair.win_rate or 0.0
    words = _("%(first)s against %(second)s: %(won)s won, %(tied)s tied, %(lost)s lost") % {
        "first": first,
        "second": second,
        "won": pair.won,
        "tied": pair.tied,
        "lost": pair.lost,
    }
    if pair.known:
        words += ngettext(", %(count)s known tie", ", %(count)s known ties", pair.known) % {"count": pair.known}
    level = 0 if fraction <= 0.5 else min(4, 1 + int((fraction - 0.5) * 8))
    return MatrixCell(str(round(100 * fraction)), level, words)


def _count_cell(given: FigureInput, pair: Pair, most: int) -> MatrixCell:
    first, second = map(shown, given.names(pair))
    words = ngettext(
        "%(first)s and %(second)s: %(count)s judgment",
        "%(first)s and %(second)s: %(count)s judgments",
        pair.judgments,
    ) % {"first": first, "second": second, "count": pair.judgments}
    return MatrixCell(str(pair.judgments), 1 + min(3, int(4 * pair.judgments / (most + 1))), words)


def _rank(row: BoardRow) -> str:
    return "–" if "withdrawn" in row else str(row["rank"])


def _matrix(given: FigureInput, slug: str, cell: Callable[[Pair], MatrixCell]) -> Matrix:
    size = len(given.rows)
    start = given.start if 0 <= given.start < size else 0
    within = range(start, min(start + MATRIX_AT_MOST, size))
    cells: dict[tuple[int, int], MatrixCell] = {}
    for pair in given.record.pairs:
        if pair.judgments and pair.first in within and pair.second in within:
            cells[pair.first, pair.second] = cell(pair)
            cells[pair.second, pair.first] = cell(pair.turned())
    rows = [MatrixRow(_rank(given.rows[i]), given.rows[i]["name"], [cells.get((i, j)) for j in within]) for i in within]
    links = Links.of(given.board_state, given.key)
    starts = [
        (at + 1, min(at + MATRIX_AT_MOST, size), links.to("board_chart", slug, **{"from": str(at + 1)}))
        for at in range(0, size, MATRIX_AT_MOST)
    ]
    return Matrix(rows, start + 1, start + len(rows), size, starts if len(starts) > 1 else [])
