"""Tables (CSV) read by pyarrow, if it is installed: several times as fast as the standard library.

Only plain files are read: one quotation mark or lone carriage return, and the standard library's reader begins again,
because pyarrow accepts quotation marks in other places.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from evalsite.exchange.errors import FormatError
from evalsite.exchange.file_opening import MAX_BYTES, MAX_RECORD, OpenedFile

Cells = dict[str, Sequence[Any]]


class NotPlain(Exception):
    """Another reader has to read the file."""


class _Plain(io.RawIOBase):
    """The bytes of a table, as long as they are plain."""

    def __init__(self, source: OpenedFile) -> None:
        super().__init__()
        self._source = source

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        piece = self._source.stream.read(size)
        if not is_plain(piece):
            raise NotPlain
        return piece


def is_plain(piece: bytes) -> bool:
    """Whether bytes hold no quotation mark, no NUL, and no carriage return."""
    return not any(sign in piece for sign in (b'"', b"\0", b"\r"))


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
            _Plain(source),
            read_options=csv.ReadOptions(column_names=list(header), block_size=MAX_RECORD, use_threads=False),
            parse_options=csv.ParseOptions(delimiter=separator, quote_char=False),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(header, pa.string()), include_columns=list(needed), null_values=[]
            ),
        )
        for batch in reader:
            yield {name: _cells(column) for name, column in zip(needed, batch.columns, strict=True)}
    except (pa.ArrowException, ValueError, OSError, FormatError) as error:
        raise NotPlain from error


def _cells(column: Any) -> list[str]:
    """Return the texts of a column, each of them once in memory."""
    coded = column.dictionary_encode()
    texts: list[str] = np.array(coded.dictionary.to_pylist(), dtype=object)[coded.indices.to_numpy()].tolist()
    return texts
