"""Files of rows as people send them: plain, compressed with gzip, or alone in a zip archive, in a named encoding.

Nothing is unpacked onto a disk under a name from an archive, and no more is decompressed than a file may hold.
"""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from pathlib import PurePosixPath

from django.utils.translation import gettext as _

from evalsite.core.encodings import recoded
from evalsite.core.errors import InvalidInput, TooLarge
from evalsite.core.row_files import MOST_BYTES
from evalsite.exchange.archives import is_workbook, only_member
from evalsite.exchange.errors import FormatError
from evalsite.exchange.file_opening import GZIP_MAGIC, ZIP_MAGIC

LONGEST_NAME = 200


def unpacked(content: bytes, name: str, encoding: str = "") -> tuple[bytes, str]:
    """Return the rows in UTF-8, and the name that says their format: without folders, of an archive its only file's.

    Raises InvalidInput for a damaged archive or another encoding, and TooLarge for more than a file may hold.
    """
    name = _own_name(name)
    try:
        if content[:2] == GZIP_MAGIC:
            content, name = _bounded(gzip.GzipFile(fileobj=io.BytesIO(content))), _without_gz(name)
        elif content[:4] == ZIP_MAGIC:
            content, name = _unzipped(content)
    except FormatError as error:
        raise InvalidInput(
            _("The file %(what)s.") % {"what": error.message}, hint=error.hint, field="file", code=error.code
        ) from None
    except (EOFError, OSError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise InvalidInput(
            _("The file cannot be decompressed: %(why)s.") % {"why": str(error)[:200]},
            hint=_("Compress it again, or send it plain."),
            field="file",
            code="bad_archive",
        ) from None
    if content[:2] == GZIP_MAGIC or content[:4] == ZIP_MAGIC:
        raise InvalidInput(
            _("The file is compressed twice."), hint=_("Compress it once."), field="file", code="bad_archive"
        )
    return (recoded(content, encoding) if encoding else content), name


def _own_name(name: str) -> str:
    """Return the last part of a path of any system, without control characters."""
    last = PurePosixPath(name.replace("\\", "/")).name
    return "".join(sign for sign in last if sign.isprintable())[-LONGEST_NAME:]


def _without_gz(name: str) -> str:
    return name[:-3] if name.lower().endswith(".gz") else name


def _unzipped(content: bytes) -> tuple[bytes, str]:
    file: io.BufferedReader = io.BufferedReader(io.BytesIO(content))
    if is_workbook(file):
        raise FormatError("is an Excel workbook", code="workbook", hint="Save it as CSV in UTF-8.")
    with only_member(file) as member:
        return _bounded(member), _own_name(str(getattr(member, "name", "")))


def _bounded(stream: io.BufferedIOBase) -> bytes:
    """Return the decompressed bytes. Stops at the limit, whatever the archive says of its size."""
    found = stream.read(MOST_BYTES + 1)
    if len(found) > MOST_BYTES:
        raise TooLarge(
            _("The file is longer than %(megabytes)s MB.") % {"megabytes": MOST_BYTES // 1_000_000},
            hint=_("Split it, or leave out what is no reply."),
            field="file",
        )
    return found
