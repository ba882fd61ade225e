"""Fast reading of tables (CSV, Parquet) in columns, for files without a fault.

It gives up at anything unusual, and the reader of single rows begins again: so both have the same errors.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import eq
from pathlib import Path
from sys import intern
from typing import Any

from evalsite.core.text_names import UNPRINTABLE
from evalsite.exchange.arrow_tables import Checked, NotPlain, arrow_cells, is_plain, parquet_cells, parquet_header
from evalsite.exchange.errors import FormatError
from evalsite.exchange.file_opening import BUFFER, MAX_RECORD, OpenedFile, Progress, open_source
from evalsite.exchange.record_reading import Records
from evalsite.exchange.text_lines import separator_of
from evalsite.exchange.vote_checks import CRITERION, Flags
from evalsite.exchange.vote_columns import MAX_TEXT, Layout, Outcome, order_cell, prompt_cell
from evalsite.exchange.vote_formats.registry import format_of
from evalsite.exchange.vote_reading import Options
from evalsite.exchange.votes import Vote

CHUNK = 500  # Rows in memory, beside the votes.

Columns = dict[str, list[Any]]
_Cells = Mapping[str, Sequence[str]]


class _GivesUp(Exception):
    """The reader of single rows has to read the file."""


def columns_read(
    path: Path, options: Options, chosen: Iterable[str | None], most: int, progress: Progress | None = None
) -> tuple[Columns, Flags] | None:
    """Return the votes in columns, or None if the reader of single rows has to read the file.

    chosen: the columns that the caller filters by, of which no warning is given.
    most: maximum number of votes.
    """
    chosen = set(chosen)
    for with_arrow in (True, False):
        flags = Flags(chosen)
        try:
            votes = _columns(path, options, flags, most, progress, with_arrow=with_arrow)
        except NotPlain:
            continue
        except (FormatError, _GivesUp, csv.Error, UnicodeDecodeError):
            return None
        return (votes, flags) if votes["row"] else None
    return None


def _columns(
    path: Path, options: Options, flags: Flags, most: int, progress: Progress | None, *, with_arrow: bool
) -> Columns:
    votes: Columns = {name: [] for name in Vote._fields}
    with open_source(path, progress=progress, encoding=options.encoding) as source:
        for chunk in _Table(source, options, flags).chunks(with_arrow=with_arrow):
            for name, column in chunk.items():
                votes[name] += column
            if len(votes["row"]) > most:
                raise _GivesUp
    return votes


class _Table:
    """One pass over a CSV file."""

    def __init__(self, source: OpenedFile, options: Options, flags: Flags) -> None:
        self._source = source
        self._options = options
        self._flags = flags
        self._outcomes: dict[tuple[str, ...], Outcome] = {}
        self._prompts: dict[tuple[str, ...], str | None] = {}
        self._orders: dict[str, int | None] = {}
        self._row = 0

    def chunks(self, *, with_arrow: bool) -> Iterator[Columns]:
        records = Records(self._source)
        if records.kind not in {"CSV", "Parquet"} or self._options.without:
            raise _GivesUp
        if records.kind == "Parquet":
            if not with_arrow:
                raise _GivesUp
            yield from self._parquet_chunks(records)
            return
        csv.field_size_limit(max(csv.field_size_limit(), MAX_RECORD))
        separator = separator_of(self._source.head())
        if with_arrow:
            yield from self._arrow_chunks(records, separator)
            return
        self._source.allow(4 * MAX_RECORD)
        text = io.TextIOWrapper(io.BufferedReader(Checked(self._source, b"\0"), BUFFER), "utf-8", newline="\n")
        reader = csv.reader(text, strict=True, delimiter=separator)
        records.learn_header([name.strip() for name in next((row for row in reader if any(row)), [])])
        layout = self._layout(records)
        while rows := list(islice(reader, CHUNK)):
            if self._source.record_bytes > MAX_RECORD and any(sum(map(len, row)) > MAX_RECORD // 8 for row in rows):
                raise _GivesUp  # Perhaps too long in bytes.
            self._source.record_done()
            yield self._votes(self._cells(rows, records.header), layout)

    def _arrow_chunks(self, records: Records, separator: str) -> Iterator[Columns]:
        head = self._source.stream.readline(MAX_RECORD)
        if not head.strip() or not is_plain(head):
            raise NotPlain
        records.learn_header([name.strip() for name in head.decode().rstrip("\n").split(separator)])
        layout = self._layout(records)
        if len(records.header) == 1 or "" in records.header:
            raise NotPlain
        for cells in arrow_cells(self._source, records.header, self._needed(records, layout), separator):
            yield self._votes(self._numbered(cells), layout)

    def _parquet_chunks(self, records: Records) -> Iterator[Columns]:
        records.learn_header(parquet_header(self._source.file))
        layout = self._layout(records)
        for cells in parquet_cells(self._source.file, self._needed(records, layout)):
            yield self._votes(self._numbered(cells), layout)

    def _needed(self, records: Records, layout: Layout) -> list[str]:
        wanted = {self._options.by, *(column for column, _ in self._options.where), *layout.known}
        return [name for name in records.header if name in wanted or self._flags.watches(name)]

    def _layout(self, records: Records) -> Layout:
        form = format_of(records)
        chosen = {self._options.by, *(column for column, _ in self._options.where)} - {None}
        if form.expands or records.repeated or CRITERION in records.columns or not chosen <= set(records.columns):
            raise _GivesUp
        self._flags.looks_like = form.title
        return self._options.mapping.apply(form, records, {}).bound(records.columns)

    def _cells(self, rows: list[list[str]], header: list[str]) -> dict[str, Sequence[str]]:
        """Return the selected rows in columns, with their numbers under "" (no column has an empty name)."""
        if set(map(len, rows)) != {len(header)} or len(header) == 1:
            rows = [row for row in rows if len(row) > 1 or (row and row[0].strip())]
        if set(map(len, rows)) - {len(header)} or "" in header:
            raise _GivesUp
        columns = zip(*rows, strict=True) if rows else ((),) * len(header)
        return self._numbered(dict(zip(header, columns, strict=True)))

    def _numbered(self, cells: dict[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
        count = len(next(iter(cells.values())))
        numbers = range(self._row + 1, self._row + count + 1)
        self._row += count
        cells = {**cells, "": numbers}
        return self._chosen(cells) if self._options.where else cells

    def _chosen(self, cells: dict[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
        wanted: dict[str, set[str]] = {}
        for column, value in self._options.where:
            wanted.setdefault(column, set()).add(value)
        tests = [[cell.strip() in values for cell in cells[column]] for column, values in wanted.items()]
        kept = [number for number, test in enumerate(zip(*tests, strict=True)) if all(test)]
        return {name: [column[number] for number in kept] for name, column in cells.items()}

    def _votes(self, cells: dict[str, Sequence[Any]], layout: Layout) -> Columns:
        rows = list(cells.pop(""))
        self._flags.add_columns(cells, len(rows))
        a, b = _names(cells[layout.system_a]), _names(cells[layout.system_b])
        if any(map(eq, a, b)) or not (all(a) and all(b)):
            raise _GivesUp
        outcomes = self._judged(cells, layout)
        unknown: list[None] = [None] * len(rows)
        orders = cells[layout.a_first[0]] if layout.a_first else ()
        by = self._options.by
        return {
            "row": rows,
            "system_a": a,
            "system_b": b,
            "outcome": [outcome for outcome, _ in outcomes],
            "both_bad": [bad for _, bad in outcomes],
            "prompt_id": self._prompt_names(cells, layout, unknown),
            "annotator_id": _optional(cells, layout.annotator, unknown),
            "a_first": [self._order(order, layout) for order in orders] if layout.a_first else unknown,
            "category": _optional(cells, layout.category, unknown),
            "timestamp": _optional(cells, layout.timestamp, unknown),
            "vote_id": _optional(cells, layout.vote_id, unknown),
            "by": unknown if by is None else _names(cells[by]),
        }

    def _judged(self, cells: _Cells, layout: Layout) -> list[Outcome]:
        names = (layout.outcome,) if layout.judge is None else (*layout.required, *layout.used)
        known = self._outcomes
        keys = list(zip(*(cells[name] for name in names), strict=True))
        for key in set(keys) - known.keys():
            outcome = layout.outcome_of(dict(zip(names, key, strict=True)))
            if outcome is None:
                raise _GivesUp
            known[key] = outcome
        return [known[key] for key in keys]

    def _prompt_names(self, cells: _Cells, layout: Layout, unknown: list[None]) -> list[str | None]:
        names = (*layout.prompt, *(() if self._options.merge_turns else layout.turn), *layout.prompt_text)
        if not layout.prompt and not layout.prompt_text:
            return list(unknown)
        if names == layout.prompt:
            return _optional(cells, names, unknown)
        merge = self._options.merge_turns
        keys: list[tuple[str, ...]] = list(zip(*(cells[name] for name in names), strict=True))
        if layout.prompt_text:  # Texts are too long to remember.
            return [prompt_cell(dict(zip(names, key, strict=True)), layout, merge_turns=merge) for key in keys]
        for key in set(keys) - self._prompts.keys():
            self._prompts[key] = prompt_cell(dict(zip(names, key, strict=True)), layout, merge_turns=merge)
        return [self._prompts[key] for key in keys]

    def _order(self, cell: str, layout: Layout) -> int | None:
        if cell not in self._orders:
            self._orders[cell] = order_cell({layout.a_first[0]: cell}, layout)
        return self._orders[cell]


def _names(cells: Sequence[str]) -> list[str]:
    """Return the cells without surrounding blanks. Gives up unless all are short plain text."""
    if cells and (UNPRINTABLE.search(" ".join(cells)) or len(max(cells, key=len)) > MAX_TEXT):
        raise _GivesUp
    texts = set(cells)
    if len(texts) == len(cells) > 1:  # Times and identifiers: nothing repeats.
        return list(map(str.strip, cells))
    known = {cell: intern(cell.strip()) for cell in texts}
    return [known[cell] for cell in cells]


def _optional(cells: _Cells, columns: Sequence[str], unknown: list[None]) -> list[str | None]:
    """Return the first cell with text of each row."""
    found: list[str | None] = list(unknown)
    for column in columns:
        found = [one or other or None for one, other in zip(found, _names(cells[column]), strict=True)]
    return found
