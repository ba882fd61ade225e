"""A cache of board pages for anonymous readers, renewed when the board changes.

An anonymous reader costs one query (boards.versions). It tells whether they may see the board and whether the cached
page is current. If it is outdated, one request renders it again. Requests in the meantime get the earlier page, unless
the owners have changed the settings of the board since.
"""

import gzip
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from hashlib import sha256
from typing import Any

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.utils.cache import patch_vary_headers
from django.utils.translation import get_language

from evalsite.boards.versions import BoardVersion, board_version_get
from evalsite.core.http import unchanged
from evalsite.core.release import release

RENEWED_S = 60  # Maximum delay of changes that the version does not include, such as a chatbot's new address.
KEPT_S = 3600
MADE_WITHIN_S = 20  # Others render the page themselves if a rendering takes longer.
SAID_AGAIN = ("ETag", "Cache-Control")  # With a 304.
CARRIED = ("Content-Type", "Content-Disposition", "Cache-Control", "ETag")

View = Callable[..., HttpResponse]


@dataclass(frozen=True, slots=True)
class CachedPage:
    """A rendered page, compressed. It holds no secrets that its length could reveal."""

    mark: BoardVersion
    made_at: float
    headers: dict[str, str]
    compressed: bytes

    def holds(self, mark: BoardVersion) -> bool:
        return self.mark == mark and 0 <= time.time() - self.made_at < RENEWED_S


def cached_for_anonymous(view: View) -> View:
    """Decorate the view of a board's page that is the same for all anonymous readers.

    The decorated view also answers conditional requests with the ETag of the view.
    """

    @wraps(view)
    def cached_view(request: HttpRequest, key: str, **of_page: Any) -> HttpResponse:
        mark = board_version_get(key) if _is_anonymous(request) else None
        if mark is None:
            return _conditional(request, view(request, key, **of_page))
        found = cached_page(_name(request, mark), mark, lambda: view(request, key, **of_page))
        return _answer(request, found) if isinstance(found, CachedPage) else found

    return cached_view


def _conditional(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Return the response, or 304 if the reader already has it."""
    if "ETag" in response and unchanged(request, response["ETag"]):
        return HttpResponseNotModified(headers={name: response[name] for name in SAID_AGAIN if name in response})
    return response


def _is_anonymous(request: HttpRequest) -> bool:
    """Return whether the request is anonymous and without a query string.

    Query strings are personal and would fill the cache.
    """
    plain = request.method == "GET" and not request.META.get("QUERY_STRING")
    return plain and not request.user.is_authenticated


def _name(request: HttpRequest, mark: BoardVersion) -> str:
    """Return the cache key.

    It includes the board's ID, because another board may have had this address before. It does not include the host.
    Pages use the site's own address (`links.whole_address`), and invented hosts and ports would fill the cache.
    """
    return f"anybody:{release()}:{get_language()}:{sha256(f'{mark.settings[0]} {request.path}'.encode()).hexdigest()}"


def cached_page(name: str, mark: BoardVersion, make: Callable[[], HttpResponse]) -> CachedPage | HttpResponse:
    """Return the cached page if it is current, or make it now.

    While another request makes it, return the earlier page.
    """
    before: CachedPage | None = cache.get(name)
    if before is not None and before.holds(mark):
        return before
    mine = cache.add(f"{name}:making", True, MADE_WITHIN_S)
    if before is not None and before.mark.settings == mark.settings and not mine:
        return before
    try:
        response = make()
        if response.status_code != 200:
            return response
        page = CachedPage(mark, time.time(), _headers(response), gzip.compress(response.content, 6, mtime=0))
        cache.set(name, page, KEPT_S)
    finally:
        if mine:
            cache.delete(f"{name}:making")
    return page


def _headers(response: HttpResponse) -> dict[str, str]:
    """Return the headers of the page itself; middleware adds its own to each response.

    A page without an ETag gets one from its content.
    """
    response.setdefault("ETag", f'"{sha256(response.content).hexdigest()[:32]}"')
    response.setdefault("Cache-Control", "no-cache")
    return {name: response[name] for name in CARRIED if name in response}


def _answer(request: HttpRequest, page: CachedPage) -> HttpResponse:
    response: HttpResponse
    if unchanged(request, page.headers["ETag"]):
        response = HttpResponseNotModified(headers={name: page.headers[name] for name in SAID_AGAIN})
    elif _accepts_gzip(request):
        response = HttpResponse(page.compressed, headers={**page.headers, "Content-Encoding": "gzip"})
        response["ETag"] = f"W/{page.headers['ETag']}"  # Weak, because the same content has other bytes.
    else:
        response = HttpResponse(gzip.decompress(page.compressed), headers=page.headers)
    patch_vary_headers(response, ["Accept-Encoding"])
    return response


def _accepts_gzip(request: HttpRequest) -> bool:
    """Return whether the client accepts gzip, as Django's own middleware does."""
    return "gzip" in request.headers.get("Accept-Encoding", "")
