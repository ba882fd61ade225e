"""Show our errors as pages: what happened, and what to do now."""

import math
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from evalsite.core.errors import TooMany, TouchstoneError


class ErrorPages:
    """Turns a TouchstoneError of a page into error.html with its status (the API has its own handler)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not isinstance(exception, TouchstoneError):
            return None
        context = {
            "code": exception.status,
            "title": exception.message,
            "message": exception.hint,
            "hint": "",
        }
        response = render(request, "error.html", context, status=exception.status)
        if isinstance(exception, TooMany):
            response["Retry-After"] = math.ceil(exception.retry_after_s)
        return response
