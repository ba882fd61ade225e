"""Responses to failures. All have the body {"error": {"code", "message", "hint", "field"}}."""

import sys
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.template import loader
from django.views.decorators.csrf import csrf_exempt
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import exception_handler as rest_exception_handler

from evalsite.api.responses.errors import ErrorSerializer
from evalsite.core.db import as_unavailable
from evalsite.core.errors import TouchstoneError
from evalsite.core.http import add_retry_after, unavailable_page

ROOT = "/api/"


def error_body(code: str, message: str, *, hint: str = "", field: str = "") -> dict[str, Any]:
    """Return the body of a failure. Without a hint of its own it has the one of its code."""
    return ErrorSerializer.render(TouchstoneError(message, hint=hint, field=field, code=code))


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Return the response to an error of the service or of the framework. None stays a server error (500)."""
    ours = error if isinstance(error, TouchstoneError) else as_unavailable(error)
    if ours is not None:
        answer = Response(ErrorSerializer.render(ours), status=ours.status)
        add_retry_after(answer, ours)
        return answer
    response = rest_exception_handler(error, context)
    if response is not None:
        response.data = _framework_body(error)
    return response


def _framework_body(error: Exception) -> dict[str, Any]:
    if isinstance(error, exceptions.ValidationError):
        field, message = _first_problem(error.detail)
        return error_body("invalid", message, field=field)
    if isinstance(error, Http404):
        return error_body("not_found", "There is nothing at this address.")
    if isinstance(error, PermissionDenied):
        return error_body("not_allowed", "This is not yours to do.")
    if not isinstance(error, exceptions.APIException):
        return error_body("error", str(error))
    code = str(error.get_codes() if isinstance(error.get_codes(), str) else error.default_code)
    return error_body(code, str(error.detail))


def _first_problem(detail: Any, path: str = "") -> tuple[str, str]:
    """Return the first invalid field, as a dotted path, and its message."""
    if isinstance(detail, dict):
        key = next(iter(detail))
        name = "" if key == "non_field_errors" else str(key)
        return _first_problem(detail[key], ".".join(part for part in (path, name) if part))
    if isinstance(detail, list):
        position = next((index for index, one in enumerate(detail) if one), 0)
        inner = detail[position]
        return _first_problem(inner, f"{path}.{position}" if isinstance(inner, dict) else path)
    return path, str(detail)


# Outside of views: the API answers with its own body, the pages with a page ---------------------------------
# The framework's own handlers look for a CSRF token in the form that was sent: where that form is what cannot be read,
# they break as well. These pages hold no form and need no token.


def _page(request: HttpRequest, status: int) -> HttpResponse:
    return HttpResponse(loader.render_to_string(f"{status}.html", request=request), status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request for an unknown host, or one that cannot be read."""
    if not request.path_info.startswith(ROOT):
        return _page(request, 400)
    return JsonResponse(error_body("bad_request", "The request cannot be read.", hint="Check its headers."), status=400)


@csrf_exempt  # it changes nothing, and a program without cookies must get 404 and not 403
def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    if not request.path_info.startswith(ROOT) and exception is not None:
        return _page(request, 404)
    return JsonResponse(error_body("not_found", "There is nothing at this address."), status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer a server error. One outside all views (for example in sessions) may mean that the database is away."""
    away = as_unavailable(sys.exc_info()[1])
    if away is not None:
        return _unavailable(request, away)
    if not request.path_info.startswith(ROOT):
        return HttpResponse(loader.render_to_string("500.html"), status=500)
    problem = error_body(
        "server_error", "This is our fault.", hint="What was confirmed before is safe. Try again later."
    )
    return JsonResponse(problem, status=500)


def _unavailable(request: HttpRequest, error: TouchstoneError) -> HttpResponse:
    if not request.path_info.startswith(ROOT):
        return unavailable_page(error)
    return add_retry_after(JsonResponse(ErrorSerializer.render(error), status=error.status), error)
