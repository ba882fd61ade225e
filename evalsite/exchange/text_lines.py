"""Decoded lines of limited length, and the separator of a table's columns."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from evalsite.exchange.errors import FormatError
from evalsite.exchange.file_opening import MAX_RECORD, OpenedFile, too_long

SEPARATORS = ",;\t|"  # If two of them make equally many columns, the first one separates.
_ENCODING_HINT = "Save the file as text in UTF-8, or name its encoding, as with --encoding cp1252."


class Lines:
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
            raise FormatError("holds a NUL byte", code="bad_encoding", hint=_ENCODING_HINT)
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise FormatError(
                f"byte {error.start + 1:,} of the line is not UTF-8", code="bad_encoding", hint=_ENCODING_HINT
            ) from error


def separator_of(head: bytes) -> str:
    """Return the separator that makes the most columns of the first line with content."""
    line = next((line for line in head.splitlines() if line.strip()), b"").decode("utf-8", "replace")
    return max(SEPARATORS, key=lambda sign: _fields(line, sign))


def _fields(line: str, separator: str) -> int:
    try:
        return max((len(fields) for fields in csv.reader([line], delimiter=separator)), default=0)
    except csv.Error:
        return 0
