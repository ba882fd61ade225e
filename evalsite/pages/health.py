"""Answers for load balancers and Prometheus: does the process live, can it serve, how is it."""

import hmac

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from evalsite.adaptive.vitals import as_metrics, vitals_get
from evalsite.core.errors import NotFound
from evalsite.core.throttle import client_address

LOOPBACK = {"127.0.0.1", "::1"}
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@require_safe
def livez(request: HttpRequest) -> JsonResponse:
    """The process answers; nothing else is looked at."""
    return JsonResponse({"live": True})


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """The database answers and its tables are those of this code."""
    why = not_ready()
    return JsonResponse({"ready": False, "why": why}, status=503) if why else JsonResponse({"ready": True})


def not_ready() -> str:
    """Why this process cannot serve; "" where it can."""
    try:
        executor = MigrationExecutor(connection)
        pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except (DatabaseError, InterfaceError):
        return "the database does not answer"
    return "migrations are pending" if pending else ""


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """For Prometheus: by the token of the settings; without one, from this machine only."""
    if not _may_measure(request):
        raise NotFound("There is nothing at this address.")
    return HttpResponse(as_metrics(vitals_get()), content_type=METRICS_TYPE)


def _may_measure(request: HttpRequest) -> bool:
    if settings.METRICS_TOKEN:
        sent = request.headers.get("Authorization", "")
        return hmac.compare_digest(sent.encode(), f"Bearer {settings.METRICS_TOKEN}".encode())
    return client_address(request) in LOOPBACK and "X-Forwarded-For" not in request.headers
