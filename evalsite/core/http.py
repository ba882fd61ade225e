"""Small things that both doors need."""

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
    """One whose address is read as UTF-8, whatever charset its body is said to have.

    The framework reads the query in the body's charset, and breaks before any view where that is none of texts (`hex`).
    Of a form it may know: it refuses one in another charset.
    """

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        """Never by way of `encoding`, which parses the query: what is wrong with that is a view's to answer."""
        try:
            self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))
        except (
            ValueError,
            LookupError,
            TypeError,
        ):  # RFC 2231: in no charset, not in its own, in parts
            self.content_type, self.content_params = "", {}
            meta["CONTENT_TYPE"] = ""  # which others parse again
        if self.content_type == "application/x-www-form-urlencoded":
            self._encoding = self.content_params.get("charset")

    @cached_property
    def GET(self) -> QueryDict:  # type: ignore[override]  # noqa: N802
        return QueryDict(get_bytes_from_wsgi(self.environ, "QUERY_STRING", ""), encoding="utf-8")


class Handler(WSGIHandler):
    """Django's, which keeps one thread of the web server free to say that the process lives.

    With TOUCHSTONE_WORKING_THREADS set, so many requests are worked on at once. One more waits for PATIENCE_S and is
    then told to come again, as are all others until a thread is free: so `/livez` is answered while the database is
    locked and all threads wait for it.
    """

    request_class = Request
    PATIENCE_S = 2.0

    def __init__(self) -> None:
        super().__init__()
        working = env.whole(
            "TOUCHSTONE_WORKING_THREADS", default=0
        )  # `manage.py web` sets it after its settings are read
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
