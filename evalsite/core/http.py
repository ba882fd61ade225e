"""Request and response helpers for the API and the pages."""

import math
import threading
from typing import Any

from django.core.handlers.wsgi import WSGIHandler, WSGIRequest, get_bytes_from_wsgi
from django.http import HttpRequest, HttpResponse, QueryDict
from django.template import loader
from django.utils.cache import add_never_cache_headers
from django.utils.functional import cached_property
from django.utils.http import parse_header_parameters

from evalsite.core import env
from evalsite.core.errors import TouchstoneError


class Request(WSGIRequest):
    """Request whose query string is always read as UTF-8, whatever the charset of its body.

    Django reads the query in the body's charset and fails before any view if that is no text encoding (`hex`). Forms in
    another charset are refused as before.
    """

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        """Parse the content type without setting `encoding`, which would parse the query. Views report its errors."""
        try:
            self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))
        except (
            ValueError,
            LookupError,
            TypeError,
        ):  # RFC 2231: unknown charset, wrong charset, in parts
            self.content_type, self.content_params = "", {}
            meta["CONTENT_TYPE"] = ""  # other code parses it again
        if self.content_type == "application/x-www-form-urlencoded":
            self._encoding = self.content_params.get("charset")

    @cached_property
    def GET(self) -> QueryDict:  # type: ignore[override]  # noqa: N802
        return QueryDict(get_bytes_from_wsgi(self.environ, "QUERY_STRING", ""), encoding="utf-8")


class Handler(WSGIHandler):
    """WSGI handler that keeps one thread of the web server free for health checks.

    TOUCHSTONE_WORKING_THREADS limits the number of simultaneous requests. One more request waits for PATIENCE_S and
    then gets a 503 response. So do all others until a thread is free. `/livez` is therefore answered even if all
    threads wait for a locked database.
    """

    request_class = Request
    PATIENCE_S = 2.0

    def __init__(self) -> None:
        super().__init__()
        working = env.whole(
            "TOUCHSTONE_WORKING_THREADS", default=0
        )  # `manage.py web` sets it after the settings are read
        self._free = threading.BoundedSemaphore(working) if working else None
        self._stuck = False

    def __call__(self, environ: Any, start_response: Any) -> Any:
        if self._free is None or environ.get("PATH_INFO") == "/livez":
            return super().__call__(environ, start_response)
        if not self._free.acquire(timeout=0.0 if self._stuck else self.PATIENCE_S):
            self._stuck = True
            start_response("503 Service Unavailable", [("Content-Type", "text/plain"), ("Retry-After", "2")])
            return [b"All threads of this site wait for its database. Send the same request again later.\n"]
        self._stuck = False
        try:
            return super().__call__(environ, start_response)
        finally:
            self._free.release()


def unchanged(request: HttpRequest, etag: str) -> bool:
    """Return whether the caller already has this version. A compressing proxy may have made its ETag weak."""
    sent = request.headers.get("If-None-Match", "")
    return etag in {part.strip().removeprefix("W/") for part in sent.split(",")}


def add_retry_after(response: HttpResponse, error: TouchstoneError) -> HttpResponse:
    """Add the Retry-After header to the response if the error has a retry time."""
    if error.retry_after_s is not None:
        response["Retry-After"] = str(math.ceil(error.retry_after_s))
        add_never_cache_headers(response)
    return response


def unavailable_page(error: TouchstoneError) -> HttpResponse:
    """Render the page for an unavailable database: it needs no user and no messages."""
    return add_retry_after(HttpResponse(loader.render_to_string("503.html"), status=error.status), error)
