"""Pages of a board as anybody reads them: made once for all readers, and again when the board has changed.

A reader who is nobody in particular costs one query, which says whether they may see the board and whether what was
made before still holds (boards.versions). When it does not, one reader makes it anew; who asks meanwhile is given the
earlier one, unless its owners have said something else since.
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

RENEWED_S = 60  # what no mark tells (a chatbot's new address) is seen so much later
KEPT_S = 3600
MADE_WITHIN_S = 20  # who takes longer is not waited for
SAID_AGAIN = ("ETag", "Cache-Control")  # with a 304
CARRIED = ("Content-Type", "Content-Disposition", "Cache-Control", "ETag")

View = Callable[..., HttpResponse]


@dataclass(frozen=True, slots=True)
class Kept:
    """A page as it was made, compressed: there is nothing secret in it that its length could tell."""

    mark: BoardVersion
    made_at: float
    headers: dict[str, str]
    compressed: bytes

    def holds(self, mark: BoardVersion) -> bool:
        return self.mark == mark and 0 <= time.time() - self.made_at < RENEWED_S


def kept_for_anybody(view: View) -> View:
    """The view of a board's page, which then must show the same to all who are not logged in.

    The door also answers who has the page already, by the ETag that the view gives it.
    """

    @wraps(view)
    def door(request: HttpRequest, key: str, **of_page: Any) -> HttpResponse:
        mark = board_version_get(key) if _reads_as_anybody(request) else None
        if mark is None:
            return _own(request, view(request, key, **of_page))
        found = made(_name(request, mark), mark, lambda: view(request, key, **of_page))
        return _answer(request, found) if isinstance(found, Kept) else found

    return door


def _own(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """A page made for this reader, or that they have it."""
    if "ETag" in response and unchanged(request, response["ETag"]):
        return HttpResponseNotModified(headers={name: response[name] for name in SAID_AGAIN if name in response})
    return response


def _reads_as_anybody(request: HttpRequest) -> bool:
    """What stands behind an address is a reader's own, and would fill the cache."""
    plain = request.method == "GET" and not request.META.get("QUERY_STRING")
    return plain and not request.user.is_authenticated


def _name(request: HttpRequest, mark: BoardVersion) -> str:
    """The board's id too: another one may have had this address before.

    Not the host: pages name the site's own address (`links.whole_address`), and a reader who invents ports and
    names for it would have each page made, and kept, once more.
    """
    return f"anybody:{release()}:{get_language()}:{sha256(f'{mark.settings[0]} {request.path}'.encode()).hexdigest()}"


def made(name: str, mark: BoardVersion, make: Callable[[], HttpResponse]) -> Kept | HttpResponse:
    """What was made and holds; or the earlier one, while somebody makes it; or what is made now."""
    before: Kept | None = cache.get(name)
    if before is not None and before.holds(mark):
        return before
    mine = cache.add(f"{name}:making", True, MADE_WITHIN_S)
    if before is not None and before.mark.settings == mark.settings and not mine:
        return before
    try:
        response = make()
        if response.status_code != 200:
            return response
        page = Kept(mark, time.time(), _headers(response), gzip.compress(response.content, 6, mtime=0))
        cache.set(name, page, KEPT_S)
    finally:
        if mine:
            cache.delete(f"{name}:making")
    return page


def _headers(response: HttpResponse) -> dict[str, str]:
    """Of the page itself; what middleware adds is each answer's own. A page without an ETag is known by its content."""
    response.setdefault("ETag", f'"{sha256(response.content).hexdigest()[:32]}"')
    response.setdefault("Cache-Control", "no-cache")
    return {name: response[name] for name in CARRIED if name in response}


def _answer(request: HttpRequest, page: Kept) -> HttpResponse:
    response: HttpResponse
    if unchanged(request, page.headers["ETag"]):
        response = HttpResponseNotModified(headers={name: page.headers[name] for name in SAID_AGAIN})
    elif _takes_gzip(request):
        response = HttpResponse(page.compressed, headers={**page.headers, "Content-Encoding": "gzip"})
        response["ETag"] = f"W/{page.headers['ETag']}"  # the same words in other bytes
    else:
        response = HttpResponse(gzip.decompress(page.compressed), headers=page.headers)
    patch_vary_headers(response, ["Accept-Encoding"])
    return response


def _takes_gzip(request: HttpRequest) -> bool:
    """As Django's own middleware reads it."""
    return "gzip" in request.headers.get("Accept-Encoding", "")
