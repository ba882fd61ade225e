"""Fast reading of tables (CSV, Parquet) in columns, for files without a fault.

It gives up at anything unusual, and the reader of single rows begins again: so both have the same errors.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from operator import eq, itemgetter
from pathlib import Path
from sys import intern
from typing import Any

from evalsite.core.row_files import undefused
from evalsite.core.text_names import UNPRINTABLE
from evalsite.exchange.arrow_tables import Checked, NotPlain, arrow_cells, is_plain, parquet_cells, parquet_header
from evalsite.exchange.coded_columns import CodedColumn, ColumnBuilder, different, numbered, same_value
from evalsite.exchange.errors import FormatError
from evalsite.exchange.file_opening import BUFFER, MAX_RECORD, OpenedFile, Progress, open_source
from evalsite.exchange.json_records import Nested, cell_text
from evalsite.exchange.json_tables import Row, json_rows
from evalsite.exchange.record_reading import MAX_COLUMNS, Records
from evalsite.exchange.text_lines import separator_of
from evalsite.exchange.vote_checks import CRITERION, Flags
from evalsite.exchange.vote_columns import MAX_TEXT, Layout, Outcome, order_cell, prompt_cell
from evalsite.exchange.vote_formats.registry import format_of
from evalsite.exchange.vote_reading import Options
from evalsite.exchange.votes import Vote

CHUNK = 500  # Rows in memory, beside the votes.
MOST_REMEMBERED = 100_000  # Different texts of a column.

Columns = dict[str, Sequence[Any]]
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
    votes = {name: ColumnBuilder() for name in Vote._fields}
    count = 0
    for chunk in _chunks(path, options, flags, progress, with_arrow=with_arrow):
        for name, column in chunk.items():
            votes[name].add(column)
        count += len(chunk["row"])
        if count > most:
            raise _GivesUp
    return {name: votes.pop(name).column() for name in Vote._fields}


def _chunks(
    path: Path, options: Options, flags: Flags, progress: Progress | None, *, with_arrow: bool
) -> Iterator[Columns]:
    with open_source(path, progress=progress, encoding=options.encoding) as source:
        yield from _Table(source, options, flags).chunks(with_arrow=with_arrow)


class AnotherReader(Exception):
    """Another reader has to read the file, from its beginning."""


def column_chunks(
    path: Path, options: Options, flags: Flags, progress: Progress | None, *, with_arrow: bool
) -> Iterator[Columns]:
    """Yield the votes in columns, some thousand at a time. Raises AnotherReader at anything unusual."""
    try:
        yield from _chunks(path, options, flags, progress, with_arrow=with_arrow)
    except (NotPlain, FormatError, _GivesUp, csv.Error, UnicodeDecodeError) as error:
        raise AnotherReader from error


class _Table:
    """One pass over a CSV file."""

    def __init__(self, source: OpenedFile, options: Options, flags: Flags) -> None:
        self._source = source
        self._options = options
        self._flags = flags
        self._outcomes: dict[tuple[str, ...], Outcome] = {}
        self._prompts: dict[tuple[str, ...], str | None] = {}
        self._orders: dict[str, int | None] = {}
        self._labels: dict[str, Outcome | None] = {}
        self._texts: dict[str, _Texts] = {}
        self._row = 0
        self._wanted: dict[str, set[str]] = {}
        for column, value in options.where:
            self._wanted.setdefault(column, set()).add(value)
        self._chosen_columns = {*self._wanted, *filter(None, [options.by])}

    def chunks(self, *, with_arrow: bool) -> Iterator[Columns]:
        records = Records(self._source)
        if records.kind not in {"CSV", "Parquet", "JSON lines"} or self._options.without:
            raise _GivesUp
        if records.kind == "JSON lines":
            yield from self._json_chunks(records)
            return
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
            yield self._votes(self._numbered(self._restored(self._cells(rows, records.header))), layout)

    def _arrow_chunks(self, records: Records, separator: str) -> Iterator[Columns]:
        head = self._source.stream.readline(MAX_RECORD)
        if not head.strip() or not is_plain(head):
            raise NotPlain
        records.learn_header([name.strip() for name in head.decode().rstrip("\n").split(separator)])
        layout = self._layout(records)
        if len(records.header) == 1 or "" in records.header:
            raise NotPlain
        for cells in arrow_cells(self._source, records.header, self._needed(records, layout), separator):
            yield self._votes(self._numbered(self._restored(cells)), layout)

    def _parquet_chunks(self, records: Records) -> Iterator[Columns]:
        records.learn_header(parquet_header(self._source.file))
        layout = self._layout(records)
        for cells in parquet_cells(self._source.file, self._needed(records, layout)):
            yield self._votes(self._numbered(cells), layout)

    def _json_chunks(self, records: Records) -> Iterator[Columns]:
        layout: Layout | None = None
        for rows in json_rows(self._source):
            if layout is None:
                records.columns = dict.fromkeys(rows[0])
                layout = self._unbound(records)
            records.columns |= dict.fromkeys(chain.from_iterable(rows))
            if CRITERION in records.columns or any(name != name.strip() or not name for name in records.columns):
                raise _GivesUp
            if len(records.columns) > MAX_COLUMNS:
                raise _GivesUp
            yield self._json_votes(rows, layout.bound(records.columns), records)
        if not self._chosen_columns <= set(records.columns):
            raise _GivesUp

    def _json_votes(self, rows: list[Row], layout: Layout, records: Records) -> Columns:
        numbered = list(enumerate(rows, start=self._row + 1))
        self._row += len(rows)
        for column, values in self._wanted.items():
            numbered = [one for one in numbered if cell_text(one[1].get(column)).strip() in values]
        watched = {
            name: [cell_text(row[name]) for _, row in numbered if name in row]
            for name in records.columns
            if self._flags.watches(name)
        }
        self._flags.add_columns(watched, len(numbered))
        used = {name for name in (self._options.by, *layout.known) if name is not None}
        cells: dict[str, Sequence[Any]] = {name: [cell_text(row.get(name)) for _, row in numbered] for name in used}
        return self._votes({**cells, "": [number for number, _ in numbered]}, layout, flagged=True)

    def _needed(self, records: Records, layout: Layout) -> list[str]:
        wanted = {self._options.by, *(column for column, _ in self._options.where), *layout.known}
        return [name for name in records.header if name in wanted or self._flags.watches(name)]

    def _layout(self, records: Records) -> Layout:
        if records.repeated or CRITERION in records.columns or not self._chosen_columns <= set(records.columns):
            raise _GivesUp
        return self._unbound(records).bound(records.columns)

    def _unbound(self, records: Records) -> Layout:
        form = format_of(records)
        if form.expands:
            raise _GivesUp
        self._flags.looks_like = form.title
        return self._options.mapping.apply(form, records, {})

    def _cells(self, rows: list[list[str]], header: list[str]) -> dict[str, Sequence[str]]:
        """Return the rows in columns. Gives up if they have another number of cells than the header."""
        if set(map(len, rows)) != {len(header)} or len(header) == 1:
            rows = [row for row in rows if len(row) > 1 or (row and row[0].strip())]
        if set(map(len, rows)) - {len(header)} or "" in header:
            raise _GivesUp
        columns = zip(*rows, strict=True) if rows else ((),) * len(header)
        return dict(zip(header, columns, strict=True))

    def _restored(self, cells: dict[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
        """Return the cells of a CSV file without the apostrophes that `defused` adds."""
        if not self._source.apostrophes:
            return cells
        return {name: _each(column, undefused) for name, column in cells.items()}

    def _numbered(self, cells: dict[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
        """Return the selected rows, with their numbers under "" (no column has an empty name)."""
        count = len(next(iter(cells.values())))
        numbers = range(self._row + 1, self._row + count + 1)
        self._row += count
        cells = {**cells, "": numbers}
        return self._chosen(cells) if self._options.where else cells

    def _chosen(self, cells: dict[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
        tests = [_each(cells[column], partial(_is_one_of, values)) for column, values in self._wanted.items()]
        kept = [number for number, test in enumerate(zip(*tests, strict=True)) if all(test)]
        return {name: _some(column, kept) for name, column in cells.items()}

    def _votes(self, cells: dict[str, Sequence[Any]], layout: Layout, *, flagged: bool = False) -> Columns:
        rows = cells.pop("")
        if not flagged:
            self._flags.add_columns(cells, len(rows))
        a, b = self._names(cells, layout.system_a), self._names(cells, layout.system_b)
        if _any_equal(a, b) or "" in different(a) | different(b):
            raise _GivesUp
        outcomes = self._judged(cells, layout)
        unknown = same_value(None, len(rows))
        orders = cells[layout.a_first[0]] if layout.a_first else ()
        by = self._options.by
        return {
            "row": rows,
            "system_a": a,
            "system_b": b,
            "outcome": _each(outcomes, itemgetter(0)),
            "both_bad": _each(outcomes, itemgetter(1)),
            "prompt_id": self._prompt_names(cells, layout, unknown),
            "annotator_id": self._optional(cells, layout.annotator, unknown),
            "a_first": _each(orders, lambda order: self._order(order, layout)) if layout.a_first else unknown,
            "category": self._optional(cells, layout.category, unknown),
            "timestamp": self._optional(cells, layout.timestamp, unknown),
            "vote_id": self._optional(cells, layout.vote_id, unknown),
            "by": unknown if by is None else self._names(cells, by),
        }

    def _judged(self, cells: _Cells, layout: Layout) -> Sequence[Outcome]:
        if layout.judge is None:
            return _each(cells[layout.outcome], lambda label: self._label(label, layout))
        names = (*layout.required, *layout.used)
        known = self._outcomes
        keys = list(zip(*(cells[name] for name in names), strict=True))
        for key in set(keys) - known.keys():
            outcome = layout.outcome_of(dict(zip(names, key, strict=True)))
            if outcome is None:
                raise _GivesUp
            known[key] = outcome
        return [known[key] for key in keys]

    def _prompt_names(self, cells: _Cells, layout: Layout, unknown: Sequence[None]) -> Sequence[str | None]:
        names = (*layout.prompt, *(() if self._options.merge_turns else layout.turn), *layout.prompt_text)
        if not layout.prompt and not layout.prompt_text:
            return unknown
        if names == layout.prompt:
            return self._optional(cells, names, unknown)
        merge = self._options.merge_turns
        keys: list[tuple[str, ...]] = list(zip(*(cells[name] for name in names), strict=True))
        if layout.prompt_text:  # Texts are too long to remember.
            return [prompt_cell(dict(zip(names, key, strict=True)), layout, merge_turns=merge) for key in keys]
        for key in set(keys) - self._prompts.keys():
            self._prompts[key] = prompt_cell(dict(zip(names, key, strict=True)), layout, merge_turns=merge)
        return [self._prompts[key] for key in keys]

    def _label(self, cell: str, layout: Layout) -> Outcome | None:
        if cell not in self._labels:
            self._labels[cell] = layout.outcome_of({layout.outcome: cell})
        return self._labels[cell]

    def _order(self, cell: str, layout: Layout) -> int | None:
        if cell not in self._orders:
            self._orders[cell] = order_cell({layout.a_first[0]: cell}, layout)
        return self._orders[cell]

    def _names(self, cells: _Cells, column: str) -> Sequence[str]:
        return self._texts.setdefault(column, _Texts()).plain(cells[column])

    def _optional(self, cells: _Cells, columns: Sequence[str], unknown: Sequence[None]) -> Sequence[str | None]:
        """Return the first cell with text of each row."""
        found: Sequence[str | None] = unknown
        for number, column in enumerate(columns):
            texts = self._texts.setdefault(column, _Texts()).plain(cells[column])
            if number == 0:
                values = texts.values if isinstance(texts, CodedColumn) else texts
                found = _each(texts, _text_or_none) if "" in values else texts
            else:
                found = [one or other or None for one, other in zip(found, texts, strict=True)]
        return found


class _Texts:
    """The different texts of a column so far, without surrounding blanks. Times and identifiers are not remembered."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._remembers = True

    def plain(self, cells: Sequence[str]) -> Sequence[str]:
        """Return the cells without surrounding blanks. Gives up unless all are short plain text."""
        if isinstance(cells, CodedColumn):  # Its texts are few, and each is one object already.
            _check_texts(cells.values)
            return CodedColumn(list(map(str.strip, cells.values)), cells.codes)
        return self._plain(cells)

    def _plain(self, values: Sequence[str]) -> list[str]:
        known = self._known
        if not self._remembers:
            _check_texts(values)
            return list(map(str.strip, values))
        try:
            return [known[value] for value in values]
        except KeyError:
            pass
        new = set(values) - known.keys()
        _check_texts(new)
        known.update((value, intern(value.strip())) for value in new)
        found = [known[value] for value in values]
        if len(known) > MOST_REMEMBERED:
            self._remembers = False
            known.clear()
        return found


