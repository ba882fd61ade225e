"""Records of a table, JSON lines or a JSON array, each as a mapping of column to text.

The format is detected by content. The row of a record is its number (the first after the header is 1), without blank
lines. Its line is the line on which it begins, for formats with lines.

All values become text, because CSV has nothing else. A JSON null is "". A number is written in decimal. A list or an
object is `Nested`.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from evalsite.core.row_files import undefused
from evalsite.exchange.errors import FormatError
from evalsite.exchange.file_opening import MAX_RECORD, PARQUET_MAGIC, OpenedFile
from evalsite.exchange.json_records import Nested, array_items, is_wrapped, line_pairs, wrapped_items
from evalsite.exchange.table_records import parquet_rows, workbook_rows
from evalsite.exchange.text_lines import Lines, separator_of

__all__ = ["Nested", "Record", "Records"]

MAX_COLUMNS = 1_000


class Record(NamedTuple):
    row: int
    line: int | None
    values: Mapping[str, str]


class Records:
    """One pass over a source.

    row, line: the current position, for error messages.
    columns: the header, or for JSON the keys so far, because objects may omit unknown values.
    """

    def __init__(self, source: OpenedFile) -> None:
        self.row: int | None = None
        self.line: int | None = None
        self.columns: dict[str, None] = {}
        self.repeated: frozenset[str] = frozenset()
        self._source = source
        self.header: list[str] = []  # As in the file, with repeated names.
        self.fields: list[str] = []  # The cells of the current row of a table, in the order of the header.
        self.separator = ","
        self.kind = _kind(source)

    @property
    def has_header(self) -> bool:
        """Return whether all columns are known before the first row."""
        return self.kind in {"CSV", "Excel", "Parquet"}

    def __iter__(self) -> Iterator[Record]:
        readers: dict[str, Callable[[], Iterator[Record]]] = {
            "JSON array": lambda: self._from_objects(array_items(self._source)),
            "JSON object": lambda: self._from_objects(wrapped_items(self._source)),
            "JSON lines": self._from_lines,
            "Excel": lambda: self._from_table(workbook_rows(self._source.file)),
            "Parquet": lambda: self._from_table(parquet_rows(self._source.file)),
            "CSV": self._from_csv,
        }
        return readers[self.kind]()

    def _from_csv(self) -> Iterator[Record]:
        # The csv module's limit (131,072 characters) is per process; this only raises it.
        csv.field_size_limit(max(csv.field_size_limit(), MAX_RECORD))
        self.separator = separator_of(self._source.head())
        return self._from_table(self._csv_rows(Lines(self._source)))

    def _from_table(self, table: Iterator[list[str]]) -> Iterator[Record]:
        """Yield the rows of a table whose first row is the header."""
        header = next(table, None)
        if header is None:
            raise FormatError("is empty", code="empty_file", hint="A file of votes has one row for each judgment.")
        names = [name.strip() for name in header]
        self.learn_header(names)
        for row, fields in enumerate(table, start=1):
            if self.kind != "CSV":
                self.row = row
            if len(fields) != len(names):
                raise FormatError(
                    f"has {len(fields):,} fields where the header has {len(names):,}",
                    code="ragged_row",
                    hint="Put fields that contain the separator in quotation marks.",
                )
            if self.kind == "CSV" and any(field.startswith("'") for field in fields):
                fields = list(map(undefused, fields))
            self.fields = fields
            yield Record(row, self.line, dict(zip(names, fields, strict=True)))
            if self.kind != "CSV":
                self.row = row + 1  # An error in a cell is raised when its row is fetched.

    def _csv_rows(self, lines: Lines) -> Iterator[list[str]]:
        """Yield rows that are not blank, the header first.

        `self.row` and `self.line` are of the current row.
        """
        reader = csv.reader(lines, strict=True, delimiter=self.separator)
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

    def learn_header(self, names: list[str]) -> None:
        """Take the names of the columns, in the order of the file."""
        self.header = names
        self.columns = dict.fromkeys(names)
        self.repeated = frozenset(name for name in self.columns if names.count(name) > 1)
        self._refuse_many_columns()
        self.row = None

    def _from_lines(self) -> Iterator[Record]:
        lines = Lines(self._source)
        self.row = self.line = 1  # The position of the next record, because an unreadable line is itself wrong.
        for text in lines:
            if text.strip():
                yield Record(self.row, self.line, self._learn_keys(line_pairs(text)))
                self.row += 1
            lines.begin_record()
            self.line = lines.number + 1

    def _from_objects(self, objects: Iterator[list[tuple[str, str]]]) -> Iterator[Record]:
        self.row = 1
        for pairs in objects:
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
            raise FormatError(
                f"has more than {MAX_COLUMNS:,} columns",
                code="too_big",
                hint="Leave out the columns that are not needed.",
            )


def _bad_csv(error: csv.Error) -> FormatError:
    if "unexpected end of data" in str(error):
        return FormatError(
            "opens a quotation mark that is never closed",
            code="bad_csv",
            hint="Close it, or double a mark that is part of the text.",
        )
    if "new-line character" in str(error):
        hint = "Save the file with line feeds. Put texts with carriage returns in quotation marks."
        return FormatError("holds a carriage return without a line feed", code="bad_csv", hint=hint)
    return FormatError(f"is not valid CSV ({error})", code="bad_csv", hint="Check the quotation marks of this row.")


def _kind(source: OpenedFile) -> str:
    if source.workbook:
        return "Excel"
    head = source.head()
    if head.startswith(PARQUET_MAGIC):
        return "Parquet"
    first = head.lstrip()[:1]
    if first == b"{":
        return "JSON object" if is_wrapped(head) else "JSON lines"
    return "JSON array" if first == b"[" else "CSV"
