"""Opening of untrusted files: detection by content, decompression, and limits.

A gzip file of 1 MB may contain 1 GB of one letter. So there are limits for one record (`OpenedFile.record_done` starts
the next one) and for the whole file. Only a few buffers are in memory.
"""

from __future__ import annotations

import gzip
import io
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from evalsite.exchange.archives import SAVE_HINT, bad_zip, is_workbook, only_member
from evalsite.exchange.encodings import Transcoded
from evalsite.exchange.errors import FormatError

BUFFER = 1 << 16
_UNREADABLE = "Check that the file is there, whole, and yours to read."
MAX_RECORD = 1_000_000  # Bytes of one line, and of one object of a JSON array.
MAX_BYTES = 4 << 30  # Decompressed bytes of a whole file, as a limit for decompression bombs.
GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"
UTF8_BOM = b"\xef\xbb\xbf"

Progress = Callable[[int, int], None]  # (done, total) in bytes of the file on the disk.

PARQUET_MAGIC = b"PAR1"

_FOREIGN = {
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ\x00": "an xz file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    PARQUET_MAGIC: "a Parquet file in an archive",
    ZIP_MAGIC: "a zip archive or an Excel workbook in an archive",
    b"SQLite format 3\x00": "an SQLite database",
    GZIP_MAGIC: "compressed twice",
    b"PK\x05\x06": "an empty zip archive",
}
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class _Metered(io.RawIOBase):
    """A raw stream over `inner` that counts bytes and converts all failures to one kind of error."""

    def __init__(self, inner: io.BufferedIOBase, on_read: Callable[[], None]) -> None:
        super().__init__()
        self.total = 0
        self.record_start = 0
        self.most = MAX_RECORD + 4 * BUFFER  # A buffer can be read but not used, both before and after the record.
        self._inner = inner
        self._told = on_read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        try:
            # Return the available bytes: a truncated gzip file is readable up to its end.
            chunk = self._inner.read1(len(buffer))
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise _broken_gzip(error) from error
        except zipfile.BadZipFile as error:
            raise bad_zip(error) from error
        except OSError as error:
            raise FormatError(
                f"cannot be read ({error.strerror or error})", code="unreadable", hint=_UNREADABLE
            ) from error
        buffer[: len(chunk)] = chunk
        self.total += len(chunk)
        self._told()
        self._refuse_too_much()
        return len(chunk)

    def _refuse_too_much(self) -> None:
        if self.total - self.record_start > self.most:
            raise too_long()
        if self.total > MAX_BYTES:
            raise FormatError(
                f"holds more than {MAX_BYTES >> 30} GiB", code="too_big", hint="Split it into smaller files."
            )


class OpenedFile:
    """An opened file.

    stream: decompressed bytes without a byte order mark.
    """

    def __init__(self, file: io.BufferedReader, progress: Progress | None, encoding: str | None = None) -> None:
        self.file = file
        self.apostrophes = False  # Whether the bytes that were read in columns hold any.
        self._progress = progress
        self._size = os.fstat(file.fileno()).st_size
        magic = file.peek(4)[:4]
        self.workbook = magic == ZIP_MAGIC and is_workbook(file)
        self.archived = (magic == ZIP_MAGIC and not self.workbook) or magic[:2] == GZIP_MAGIC
        self._meter = _Metered(self._decompressed(magic), self._tell)
        self.stream: io.BufferedReader[io.RawIOBase] = io.BufferedReader(self._meter, BUFFER)
        if encoding is not None and not self.workbook:
            self.stream = io.BufferedReader(Transcoded(self.stream, encoding), BUFFER)
        if self.stream.peek(3)[:3] == UTF8_BOM:
            self.stream.read(3)

    def _decompressed(self, magic: bytes) -> io.BufferedIOBase:
        if magic[:2] == GZIP_MAGIC:
            return gzip.GzipFile(fileobj=self.file)
        if magic == ZIP_MAGIC and not self.workbook:
            return only_member(self.file)
        return self.file

    def head(self) -> bytes:
        """Peek at the next bytes; empty at the end of the file."""
        return self.stream.peek(BUFFER)

    def record_done(self) -> None:
        """Mark the bytes so far as used. The following bytes count as a new record."""
        self._meter.record_start = self._meter.total

    @property
    def record_bytes(self) -> int:
        """Return how many bytes were read since the last `record_done`."""
        return self._meter.total - self._meter.record_start

    def allow(self, most: int) -> None:
        """Allow so many bytes until `record_done`, for a reader of many records at a time."""
        self._meter.most = most

    def _tell(self) -> None:
        if self._progress is not None and self._size:
            self._progress(min(self._file_position(), self._size), self._size)

    def _file_position(self) -> int:
        return self.file.tell() if self.file.seekable() else 0


@contextmanager
def open_source(path: Path, *, progress: Progress | None = None, encoding: str | None = None) -> Iterator[OpenedFile]:
    """Open `path` for one pass.

    Raises FormatError if it is unreadable, empty, or clearly another format.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise FormatError(f"cannot be read ({error.strerror})", code="unreadable", hint=_UNREADABLE) from error
    except ValueError as error:  # A NUL character in the name.
        raise FormatError(f"cannot be read ({error})", code="unreadable", hint=_UNREADABLE) from error
    with file:
        try:
            source = OpenedFile(file, progress, encoding)
        except OSError as error:  # Error in the first bytes; later ones are read through _Metered.
            raise FormatError(
                f"cannot be read ({error.strerror or error})", code="unreadable", hint=_UNREADABLE
            ) from error
        if not source.workbook:
            _refuse_foreign(source.head(), archived=source.archived, encoding=encoding)
        yield source


def too_long() -> FormatError:
    """Return the error for a record over the limit, which is detected before the record is in memory."""
    return FormatError(
        f"one row is longer than {MAX_RECORD:,} bytes",
        code="too_long",
        hint="Check for an open quotation mark and for lines that end with carriage returns only.",
    )


def _refuse_foreign(head: bytes, *, archived: bool, encoding: str | None) -> None:
    if not head:
        raise FormatError("is empty", code="empty_file", hint="A file of votes has one row for each judgment.")
    if encoding is None and head.startswith(_UTF16):
        raise FormatError("is text in UTF-16", code="unknown_format", hint=f"Add --encoding utf-16. Or: {SAVE_HINT}")
    for magic, name in _FOREIGN.items():
        if head.startswith(magic) and (archived or magic != PARQUET_MAGIC):
            raise FormatError(f"is {name}", code="unknown_format", hint=SAVE_HINT)


def _broken_gzip(error: Exception) -> FormatError:
    what = "breaks off" if isinstance(error, EOFError) else "is damaged"
    return FormatError(
        f"the gzip data {what} ({error})",
        code="bad_gzip",
        hint="Copy or download the file again.",
    )
