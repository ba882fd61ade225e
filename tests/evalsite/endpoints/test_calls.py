"""Calls to hostile endpoints: each ends as documented within its deadline, and never with an exception."""

import json
import logging
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from email.utils import format_datetime

import pytest
from django.test import override_settings
from django.utils import timezone

from evalsite.endpoints.adapters.base import MASK, AdapterOptions, Message
from evalsite.endpoints.call import CallOutcome, endpoint_call
from evalsite.endpoints.failures import ADVICE, ErrorClass, Failure, advice
from tests.environment import PATIENCE_S
from tests.servers import LOCAL, Behaviour, hangs, raw_server, response, sends

SECRET = 'sk-"only"-for-tests-4711'
HELLO = [Message("user", "Hello")]
OK = response(json.dumps({"reply": "Hi."}).encode())


@pytest.fixture(autouse=True)
def _local_endpoints() -> Iterator[None]:
    with override_settings(ENDPOINT_NETWORKS=LOCAL):
        yield


def called(behaviour: Behaviour, *, timeout_s: float = PATIENCE_S) -> CallOutcome:
    with raw_server(behaviour) as server:
        return endpoint_call("http_json", AdapterOptions(server.url, SECRET), HELLO, timeout_s=timeout_s)


def failure(behaviour: Behaviour, *, timeout_s: float = PATIENCE_S) -> Failure:
    outcome = called(behaviour, timeout_s=timeout_s)
    assert outcome.reply is None
    assert outcome.failure is not None
    assert outcome.failure.status == outcome.status
    return outcome.failure


def test_times_of_a_call_are_in_order() -> None:
    outcome = called(sends(OK))
    assert outcome.reply is not None
    assert outcome.first_byte_at is not None
    assert outcome.started_at <= outcome.first_byte_at <= outcome.ended_at


@pytest.mark.parametrize(
    ("behaviour", "error_class"),
    [
        (sends(response(b"\xff\xfe\xfa")), ErrorClass.BAD_RESPONSE),
        (sends(response(b"<!DOCTYPE html><title>Welcome</title>")), ErrorClass.BAD_RESPONSE),
        (sends(response(b'{"choices": []}')), ErrorClass.BAD_RESPONSE),
        (sends(response(b"", status=204)), ErrorClass.BAD_RESPONSE),
        (sends(response(b'{"reply": " "}')), ErrorClass.EMPTY),
        (sends(b"HTTP/1.1 200 OK\r\n\r\n", *[b"x" * 1_000_000] * 100), ErrorClass.TOO_LARGE),
        (sends(response(b"x", headers=["Content-Encoding: gzip"])), ErrorClass.ENCODED),
        (sends(response(b"", status=302, headers=["Location: http://10.0.0.1/"])), ErrorClass.REDIRECT),
        (sends(), ErrorClass.CONNECT),
        (sends(b"220 mail.example ESMTP\r\n\r\n"), ErrorClass.PROTOCOL),
    ],
    ids=[
        "not-UTF-8",
        "HTML",
        "no-choices",
        "no-content",
        "empty",
        "100-MB",
        "compressed",
        "redirect",
        "closed",
        "mail",
    ],
)
def test_response_without_a_reply_has_a_class(behaviour: Behaviour, error_class: ErrorClass) -> None:
    assert failure(behaviour).error_class == error_class


@pytest.mark.parametrize(
    ("status", "error_class"),
    [
        (400, ErrorClass.REJECTED),
        (401, ErrorClass.UNAUTHORIZED),
        (402, ErrorClass.PAYMENT),
        (403, ErrorClass.UNAUTHORIZED),
        (404, ErrorClass.NOT_FOUND),
        (405, ErrorClass.NOT_FOUND),
        (408, ErrorClass.BUSY),
        (413, ErrorClass.REJECTED),
        (422, ErrorClass.REJECTED),
        (425, ErrorClass.BUSY),
        (429, ErrorClass.RATE_LIMITED),
        (500, ErrorClass.SERVER_ERROR),
        (529, ErrorClass.SERVER_ERROR),
    ],
)
def test_status_of_an_error_has_a_class(status: int, error_class: ErrorClass) -> None:
    body = json.dumps({"error": {"message": "Nothing\nhere."}}).encode()
    found = failure(sends(response(body, status=status)))
    assert found == Failure(error_class, status, None, f"Status {status}: Nothing here.")


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b'{"error": "no"}', "Status 500: no"),
        (b'{"message": "no"}', "Status 500: no"),
        (b'{"detail": "no"}', "Status 500: no"),
        (b'{"detail": [{"msg": "no"}]}', "Status 500."),
        (b"<html>", "Status 500."),
        (b"", "Status 500."),
    ],
)
def test_words_of_the_server_are_found_in_usual_shapes(body: bytes, detail: str) -> None:
    assert failure(sends(response(body, status=500))).detail == detail


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("3600", 3600.0), ("0.5", 0.5), ("-3", 0.0), ("soon", None), ("inf", None), ("nan", None), ("", None)],
)
def test_retry_after_is_read(value: str, seconds: float | None) -> None:
    limited = response(b"", status=429, headers=[f"Retry-After: {value}"])
    assert failure(sends(limited)).retry_after_s == seconds


