"""Records of a CSV, JSON lines or JSON array file, each as a mapping of column to text.

The format is detected by content. The row of a record is its number (the first after the header is 1), without blank
lines. Its line is the line on which it begins, for formats with lines.

All values become text, because CSV has nothing else. A JSON null is "". A number is written in decimal. A list or an
object is NESTED, because no column uses one.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import NamedTuple, NoReturn

import ijson

from evalsite.exchange.errors import FormatError
from evalsite.exchange.file_opening import BUFFER, MAX_RECORD, OpenedFile, too_long

MAX_COLUMNS = 1_000
MAX_DEPTH = 100  # Nesting depth of JSON. Deeper files are probably attacks.
NESTED = "(a list or an object)"  # Recognised by identity, so that an equal text remains text.


class Record(NamedTuple):
    row: int
    line: int | None
    values: Mapping[str, str]


class Records:
    """One pass over a source.

    row, line: the current position, for error messages.
    columns: the header, or for JSON the keys so far, because objects may omit unknown values.
    """

    def __init__(self, source: OpenedFile, *, delimiter: str = ",") -> None:
        self.row: int | None = None
        self.line: int | None = None
        self.columns: dict[str, None] = {}
        self.repeated: frozenset[str] = frozenset()
        self._source = source
        self._delimiter = delimiter
        first = source.head().lstrip()[:1]
        self.kind = {b"[": "JSON array", b"{": "JSON lines"}.get(first, "CSV")

    @property
    def has_header(self) -> bool:
        """Return whether all columns are known before the first row."""
        return self.kind == "CSV"

    def __iter__(self) -> Iterator[Record]:
        if self.kind == "JSON array":
            return self._from_array()
        return self._from_lines() if self.kind == "JSON lines" else self._from_csv()

    def _from_csv(self) -> Iterator[Record]:
        # The csv module's limit (131,072 characters) is per process; this only raises it.
        csv.field_size_limit(max(csv.field_size_limit(), MAX_RECORD))
        lines = _Lines(self._source)
        table = self._csv_rows(lines)
        header = next(table, None)
        if header is None:
            raise FormatError("is empty", code="empty_file", hint="A file of votes has one row for each judgment.")
        names = [name.strip() for name in header]
        self._learn_header(names)
        for row, fields in enumerate(table, start=1):
            if len(fields) != len(names):
                raise FormatError(
                    f"has {len(fields):,} fields where the header has {len(names):,}",
                    code="ragged_row",
                    hint="Put fields that contain commas in quotation marks.",
                )
            yield Record(row, self.line, dict(zip(names, fields, strict=True)))

    def _csv_rows(self, lines: _Lines) -> Iterator[list[str]]:
        """Yield rows that are not blank, the header first.

        `self.row` and `self.line` are of the current row.
        """
        reader = csv.reader(lines, strict=True, delimiter=self._delimiter)
        while True:
            self.line = lines.number + 1
            lines.begin_record()
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise _bad_csv(error) from error
            except FormatError as problem:
                # In a row over several lines, the error is on the last one; an open quote starts where the row begins.
                if problem.code != "too_long":
                    self.line = max(self.line, lines.number)
                raise
            if fields and (len(fields) > 1 or fields[0].strip()):
                yield fields
                self.row = 1 if self.row is None else self.row + 1

    def _learn_header(self, names: list[str]) -> None:
        self.columns = dict.fromkeys(names)
        self.repeated = frozenset(name for name in self.columns if names.count(name) > 1)
        self._refuse_many_columns()
        self.row = None

    def _from_lines(self) -> Iterator[Record]:
        lines = _Lines(self._source)
        self.row = self.line = 1  # The position of the next record, because an unreadable line is itself wrong.
        for text in lines:
            if text.strip():
                yield Record(self.row, self.line, self._learn_keys(_json_line(text)))
                self.row += 1
            lines.begin_record()
            self.line = lines.number + 1

    def _from_array(self) -> Iterator[Record]:
        self.row = 1
        for pairs in _array_items(self._source):
            yield Record(self.row, None, self._learn_keys(pairs))
            self.row += 1

    def _learn_keys(self, pairs: list[tuple[str, str]]) -> Mapping[str, str]:
        values = {key.strip(): value for key, value in pairs}
        if len(values) != len(pairs):
            names = [key.strip() for key, _ in pairs]
            self.repeated = frozenset(name for name in values if names.count(name) > 1)
        if not self.columns.keys() >= values.keys():
            self.columns |= dict.fromkeys(values)
            self._refuse_many_columns()
        return values

    def _refuse_many_columns(self) -> None:
        if len(self.columns) > MAX_COLUMNS:
            raise FormatError(f"has more than {MAX_COLUMNS:,} columns", code="too_big")


class _Lines:
    """Decoded lines of limited length.

    The lines of one record (CSV) share a limit until `begin_record`.
    """

    def __init__(self, source: OpenedFile) -> None:
        self.number = 0
        self._source = source
        self._used = 0

    def begin_record(self) -> None:
        self._used = 0
        self._source.record_done()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._source.stream.readline(MAX_RECORD - self._used + 1)
        if not line:
            raise StopIteration
        self.number += 1
        self._used += len(line)
        if self._used > MAX_RECORD:
            raise too_long()
        if b"\0" in line:
            raise FormatError("holds a NUL byte", code="bad_encoding", hint="Save the file as text in UTF-8.")
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise FormatError(
                f"byte {error.start + 1:,} of the line is not UTF-8",
                code="bad_encoding",
                hint="Save the file as text in UTF-8.",
            ) from error


def _bad_csv(error: csv.Error) -> FormatError:
    if "unexpected end of data" in str(error):
        return FormatError("opens a quotation mark that is never closed", code="bad_csv")
    if "new-line character" in str(error):
        hint = "Save the file with line feeds. Put texts with carriage returns in quotation marks."
        return FormatError("holds a carriage return without a line feed", code="bad_csv", hint=hint)
    return FormatError(f"is not valid CSV ({error})", code="bad_csv", hint="Check the quotation marks of this row.")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


class _Pairs(list[tuple[str, object]]):
    """A JSON object as a list of pairs, so that duplicate keys are detected."""


def _json_line(text: str) -> list[tuple[str, str]]:
    try:
        value = json.loads(text, parse_float=Decimal, parse_constant=_refuse_constant, object_pairs_hook=_Pairs)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise _bad_json(error, "Use one JSON object per line, or one array of objects.") from error
    if not isinstance(value, _Pairs):
        raise _not_an_object()
    return [(key, _text(item)) for key, item in value]


def _array_items(source: OpenedFile) -> Iterator[list[tuple[str, str]]]:
    """Yield the flat objects of the top-level array, one at a time."""
    events = _events(source)
    next(events, None)  # The bracket by which the format was detected.
    for event, _ in events:
        if event == "start_map":
            yield _flat_object(events)
            source.record_done()
        elif event != "end_array":
            raise _not_an_object()


def _flat_object(events: Iterator[tuple[str, object]]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    key = ""
    for event, value in events:
        if event == "end_map":
            break
        if event == "map_key":
            key = str(value)
        elif event.startswith("start"):
            _pass_over(events)
            pairs.append((key, NESTED))
        else:
            pairs.append((key, _text(value)))
    return pairs


def _pass_over(events: Iterator[tuple[str, object]]) -> None:
    """Skip the rest of a list or an object that has just begun."""
    depth = 1
    for event, _ in events:
        depth += event.startswith("start") - event.startswith("end")
        if depth == 0:
            return
        if depth > MAX_DEPTH:
            raise FormatError(f"is nested deeper than {MAX_DEPTH}", code="bad_json")


def _events(source: OpenedFile) -> Iterator[tuple[str, object]]:
    try:
        yield from ijson.basic_parse(source.stream, buf_size=BUFFER)
    except (ijson.JSONError, ValueError, ArithmeticError) as error:
        raise _bad_json(error, "The file begins as a JSON array of objects.") from error


def _bad_json(error: Exception, hint: str) -> FormatError:
    reason = (str(error).splitlines() or [type(error).__name__])[0].strip()
    return FormatError(f"is not valid JSON ({reason})", code="bad_json", hint=hint)


def _not_an_object() -> FormatError:
    return FormatError(
        "is not a JSON object",
        code="bad_json",
        hint='A vote looks like {"model_a": ..., "model_b": ..., "winner": ...}.',
    )


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, (int, Decimal)):
        return str(value)
    return NESTED
