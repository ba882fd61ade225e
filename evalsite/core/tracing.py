"""OpenTelemetry traces of requests and jobs, where OTEL_EXPORTER_OTLP_ENDPOINT names a collector.

Without it nothing of OpenTelemetry is imported. A trace holds the route of a request and not its address, which may be
a secret link.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponseBase

from evalsite.core.logs import REQUEST_ID

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
    from opentelemetry.trace import Span

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
DEFAULTS = {"OTEL_SERVICE_NAME": "touchstone", "OTEL_PYTHON_DJANGO_EXCLUDED_URLS": "livez,readyz,metrics"}
ADDRESSES = {"http.url", "http.target", "url.full", "url.path", "url.query"}
_state: dict[str, Any] = {}  # the provider and its tracer, while traces are made


def start(processor: SpanProcessor | None = None) -> None:
    """Make traces from now on, and hand them to the processor; by default to the collector.

    Raises ImproperlyConfigured if the packages are missing.
    """
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, value)
    try:
        from opentelemetry.instrumentation.django import DjangoInstrumentor
        from opentelemetry.sdk.trace import TracerProvider

        provider = TracerProvider()
        provider.add_span_processor(_to_collector() if processor is None else processor)
        DjangoInstrumentor().instrument(tracer_provider=provider, response_hook=_request_describe)
        if settings.PRODUCTION:
            from opentelemetry.instrumentation.celery import CeleryInstrumentor

            CeleryInstrumentor().instrument(tracer_provider=provider)  # type: ignore[no-untyped-call]
    except ImportError as error:
        raise ImproperlyConfigured(
            f"{ENDPOINT} is set, and the packages for traces are missing ({error.name}). Install the extra `tracing`: "
            f"pip install 'touchstone-eval[tracing]'. Or unset {ENDPOINT}."
        ) from error
    _state.update(provider=provider, tracer=provider.get_tracer("touchstone"))


def stop() -> None:
    """Make no more traces, and send what is left."""
    from opentelemetry.instrumentation.celery import CeleryInstrumentor
    from opentelemetry.instrumentation.django import DjangoInstrumentor

    provider: TracerProvider = _state["provider"]
    DjangoInstrumentor().uninstrument()
    if settings.PRODUCTION:
        CeleryInstrumentor().uninstrument()  # type: ignore[no-untyped-call]
    provider.shutdown()
    _state.clear()


def flush() -> None:
    """Send the finished spans, before a process ends without cleaning up."""
    if _state:
        _state["provider"].force_flush()


@contextmanager
def traced_job(job: int, kind: str) -> Iterator[None]:
    """Make a span of a job, if traces are made."""
    if not _state:
        yield
        return
    attributes = {"touchstone.job_id": job, "touchstone.job_kind": kind}
    with _state["tracer"].start_as_current_span(f"job {kind}", attributes=attributes):
        yield


def failure_record(error: Exception) -> None:
    """Mark the present span as failed, if traces are made."""
    if _state:
        from opentelemetry.trace import Status, StatusCode, get_current_span

        get_current_span().record_exception(error)
        get_current_span().set_status(Status(StatusCode.ERROR, type(error).__name__))


def _to_collector() -> SpanProcessor:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    return BatchSpanProcessor(OTLPSpanExporter())


def _request_describe(span: Span, request: HttpRequest, response: HttpResponseBase) -> None:
    """Add the id of the request, and replace its address by its route."""
    route = request.resolver_match.route if request.resolver_match else ""
    span.set_attribute("touchstone.request_id", request.META.get(REQUEST_ID, ""))
    for name in ADDRESSES & set(getattr(span, "attributes", None) or {}):
        span.set_attribute(name, route)
