"""Health endpoints for load balancers and Prometheus: liveness, readiness, metrics."""

import hmac

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from evalsite.core.errors import NotFound
from evalsite.operations.service_health import as_metrics, not_ready, service_health_get

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@require_safe
def livez(request: HttpRequest) -> JsonResponse:
    """Report that the process responds, without any other check."""
    return JsonResponse({"live": True})


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """Check that the database responds, has this release's tables, and can be written."""
    why = not_ready()
    return JsonResponse({"ready": False, "why": why}, status=503) if why else JsonResponse({"ready": True})


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Return metrics for Prometheus, if the request has the token of the settings.

    Without a token, use `manage.py metrics`, which has its own socket.
    """
    if not _may_measure(request):
        raise NotFound("There is nothing at this address.")
    return HttpResponse(as_metrics(service_health_get()), content_type=METRICS_TYPE)


def _may_measure(request: HttpRequest) -> bool:
    """Return whether the request has the token.

    The client address proves nothing: behind a proxy on this machine, all visitors have the same one.
    """
    sent = request.headers.get("Authorization", "")
    expected = f"Bearer {settings.METRICS_TOKEN}"
    return bool(settings.METRICS_TOKEN) and hmac.compare_digest(sent.encode(), expected.encode())
