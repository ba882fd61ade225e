"""Middleware for every page: the reader's language, and error pages with advice."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.locale import LocaleMiddleware
from django.shortcuts import render
from django.utils import translation
from django.utils.cache import patch_vary_headers

from evalsite.core.db import as_unavailable
from evalsite.core.errors import TouchstoneError
from evalsite.core.http import add_retry_after, unavailable_page
from evalsite.core.logs import REQUEST_ID, log_place, request_id

ONE_LANGUAGE = ("/api/", "/metrics", "/livez", "/readyz")  # Programs read these and compare them.

PICTURES = (".svg", ".png")  # Shown on other sites, to readers of any language.


class PageLanguage(LocaleMiddleware):
    """Sets the reader's language: their choice (a cookie), else the browser's first supported language."""

    def process_request(self, request: HttpRequest) -> None:
        if request.path_info.startswith(ONE_LANGUAGE) or request.path_info.endswith(PICTURES):
            translation.activate(settings.LANGUAGE_CODE)
            request.LANGUAGE_CODE = settings.LANGUAGE_CODE
        else:
            super().process_request(request)

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        response = super().process_response(request, response)
        patch_vary_headers(response, ["Cookie"])
        return response


class RequestIds:
    """Give each request an id, which its log lines and its response (`X-Request-ID`) have."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        name = request_id(request.META.get(REQUEST_ID, ""))
        request.META[REQUEST_ID] = name  # for what Django logs after the last middleware
        with log_place(request=name):
            response = self.get_response(request)
        response["X-Request-ID"] = name
        return response


class ErrorPages:
    """Renders a TouchstoneError of a page as error.html with its status. The API has its own handler."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        away = as_unavailable(exception)
        if away is not None:
            return unavailable_page(away)
        if not isinstance(exception, TouchstoneError):
            return None
        context = {
            "code": exception.status,
            "title": exception.message,
            "message": exception.hint,
            "hint": "",
        }
        return add_retry_after(render(request, "error.html", context, status=exception.status), exception)
