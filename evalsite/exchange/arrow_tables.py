"""Tables (CSV, Parquet) read by pyarrow, if it is installed: several times as fast as row by row.

Only plain CSV files are read. At a quotation mark or a carriage return the reader of the standard library begins again,
because pyarrow accepts quotation marks in other places.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from evalsite.exchange.coded_columns import CodedColumn
from evalsite.exchange.errors import FormatError
from evalsite.exchange.file_opening import MAX_BYTES, MAX_RECORD, OpenedFile
from evalsite.exchange.table_records import table_text

_BATCH = 10_000  # Rows of a Parquet file in memory, of short columns only.

_FEW = 1000  # Rows that do not tell whether a column has many values.

Cells = dict[str, Sequence[Any]]


class NotPlain(Exception):
    """Another reader has to read the file."""


class Checked(io.RawIOBase):
    """The bytes of a table, as long as they hold none of some signs: else NotPlain."""

    def __init__(self, source: OpenedFile, *signs: bytes) -> None:
        super().__init__()
        self._source = source
        self._signs = signs

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        return self._checked(self._source.stream.read(size))

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        piece = self._checked(self._source.stream.read1(len(buffer)))
        buffer[: len(piece)] = piece
        return len(piece)

    def _checked(self, piece: bytes) -> bytes:
        if any(sign in piece for sign in self._signs):
            raise NotPlain
        self._source.apostrophes = self._source.apostrophes or b"'" in piece
        return piece


_ODD = (b'"', b"\0", b"\r")


def is_plain(piece: bytes) -> bool:
    """Whether bytes hold no quotation mark, no NUL, and no carriage return."""
    return not any(sign in piece for sign in _ODD)


def arrow_cells(source: OpenedFile, header: Sequence[str], needed: Sequence[str], separator: str) -> Iterator[Cells]:
    """Yield the needed columns behind the header, many rows at a time. Raises NotPlain."""
    try:
        import pyarrow as pa
        from pyarrow import csv
    except ImportError as error:
        raise NotPlain from error
    source.allow(MAX_BYTES)  # A block has its own limit.
    try:
        reader = csv.open_csv(
            Checked(source, *_ODD),
            read_options=csv.ReadOptions(column_names=list(header), block_size=MAX_RECORD, use_threads=False),
            parse_options=csv.ParseOptions(delimiter=separator, quote_char=False),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(header, pa.string()), include_columns=list(needed), null_values=[]
            ),
        )
        varied: set[str] = set()
        for batch in reader:
            yield {name: _cells(name, column, varied) for name, column in zip(needed, batch.columns, strict=True)}
    except (pa.ArrowException, ValueError, OSError, FormatError) as error:
        raise NotPlain from error


def parquet_header(file: io.BufferedReader) -> list[str]:
    """Return the columns of a Parquet file. Raises NotPlain."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise NotPlain from error
    file.seek(0)
    try:
        return list(parquet.ParquetFile(file).schema_arrow.names)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise NotPlain from error


def parquet_cells(file: io.BufferedReader, needed: Sequence[str]) -> Iterator[Cells]:
    """Yield the needed columns of a Parquet file, many rows at a time. Raises NotPlain."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        varied: set[str] = set()
        for batch in parquet.ParquetFile(file).iter_batches(batch_size=_BATCH, columns=list(needed)):
            columns = {name: batch.column(name) for name in needed}
            if any(pa.types.is_nested(column.type) for column in columns.values()):
                raise NotPlain
            yield {name: _as_text(name, column, varied) for name, column in columns.items()}
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise NotPlain from error


def _as_text(name: str, column: Any, varied: set[str]) -> Sequence[str]:
    import pyarrow as pa

    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return _cells(name, column.fill_null(""), varied)
    return list(map(table_text, column.to_pylist()))


def _cells(name: str, column: Any, varied: set[str]) -> Sequence[str]:
    """Return the texts of a column, each of them once in memory.

    varied: columns whose cells differ, such as times. Their texts are not compared.
    """
    if name in varied:
        cells: list[str] = column.to_pylist()
        return cells
    coded = column.dictionary_encode()
    values = coded.dictionary.to_pylist()
    if len(column) > _FEW and len(values) > 0.9 * len(column):
        varied.add(name)
    return CodedColumn(values, np.from_dlpack(coded.indices))  # `to_numpy` would load pandas, a quarter of a second
