"""Log lines as JSON, with the request or job that they belong to."""

import json
import logging
from collections.abc import Iterator
from io import StringIO

import pytest
from django.test import Client

from evalsite.core import jobs
from evalsite.core.logs import JsonLines, log_place


@pytest.fixture
def lines() -> Iterator[StringIO]:
    """Collect what the root logger gets, as JSON."""
    stream = StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    logging.getLogger().addHandler(handler)
    yield stream
    logging.getLogger().removeHandler(handler)


def test_line_is_one_object_with_its_place_and_error(lines: StringIO) -> None:
    with log_place(request="r1"), log_place(job=7):
        try:
            raise ValueError("first\nsecond")
        except ValueError:
            logging.getLogger("evalsite.x").exception("It is %s", "wrong\nhere")
    logging.getLogger("evalsite.x").error("after")
    first, second = (json.loads(line) for line in lines.getvalue().splitlines())
    assert (first["message"], first["request"], first["job"], first["level"]) == ("It is wrong\nhere", "r1", 7, "ERROR")
    assert "ValueError: first\nsecond" in first["error"]
    assert "request" not in second


@pytest.mark.django_db
@pytest.mark.parametrize(("given", "kept"), [("proxy-1.a", True), ("a b", False), ("x" * 65, False), ("", False)])
def test_request_has_an_id(given: str, kept: bool, lines: StringIO) -> None:
    response = Client().get("/no-such-page/", headers={"X-Request-ID": given})
    assert (response["X-Request-ID"] == given) is kept
    line = json.loads(lines.getvalue().splitlines()[0])
    assert line["request"] == response["X-Request-ID"]
    assert line["logger"] == "django.request"


@pytest.mark.django_db
def test_lines_of_a_job_have_its_id(lines: StringIO) -> None:
    jobs.job_enqueue(kind="tests.unknown", key="one")
    lease = jobs.job_claim(owner="host:1")
    assert lease is not None
    assert not jobs.job_run(lease)
    line = json.loads(lines.getvalue().splitlines()[0])
    assert (line["job"], line["kind"]) == (lease.job_id, "tests.unknown")
