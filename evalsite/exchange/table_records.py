"""Rows of Parquet files and Excel workbooks as lists of text, the header first. Both need optional packages."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from datetime import date, datetime, time
from typing import Any

from evalsite.exchange.errors import FormatError, listed
from evalsite.exchange.json_records import Nested, cell_text

BATCH = 200  # Rows of a Parquet file in memory: a few bytes can stand for a long text in each row.
_EXTRA = "Install the extra `files` (pip install 'touchstone-eval[files]'), or save the file as CSV."


def parquet_rows(file: io.BufferedReader) -> Iterator[list[str]]:
    """Yield the rows of a Parquet file. A nested column is read as `Nested`."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise FormatError("is a Parquet file", code="unknown_format", hint=_EXTRA) from error
    file.seek(0)
    try:
        table = pq.ParquetFile(file)
        yield list(table.schema_arrow.names)
        for batch in table.iter_batches(batch_size=BATCH):
            columns = [column.to_pylist() for column in batch.columns]
            yield from ([table_text(value) for value in row] for row in zip(*columns, strict=True))
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise FormatError(
            f"is a damaged Parquet file ({reason})", code="bad_parquet", hint="Copy or download the file again."
        ) from error


def workbook_rows(file: io.BufferedReader) -> Iterator[list[str]]:
    """Yield the rows of the only sheet with content, without blank rows. A formula is an error."""
    try:
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException
    except ImportError as error:
        raise FormatError("is an Excel workbook", code="unknown_format", hint=_EXTRA) from error
    file.seek(0)
    try:
        book = load_workbook(file, read_only=True)
        yield from _sheet_rows(_only_sheet(book))
    except (InvalidFileException, zipfile.BadZipFile, KeyError, ValueError, OSError, EOFError, SyntaxError) as error:
        raise FormatError(
            f"is a damaged Excel workbook ({error})", code="bad_workbook", hint="Save it again, or save it as CSV."
        ) from error


def _only_sheet(book: Any) -> Any:
    filled = [sheet for sheet in book.worksheets if next(sheet.iter_rows(), None)]
    if len(filled) > 1:
        raise FormatError(
            f"has {len(filled):,} sheets: {listed(sheet.title for sheet in filled)}",
            code="several_sheets",
            hint="Keep the sheet with the votes, or save it as CSV.",
        )
    return filled[0] if filled else book.worksheets[0]


def _sheet_rows(sheet: Any) -> Iterator[list[str]]:
    width = 0
    header: list[str] = []
    for cells in sheet.iter_rows():
        texts = [_cell(cell, header[place : place + 1]) for place, cell in enumerate(cells)]
        header = header or texts
        while texts and not texts[-1] and len(texts) > width:
            texts.pop()
        width = width or len(texts)
        if any(texts):
            yield texts + [""] * (width - len(texts))


def _cell(cell: Any, column: list[str]) -> str:
    if cell.data_type == "f":
        raise FormatError(
            f"the cell {cell.coordinate} holds a formula",
            code="bad_value",
            column=column[0] if column else None,
            hint="Paste the values over the formulas, or save the sheet as CSV.",
        )
    return table_text(cell.value)


def table_text(value: object) -> str:
    """Return a value of a Parquet file or a workbook as the text that CSV would have."""
    if isinstance(value, float):
        if value != value:  # NaN: an empty cell of a data frame.
            return ""
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, list | tuple | dict):
        return Nested(value)
    return cell_text(value) if value is None or isinstance(value, bool | int | str) else str(value)
