"""Files that somebody looks at before they are taken in: kept for a day (core.inquiries forgets them)."""

import uuid

from evalsite.core.db import write_transaction
from evalsite.core.errors import TooLarge
from evalsite.core.models import Upload
from evalsite.core.rowfiles import MOST_BYTES

MOST_FILES = 50


def uploads_keep(*, subject: uuid.UUID, purpose: str, files: list[tuple[str, bytes]]) -> None:
    """Keep these files (name, content) instead of those kept for the same purpose before."""
    if len(files) > MOST_FILES or any(len(content) > MOST_BYTES for _, content in files):
        raise TooLarge(f"Send up to {MOST_FILES} files of {MOST_BYTES // 1_000_000} MB each at a time.", field="file")
    with write_transaction():
        Upload.objects.filter(subject=subject, purpose=purpose).delete()
        Upload.objects.bulk_create(
            Upload(subject=subject, purpose=purpose, name=name[:200], content=content) for name, content in files
        )


def uploads_of(subject: uuid.UUID, purpose: str) -> list[Upload]:
    """What is kept, in the order of its sending."""
    return list(Upload.objects.filter(subject=subject, purpose=purpose).order_by("pk"))


def uploads_drop(*, subject: uuid.UUID, purpose: str) -> None:
    with write_transaction():
        Upload.objects.filter(subject=subject, purpose=purpose).delete()