def _check_texts(texts: Collection[str]) -> None:
    """Give up unless all are short plain text."""
    if Nested in set(map(type, texts)):
        raise _GivesUp
    if texts and (UNPRINTABLE.search(" ".join(texts)) or len(max(texts, key=len)) > MAX_TEXT):
        raise _GivesUp


def _text_or_none(text: str) -> str | None:
    return text or None


def _each(cells: Sequence[Any], change: Callable[[Any], Any]) -> Sequence[Any]:
    """Return what `change` makes of each cell. Of coded columns it is asked once for each different text."""
    if isinstance(cells, CodedColumn):
        return CodedColumn(list(map(change, cells.values)), cells.codes)
    return list(map(change, cells))


def _any_equal(a: Sequence[str], b: Sequence[str]) -> bool:
    """Return whether a row has the same text in both columns."""
    if not (isinstance(a, CodedColumn) and isinstance(b, CodedColumn)):
        return any(map(eq, a, b))
    numbers: dict[str, int] = {}
    return bool((numbered(a, numbers) == numbered(b, numbers)).any())


def _some(cells: Sequence[Any], kept: Sequence[int]) -> Sequence[Any]:
    if isinstance(cells, CodedColumn):
        return CodedColumn(cells.values, cells.codes[list(kept)])
    return [cells[number] for number in kept]


def _is_one_of(values: Collection[str], cell: str) -> bool:
    return cell.strip() in values
