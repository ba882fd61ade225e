"""Small things that both doors need."""

import math

from django.http import HttpRequest, HttpResponse
from django.template import loader
from django.utils.cache import add_never_cache_headers

from evalsite.core.errors import TouchstoneError


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
