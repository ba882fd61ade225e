"""Common parts of figures: table and files, finding in one sentence, and drawing data.

Each figure has text for what its drawing shows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evalsite.boards.chart_data import Pair
from evalsite.boards.events import BoardEvent, events_of, newest_event
from evalsite.boards.rows import BoardRow
from evalsite.boards.selectors import BoardState, ChartData, Moment, chart_data_get, history
from evalsite.core.row_files import csv_text
from evalsite.presentation.ranking import stamp

ROWS_SHOWN = 200

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Table:
    """Raw numbers with column names, as in the files."""

    columns: list[str]
    rows: list[list[Cell]]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a board.

    finding: its message in one sentence.
    drawing: the data for its template.
    """

    slug: str
    title: str
    finding: str
    table: Table
    drawing: Any

    @property
    def template(self) -> str:
        return f"charts/_{self.slug}.html"

    @property
    def shown_rows(self) -> list[list[Cell]]:
        rows = self.table.rows[:ROWS_SHOWN]
        return [[round(cell, 3) if isinstance(cell, float) else cell for cell in row] for row in rows]


@dataclass(frozen=True, slots=True)
class FigureInput:
    """The input of figures.

    start: the first row of a matrix.
    """

    board_state: BoardState
    key: str
    rows: list[BoardRow]
    record: ChartData
    moments: list[Moment]
    start: int = 0
    events: Sequence[BoardEvent] = ()

    @property
    def collecting(self) -> bool:
        return self.board_state.campaign is None or self.board_state.campaign.collecting

    def names(self, pair: Pair) -> list[str]:
        return [self.rows[pair.first]["name"], self.rows[pair.second]["name"]]


def figure_input(board_state: BoardState, key: str, start: int = 0, *, past: bool = True) -> FigureInput | None:
    """Return the input of figures; None without a snapshot or without chart data (an old snapshot).

    past: whether to read earlier snapshots, which takes 50 ms for 200 chatbots.
    """
    snapshot = board_state.snapshot
    record = chart_data_get(snapshot) if snapshot else None
    if snapshot is None or record is None:
        return None
    moments = history(snapshot) if past else []
    return FigureInput(board_state, key, board_state.rows, record, moments, start, events_of(snapshot.board, moments))


def version_of(board_state: BoardState) -> str:
    """Return a value that changes with the input of figures.

    It includes limits and events, because they change between snapshots.
    """
    evidence = board_state.evidence
    aim = "-".join(f"{evidence.get(name, 0.0):.6g}" for name in ("target", "judgments_to_go", "out_of_reach"))
    decision = board_state.decision.pk if board_state.decision else 0
    return f"{stamp(board_state)}-{decision}-{aim}-{newest_event(board_state.board)}"


def as_csv(table: Table) -> str:
    """Return the table as CSV (RFC 4180).

    A text that a spreadsheet would run as a formula gets an apostrophe in front.
    """
    return csv_text([table.columns, *table.rows])
