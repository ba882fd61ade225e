"""Identifier of the running software, so that cached output of an earlier version is not shown."""

from functools import cache
from hashlib import sha256

from django.conf import settings

CODE, PAGES = {".py"}, {".html", ".svg", ".txt", ".mo", ".css", ".js"}


@cache
def release() -> str:
    """Return a short hash of all files that pages are made of; the same on every machine with the same files."""
    mark = sha256()
    for root, kinds in ((settings.BASE_DIR / "evalsite", CODE), (settings.FRONTEND_DIR, PAGES)):
        for path in sorted(one for one in root.rglob("*") if one.suffix in kinds):
            mark.update(f"{path.relative_to(root)}\0".encode())
            mark.update(sha256(path.read_bytes()).digest())
    return mark.hexdigest()[:16]