def test_retry_after_may_be_a_date() -> None:
    hour = format_datetime(timezone.now() + timedelta(hours=1), usegmt=False)
    found = failure(sends(response(b"", status=503, headers=[f"Retry-After: {hour}"]))).retry_after_s
    assert found is not None
    assert 3600 - PATIENCE_S < found <= 3600


def test_hanging_endpoint_ends_at_its_deadline() -> None:
    found = failure(hangs, timeout_s=0.05)
    assert found.error_class == ErrorClass.TIMEOUT


def test_endpoint_that_drips_ends_at_its_deadline() -> None:
    assert failure(sends(*(bytes([one]) for one in OK), pause_s=0.01), timeout_s=0.05).error_class == ErrorClass.TIMEOUT


def test_hanging_endpoint_does_not_delay_another() -> None:
    """Calls share nothing: while one hangs, a hundred others end."""
    with raw_server(hangs) as stuck, raw_server(sends(OK)) as good:
        options = AdapterOptions(stuck.url)
        thread = threading.Thread(target=endpoint_call, args=("http_json", options, HELLO), kwargs={"timeout_s": 600})
        thread.daemon = True
        thread.start()
        outcomes = [
            endpoint_call("http_json", AdapterOptions(good.url), HELLO, timeout_s=PATIENCE_S) for _ in range(100)
        ]
        assert thread.is_alive()
    assert all(outcome.reply for outcome in outcomes)


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data",
        "https://10.0.0.1/",
        "https://[::ffff:7f00:1]/",
        "https://[64:ff9b::a00:1]/",
        "https://[fe80::1]/",
        "not an address",
    ],
)
def test_address_that_may_not_be_called_is_a_failure(url: str) -> None:
    outcome = endpoint_call("http_json", AdapterOptions(url), HELLO, timeout_s=PATIENCE_S)
    assert outcome.failure is not None
    assert outcome.failure.error_class == ErrorClass.ADDRESS_REFUSED
    assert outcome.first_byte_at is None


def test_fault_of_ours_is_a_failure_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    outcome = endpoint_call("unknown", AdapterOptions("https://bot.example", SECRET), HELLO, timeout_s=1)
    assert outcome.failure == Failure(ErrorClass.INTERNAL, None, None, "KeyError")
    assert "KeyError" in caplog.text


@pytest.mark.parametrize("status", [200, 400, 401, 500])
@pytest.mark.parametrize("place", ["reply", "error", "model"])
def test_secret_that_is_sent_back_is_masked(status: int, place: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    text = "x" * 290 + SECRET
    value = {"reply": "Hi.", "error": "No.", "model": "m", place: text}
    outcome = called(sends(response(json.dumps(value).encode(), status=status)))
    for found in (repr(outcome), str(outcome.failure and outcome.failure.detail), caplog.text):
        assert SECRET not in found
        assert "4711" not in found
        assert "sk-" not in found
    if status == 200 and place == "reply":
        assert outcome.reply is not None
        assert outcome.reply.text.endswith(MASK)


@pytest.mark.parametrize("error_class", ErrorClass)
def test_every_failure_says_what_to_change(error_class: ErrorClass) -> None:
    assert set(ADVICE) == set(ErrorClass)
    assert advice(error_class).endswith(".")


def test_deadline_counts_from_the_start_of_the_call() -> None:
    """A look-up that takes the whole time leaves none for the connection."""

    def slow(host: str, port: int, timeout_s: float) -> list[str]:
        time.sleep(0.02)
        return ["127.0.0.1"]

    with raw_server(sends(OK)) as server:
        options = AdapterOptions(server.url)
        outcome = endpoint_call("http_json", options, HELLO, timeout_s=0.01, resolver=slow)
    assert outcome.failure is not None
    assert outcome.failure.error_class == ErrorClass.TIMEOUT
