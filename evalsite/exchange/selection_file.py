"""Files of selections that people made at each turn: CSV with one row per reply, or JSON with counts of patterns.

The format is detected by content. CSV may be separated by commas, semicolons or tabs. Files may have a byte order mark
and may be gzipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evalsite.exchange.errors import FormatError, VoteFileError, listed
from evalsite.exchange.file_opening import OpenedFile, Progress, open_source
from evalsite.exchange.record_reading import Records
from evalsite.exchange.selection_cells import COLUMNS, check_columns, selection_row
from evalsite.exchange.selection_counts import read_counts
from irt_engine.selections import SelectionRow, SelectionRowError, Selections, SettingTurns, TurnTable, turn_tables

MAX_ROWS = 2_000_000
_MAX_JSON = 1_000_000  # Bytes: patterns of 100 settings are far fewer.
_EMPTY = "A file of selections has one row for each reply shown in a turn, or counts of patterns as JSON."
_FIELDS = {"conversation": "conversation_id"}


class SelectionFileError(VoteFileError):
    """An error in a file of selections with its position: file, data row (from 1), line and column."""


@dataclass(frozen=True, slots=True)
class SettingSelections:
    """One setting.

    name: the setting; with the chatbots in brackets if the file has several sets of chatbots in it.
    table: the turns one by one; None if the file has counts only.
    """

    name: str
    selections: Selections
    table: TurnTable | None


@dataclass(frozen=True, slots=True)
class SelectionFile:
    """The settings of a file, and warnings about it."""

    settings: tuple[SettingSelections, ...]
    warnings: tuple[str, ...]


def read_selections(path: Path | str, *, progress: Progress | None = None) -> SelectionFile:
    """Return the selections of the file.

    Raises SelectionFileError.
    """
    path = Path(path)
    reading = _Reading()
    try:
        with open_source(path, progress=progress) as source:
            return reading.read(source)
    except FormatError as problem:
        if problem.code == "empty_file" and not problem.column:
            problem = FormatError(problem.message, code=problem.code, hint=_EMPTY)
        raise SelectionFileError(problem, path=path, row=reading.row, line=reading.line) from problem


class _Reading:
    """One pass over a file. row, line: the current position, for error messages."""

    def __init__(self) -> None:
        self.row: int | None = None
        self.line: int | None = None
        self._lines: list[int | None] = []

    def read(self, source: OpenedFile) -> SelectionFile:
        first = source.head().lstrip()[:1]
        if first in (b"{", b"["):
            found = read_counts(_text(source))
            return SelectionFile(tuple(SettingSelections(name, s, None) for name, s in found.items()), ())
        records = Records(source)
        rows = self._rows(records)
        self.row = self.line = None
        unread = [column for column in records.columns if column not in COLUMNS]
        warnings = (f"Columns that are not read: {listed(unread)}.",) if unread else ()
        return SelectionFile(_named(self._tables(rows)), warnings)

    def _rows(self, records: Records) -> list[SelectionRow]:
        rows: list[SelectionRow] = []
        try:
            for record in records:
                if not rows:
                    self._check_columns(records)
                if len(rows) == MAX_ROWS:
                    raise FormatError(f"has more than {MAX_ROWS:,} rows", code="too_big", hint="Split it by setting.")
                self.row, self.line = record.row, record.line
                rows.append(selection_row(record.values))
                self._lines.append(record.line)
        except FormatError as problem:
            if problem.code not in ("missing_column", "repeated_column"):
                self.row, self.line = records.row, records.line
            raise
        self.row = self.line = None
        if not rows:
            check_columns(records.columns, records.repeated)
            raise FormatError("holds no turns", code="empty_file", hint=_EMPTY)
        return rows

    def _check_columns(self, records: Records) -> None:
        self.row = self.line = None
        check_columns(records.columns, records.repeated)

    def _tables(self, rows: Sequence[SelectionRow]) -> list[SettingTurns]:
        try:
            return turn_tables(rows)
        except SelectionRowError as error:
            self.row, self.line = error.row + 1, self._lines[error.row]
            column = _FIELDS.get(error.column, error.column)
            raise FormatError(error.message, code=error.code, column=column, hint=error.hint) from error


def _named(tables: Sequence[SettingTurns]) -> tuple[SettingSelections, ...]:
    """Name each table by its setting, and by its chatbots if the setting has several sets of them."""
    settings = [turns.setting for turns in tables]
    return tuple(
        SettingSelections(
            turns.setting
            if settings.count(turns.setting) == 1
            else f"{turns.setting} ({', '.join(turns.table.chatbots)})",
            turns.table.selections,
            turns.table,
        )
        for turns in tables
    )


def _text(source: OpenedFile) -> str:
    data = source.stream.read(_MAX_JSON + 1)
    if len(data) > _MAX_JSON:
        raise FormatError(f"holds more than {_MAX_JSON:,} bytes of JSON", code="too_big", hint="Use CSV for turns.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(
            f"byte {error.start + 1:,} is not UTF-8", code="bad_encoding", hint="Save the file as text in UTF-8."
        ) from error
