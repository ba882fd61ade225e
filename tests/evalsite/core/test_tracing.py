"""Traces of requests and jobs: made where a collector is named, with ids and without addresses."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import refit_request
from evalsite.core import jobs, tracing
from evalsite.core.models import Job
from tests.processes import ROOT
from tests.servers import raw_server, response, sends

export = pytest.importorskip("opentelemetry.sdk.trace.export", reason="needs the extra `tracing`")
memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")


@pytest.fixture
def spans() -> Iterator[Any]:
    exporter = memory.InMemorySpanExporter()
    tracing.start(export.SimpleSpanProcessor(exporter))
    yield exporter.get_finished_spans
    tracing.stop()


@pytest.mark.django_db
def test_request_has_its_id_and_route_in_place_of_its_address(spans: Any) -> None:
    answer = Client().get("/join/a-secret-link/?code=another-secret")
    (span,) = spans()
    assert span.name == "GET join/<str:secret>/"
    assert span.attributes["touchstone.request_id"] == answer["X-Request-ID"]
    assert "secret-link" not in span.to_json()
    assert "another-secret" not in span.to_json()


@pytest.mark.django_db
def test_health_checks_are_not_traced(spans: Any) -> None:
    Client().get("/livez")
    assert spans() == ()


@pytest.mark.django_db
def test_job_has_its_id_and_kind(campaign: Campaign, spans: Any) -> None:
    refit_request(campaign)
    job = Job.objects.get(state=Job.State.QUEUED)
    jobs.work_once("test")
    (span,) = [one for one in spans() if one.name == "job refit"]
    assert span.attributes == {"touchstone.job_id": job.pk, "touchstone.job_kind": "refit"}
    assert span.status.is_ok


@pytest.mark.django_db
def test_failed_job_is_a_failed_span(spans: Any) -> None:
    jobs.job_enqueue(kind="refit", key="refit:0", args={"campaign": 0})
    jobs.work_once("test")
    (span,) = spans()
    assert not span.status.is_ok
    assert [event.name for event in span.events] == ["exception"]


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.instrumentation.django", None)
    with pytest.raises(ImproperlyConfigured, match=r"pip install 'touchstone-eval\[tracing\]'"):
        tracing.start()


def run(code: str, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> subprocess.CompletedProcess[str]:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "evalsite.settings")
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)


def test_collector_gets_the_spans_of_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import django; django.setup()\nfrom evalsite.core.tracing import traced_job\nwith traced_job(7, 'x'): pass"
    with raw_server(sends(response(b""))) as server:
        done = run(code, server.url.removesuffix("/chat"), monkeypatch)
    assert done.returncode == 0, done.stderr
    assert [request.split(b" ", 2)[:2] for request in server.requests] == [[b"POST", b"/v1/traces"]]
    assert b"job x" in server.requests[0] or b"gzip" in server.requests[0]


def test_without_an_endpoint_nothing_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import sys, django; django.setup(); print([name for name in sys.modules if 'opentelemetry.sdk' in name])"
    assert run(code, "", monkeypatch).stdout == "[]\n"


def test_endpoint_without_a_scheme_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    done = run("import django; django.setup()", "collector:4318", monkeypatch)
    assert "is not an address: use one like http://collector:4318" in done.stderr
