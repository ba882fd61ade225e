"""Small things that both doors need."""

from django.http import HttpRequest


def unchanged(request: HttpRequest, etag: str) -> bool:
    """Whether the caller already has this version. A compressing proxy may have marked its ETag as weak."""
    sent = request.headers.get("If-None-Match", "")
    return etag in {part.strip().removeprefix("W/") for part in sent.split(",")}
