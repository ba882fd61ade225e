"""Uploaded files under review before their import. They are kept for a day (core.inquiries deletes them)."""

import uuid
from collections.abc import Sequence
from typing import Protocol

from django.db.models import Sum
from django.utils.translation import gettext

from evalsite.core.db import Octets, write_transaction
from evalsite.core.errors import TooLarge
from evalsite.core.models import Upload
from evalsite.core.row_files import MOST_BYTES

MOST_FILES = 50


class Incoming(Protocol):
    """An uploaded file in Django's form, not yet in memory."""

    @property
    def name(self) -> str | None: ...

    @property
    def size(self) -> int | None: ...

    def read(self) -> bytes: ...


def uploads_check(files: Sequence[Incoming]) -> int:
    """Return the total size of these files in bytes without reading them. Raises TooLarge."""
    if len(files) > MOST_FILES:
        raise TooLarge(
            gettext("These are %(files)s files.") % {"files": len(files)},
            hint=gettext("Send up to %(most_files)s at a time.") % {"most_files": MOST_FILES},
            field="file",
        )
    for file in files:
        if (file.size or 0) > MOST_BYTES:
            megabytes = MOST_BYTES // 1_000_000
            raise TooLarge(
                gettext("%(name)s is longer than %(megabytes)s MB.") % {"name": file.name, "megabytes": megabytes},
                hint=gettext("Split it."),
                field="file",
            )
    return sum(file.size or 0 for file in files)


def uploads_keep(*, subject: uuid.UUID, purpose: str, files: list[tuple[str, bytes]]) -> None:
    """Store these files (name, content) in place of earlier ones for the same purpose."""
    if len(files) > MOST_FILES or any(len(content) > MOST_BYTES for _, content in files):
        raise TooLarge(
            gettext("Send up to %(most_files)s files of %(megabytes)s MB each at a time.")
            % {"most_files": MOST_FILES, "megabytes": MOST_BYTES // 1_000_000},
            field="file",
        )
    with write_transaction():
        Upload.objects.filter(subject=subject, purpose=purpose).delete()
        Upload.objects.bulk_create(
            Upload(subject=subject, purpose=purpose, name=name[:200], content=content) for name, content in files
        )


def upload_add(*, subject: uuid.UUID, purpose: str, name: str, content: bytes, most: int) -> Upload:
    """Store one more file, and drop the oldest of the same purpose beyond `most`."""
    with write_transaction():
        same = Upload.objects.filter(subject=subject, purpose=purpose).order_by("-pk")
        old = list(same.values_list("pk", flat=True)[most - 1 :])
        Upload.objects.filter(pk__in=old).delete()
        return Upload.objects.create(subject=subject, purpose=purpose, name=name[:200], content=content)


def upload_replace(upload: Upload, content: bytes) -> None:
    """Store another content of a kept file. Raises TooLarge."""
    if len(content) > MOST_BYTES:
        raise TooLarge(
            gettext("%(name)s is longer than %(megabytes)s MB.")
            % {"name": upload.name, "megabytes": MOST_BYTES // 1_000_000},
            hint=gettext("Split it."),
            field="file",
        )
    with write_transaction():
        Upload.objects.filter(pk=upload.pk).update(content=content)


def uploads_bytes(*, subject: uuid.UUID, excluding: str = "") -> int:
    """Return the size of the stored files in bytes, except for one purpose."""
    kept = Upload.objects.filter(subject=subject).exclude(purpose=excluding)
    return kept.aggregate(bytes=Sum(Octets("content")))["bytes"] or 0


def uploads_of(subject: uuid.UUID, purpose: str) -> list[Upload]:
    """Return the stored files in the order of upload."""
    return list(Upload.objects.filter(subject=subject, purpose=purpose).order_by("pk"))


def uploads_drop(*, subject: uuid.UUID, purpose: str) -> None:
    with write_transaction():
        Upload.objects.filter(subject=subject, purpose=purpose).delete()
