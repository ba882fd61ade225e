"""Zip archives: exactly one file in them is read; an Excel workbook is one as well."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import PurePosixPath
from typing import cast

from evalsite.exchange.errors import FormatError, listed

SAVE_HINT = "Save it as CSV or JSON in UTF-8, plain or compressed with gzip."
MAX_WORKBOOK = 256 << 20  # Decompressed bytes: all texts of a workbook are in memory.
_ENCRYPTED = 0x1


def is_workbook(file: io.BufferedReader) -> bool:
    """Whether the zip archive is an Excel workbook. Raises FormatError for a damaged archive, or a huge workbook."""
    members = _members(file)
    found = any(info.filename == "xl/workbook.xml" for info in members)
    if found and sum(info.file_size for info in members) > MAX_WORKBOOK:
        raise FormatError(
            f"holds more than {MAX_WORKBOOK >> 20} MiB", code="too_big", hint="Save it as CSV, which has no such limit."
        )
    return found


def only_member(file: io.BufferedReader) -> io.BufferedIOBase:
    """Open the only file of the archive. Raises FormatError for none, several, an encrypted one or an archive."""
    infos = [info for info in _members(file) if not info.is_dir() and not _is_litter(info.filename)]
    if len(infos) != 1:
        names = f": {listed(info.filename for info in infos)}" if infos else ""
        raise FormatError(
            f"is a zip archive of {len(infos):,} files{names}",
            code="bad_zip",
            hint="Put one file of votes into an archive. Join files of one format, or give them one by one.",
        )
    if infos[0].flag_bits & _ENCRYPTED:
        raise FormatError("is an encrypted zip archive", code="bad_zip", hint="Unpack it first.")
    try:
        return cast("io.BufferedIOBase", zipfile.ZipFile(file).open(infos[0]))
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, OSError, EOFError) as error:
        raise bad_zip(error) from error


def bad_zip(error: Exception) -> FormatError:
    """Return the error for a damaged archive, also in the middle of it."""
    return FormatError(f"is a damaged zip archive or Excel workbook ({error})", code="unknown_format", hint=SAVE_HINT)


def _members(file: io.BufferedReader) -> list[zipfile.ZipInfo]:
    try:
        members = zipfile.ZipFile(file).infolist()
    except (zipfile.BadZipFile, ValueError, OSError, EOFError, NotImplementedError) as error:
        raise bad_zip(error) from error
    file.seek(0)
    return members


def _is_litter(name: str) -> bool:
    """Whether a program added the file by itself, as macOS does."""
    path = PurePosixPath(name)
    return path.parts[:1] == ("__MACOSX",) or path.name in {".DS_Store", "Thumbs.db"}
