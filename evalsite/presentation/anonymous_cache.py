"""A cache of the home page, board pages and boards of the API for anonymous readers, renewed when a board changes.

An anonymous reader costs one query (boards.versions). It tells whether they may see the board and whether the cached
page is current. If it is outdated, one request renders it again. Requests in the meantime get the earlier page, unless
the owners have changed the settings of the board since. A page that lacks only the newest judgments is current for two
seconds, because readers of a board that is being judged would have it rendered at each judgment.
"""

import gzip
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.utils.cache import patch_vary_headers
from django.utils.translation import get_language

from evalsite.boards.versions import BoardVersion, board_version_get, home_version_get
from evalsite.core.http import unchanged
from evalsite.core.release import release

RENEWED_S = 60  # Maximum delay of changes that the version does not include, such as a chatbot's new address.
COUNTED_S = 2.0  # Maximum delay of the number of judgments since the last batch.
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
        same = (self.mark.settings, self.mark.content) == (mark.settings, mark.content)
        longest = RENEWED_S if self.mark.judgments_open == mark.judgments_open else COUNTED_S
        return same and 0 <= time.time() - self.made_at < longest


def cached_for_anonymous(view: View) -> View:
    """Decorate the view of a board's page that is the same for all anonymous readers.

    The decorated view also answers conditional requests with the ETag of the view.
    """

    @wraps(view)
    def cached_view(request: HttpRequest, key: str, **of_page: Any) -> HttpResponse:
        mark = board_version_get(key) if _is_anonymous(request) else None
        return made_once(request, mark, lambda: view(request, key, **of_page))

    return cached_view


def cached_home(view: View) -> View:
    """Decorate the view of the home page.

    It is made for each reader who has a session, because it may show them a message, and as long as its form asks for
    the setup link, because the form has a token.
    """

    @wraps(view)
    def cached_view(request: HttpRequest) -> HttpResponse:
        has_messages = request.COOKIES.keys() & {settings.SESSION_COOKIE_NAME, CookieStorage.cookie_name}
        mark = home_version_get() if _is_anonymous(request) and not has_messages else None
        has_form = mark is not None and mark.settings == (False,) and bool(settings.ADMIN_EMAIL)
        return made_once(request, None if has_form else mark, lambda: view(request))

    return cached_view


def made_once(request: HttpRequest, mark: BoardVersion | None, make: Callable[[], HttpResponse]) -> HttpResponse:
    """Return the cached page of this address if it has this version, or make it; always make it without a version."""
    if mark is None:
        return _conditional(request, make())
    found = cached_page(_name(request, mark), mark, make)
    return _answer(request, found) if isinstance(found, CachedPage) else found


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
    return f"anybody:{release()}:{get_language()}:{sha256(f'{mark.settings[:1]} {request.path}'.encode()).hexdigest()}"


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
