"""One shape for every failure: {"error": {"code", "message", "hint", "field"}}, and `rows` where those are refused."""

import sys
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.template import loader
from django.views.decorators.csrf import csrf_exempt
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import exception_handler as rest_exception_handler

from evalsite.api.presenters import fates
from evalsite.core.db import as_unavailable
from evalsite.core.errors import TouchstoneError
from evalsite.core.http import tell_when, unavailable_page
from evalsite.core.row_files import RowsRefused

HINTS = {
    "not_authenticated": "Send the header Authorization: Bearer <token>.",
    "authentication_failed": "Ask for a new token: POST /api/v1/annotators, or manage.py api_token.",
    "permission_denied": "Send the value of the cookie csrftoken as header X-CSRFToken, or a token and no session.",
    "parse_error": "Send one JSON object, encoded as UTF-8.",
    "unsupported_media_type": "Send Content-Type: application/json, encoded as UTF-8.",
    "method_not_allowed": "docs/openapi.yaml lists what each address offers.",
    "not_acceptable": "Send Accept: application/json, or no such header.",
    # What a service says without a hint of its own: its message says what was wrong, and this where to look.
    "invalid": "Mend the field that is named; docs/openapi.yaml says what each request takes.",
    "not_found": "Check the address and the ids in it; docs/openapi.yaml lists the addresses.",
    "not_allowed": "Ask an owner for a role that allows it; docs/roles.md lists them.",
    "conflict": "Look at its state first: it has changed, or does not allow this.",
}
ROOT = "/api/"


def shape(code: str, message: str, *, hint: str = "", field: str = "") -> dict[str, Any]:
    """The one shape; a failure that brings no hint has that of its code."""
    return {"error": {"code": code, "message": message, "hint": hint or HINTS.get(code, ""), "field": field}}


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Turn our errors and the framework's into the one shape. None (a fault of ours) stays a 500."""
    ours = error if isinstance(error, TouchstoneError) else as_unavailable(error)
    if ours is not None:
        answer = Response(_ours(ours), status=ours.status)
        tell_when(answer, ours)
        return answer
    response = rest_exception_handler(error, context)
    if response is not None:
        response.data = _framework_shape(error)
    return response


def _ours(error: TouchstoneError) -> dict[str, Any]:
    found = shape(error.code, error.message, hint=error.hint, field=error.field)
    if isinstance(error, RowsRefused):
        found["error"]["rows"] = fates(error.rows)
    return found


def _framework_shape(error: Exception) -> dict[str, Any]:
    if isinstance(error, exceptions.ValidationError):
        field, message = _first_problem(error.detail)
        return shape("invalid", message, field=field)
    if isinstance(error, Http404):
        return shape("not_found", "There is nothing at this address.")
    if isinstance(error, PermissionDenied):
        return shape("not_allowed", "This is not yours to do.")
    if not isinstance(error, exceptions.APIException):
        return shape("error", str(error))
    code = str(error.get_codes() if isinstance(error.get_codes(), str) else error.default_code)
    return shape(code, str(error.detail))


def _first_problem(detail: Any, path: str = "") -> tuple[str, str]:
    """The first field that is wrong, as a dotted path, and what is wrong with it."""
    if isinstance(detail, dict):
        key = next(iter(detail))
        name = "" if key == "non_field_errors" else str(key)
        return _first_problem(detail[key], ".".join(part for part in (path, name) if part))
    if isinstance(detail, list):
        position = next((index for index, one in enumerate(detail) if one), 0)
        inner = detail[position]
        return _first_problem(inner, f"{path}.{position}" if isinstance(inner, dict) else path)
    return path, str(detail)


# Before a view is found, or after it broke, the API answers in its own shape and the pages as pages ---------
# The framework's own handlers look for a CSRF token in the form that was sent: where that form is what cannot be read,
# they break as well. These pages hold no form and need no token.


def _page(request: HttpRequest, status: int) -> HttpResponse:
    return HttpResponse(loader.render_to_string(f"{status}.html", request=request), status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A host that is not ours, a request that cannot be read."""
    if not request.path_info.startswith(ROOT):
        return _page(request, 400)
    return JsonResponse(shape("bad_request", "The request cannot be read.", hint="Check its headers."), status=400)


@csrf_exempt  # it changes nothing, and a program without cookies is to be told 404 and not 403
def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    if not request.path_info.startswith(ROOT) and exception is not None:
        return _page(request, 404)
    return JsonResponse(shape("not_found", "There is nothing at this address."), status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    """A fault of ours, unless what broke outside of every view (where sessions are kept, say) is the database."""
    away = as_unavailable(sys.exc_info()[1])
    if away is not None:
        return _unavailable(request, away)
    if not request.path_info.startswith(ROOT):
        return HttpResponse(loader.render_to_string("500.html"), status=500)
    problem = shape("server_error", "This is our fault.", hint="What was confirmed before is safe. Try again later.")
    return JsonResponse(problem, status=500)


def _unavailable(request: HttpRequest, error: TouchstoneError) -> HttpResponse:
    if not request.path_info.startswith(ROOT):
        return unavailable_page(error)
    return tell_when(JsonResponse(_ours(error), status=error.status), error)
