"""Small things that both doors need."""

import math
from typing import Any

from django.core.handlers.wsgi import WSGIHandler, WSGIRequest, get_bytes_from_wsgi
from django.http import HttpRequest, HttpResponse, QueryDict
from django.template import loader
from django.utils.cache import add_never_cache_headers
from django.utils.functional import cached_property

from evalsite.core.errors import TouchstoneError


class Request(WSGIRequest):
    """One whose address is read as UTF-8, whatever charset its body is said to have.

    The framework reads the query in the body's charset, and breaks before any view where that is none of texts (`hex`).
    Of a form it may know: it refuses one in another charset.
    """

    def __init__(self, environ: dict[str, Any]) -> None:
        super().__init__(environ)
        if self.content_type != "application/x-www-form-urlencoded":
            self.encoding = None  # type: ignore[assignment]

    @cached_property
    def GET(self) -> QueryDict:  # type: ignore[override]  # noqa: N802
        return QueryDict(get_bytes_from_wsgi(self.environ, "QUERY_STRING", ""), encoding="utf-8")


class Handler(WSGIHandler):
    request_class = Request


def unchanged(request: HttpRequest, etag: str) -> bool:
    """Whether the caller already has this version. A compressing proxy may have marked its ETag as weak."""
    sent = request.headers.get("If-None-Match", "")
    return etag in {part.strip().removeprefix("W/") for part in sent.split(",")}


def tell_when(response: HttpResponse, error: TouchstoneError) -> HttpResponse:
    """The response with Retry-After, where trying again helps."""
    if error.retry_after_s is not None:
        response["Retry-After"] = str(math.ceil(error.retry_after_s))
        add_never_cache_headers(response)
    return response


def unavailable_page(error: TouchstoneError) -> HttpResponse:
    """A page that needs nothing of what is away: no person, no messages."""
    return tell_when(HttpResponse(loader.render_to_string("503.html"), status=error.status), error)
