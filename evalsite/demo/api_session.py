"""Requests of a simulated client to the HTTP API, with retries.

If the server is busy or unreachable (no connection, 429, 5xx), the request is retried with growing delays. A retry is
the same request with the same Idempotency-Key, so a lost response has no effect.
"""

import threading
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Self

import httpx2

from evalsite.demo.annotators import JsonObject

GONE = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.GONE})
"""Answers by which one assignment or conversation is lost (its lease ran out, say), but the annotator can go on."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Retry settings, in seconds.

    attempts: total number of tries.
    """

    first_s: float = 0.25
    factor: float = 2.0
    most_s: float = 5.0
    attempts: int = 20

    def waits(self) -> Iterable[float]:
        """Return the delays between the attempts, one fewer than the attempts."""
        return (min(self.first_s * self.factor**n, self.most_s) for n in range(self.attempts - 1))


class ClientError(Exception):
    """The server refused a request, or was unreachable for too long."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class StopRequested(Exception):
    """The stop event was set during a pause."""


class ApiSession:
    """One client's requests. `retried` is called with the trouble before each retry."""

    def __init__(
        self, http: httpx2.Client, patience: Patience, stop: threading.Event, retried: Callable[[str], None]
    ) -> None:
        self.http = http
        self.retries = 0
        self._etag = ""
        self._patience, self._stop, self._retried = patience, stop, retried

    def enrol(self, campaign: str) -> str:
        """Join a campaign as a simulated annotator, and return the annotator's ID."""
        enrolled = self.send("/api/v1/annotators", {"campaign": campaign, "kind": "simulated", "consent": True})
        self.http.headers["Authorization"] = f"Bearer {enrolled['token']}"
        return str(enrolled["annotator"])

    def send(self, path: str, body: JsonObject) -> dict[str, Any]:
        """Send a POST until the server responds.

        Raises ClientError if it refuses or all attempts fail.
        """
        answer = self._request("POST", path, body, new_key())
        assert answer is not None  # noqa: S101  only a GET has an unchanged answer
        return answer

    def read(self, path: str, etag: str = "") -> tuple[dict[str, Any] | None, str]:
        """Return the answer to a GET with its ETag; None while it has this ETag. Raises ClientError like `send`."""
        headers = {"If-None-Match": etag} if etag else {}
        answer = self._request("GET", path, None, headers)
        return answer, self._etag

    def part(self, path: str) -> None:
        """Send a last POST in one attempt, whatever comes of it. Without a token nothing is sent."""
        if "Authorization" in self.http.headers:
            with suppress(httpx2.TransportError):
                self.http.post(path, json={}, headers=new_key(), timeout=2.0)

    def wait(self, seconds: float) -> None:
        """Pause. Raises StopRequested."""
        if self._stop.wait(seconds):
            raise StopRequested

    def _request(
        self, method: str, path: str, body: JsonObject | None, headers: Mapping[str, str]
    ) -> dict[str, Any] | None:
        waits = iter(self._patience.waits())
        while True:
            attempt = _Attempt.of(self.http, method, path, body, headers)
            self._etag = attempt.etag
            if attempt.answer is not None or attempt.status == HTTPStatus.NOT_MODIFIED:
                return attempt.answer
            wait = next(waits, None)
            if wait is None or not attempt.worth_another:
                raise ClientError(attempt.trouble, status=attempt.status)
            self.retries += 1
            self._retried(attempt.trouble)
            self.wait(max(wait, attempt.asked_wait_s))


def new_key() -> dict[str, str]:
    """Return the header that identifies a retried request."""
    return {"Idempotency-Key": str(uuid.uuid4())}


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The result of one request: a response, or an error with a flag for retrying (`worth_another`)."""

    answer: dict[str, Any] | None = None
    trouble: str = ""
    status: int | None = None
    worth_another: bool = False
    asked_wait_s: float = 0.0
    etag: str = ""

    @classmethod
    def of(
        cls, http: httpx2.Client, method: str, path: str, body: JsonObject | None, headers: Mapping[str, str]
    ) -> Self:
        try:
            response = http.request(method, path, json=body, headers=headers)
        except httpx2.TransportError as error:
            return cls(trouble=f"no answer ({type(error).__name__})", worth_another=True)
        if response.status_code == HTTPStatus.NOT_MODIFIED:
            return cls(status=response.status_code, etag=response.headers.get("ETag", ""))
        if response.is_success:
            return cls._read(response)
        busy = response.status_code == HTTPStatus.TOO_MANY_REQUESTS or response.status_code >= 500
        return cls(
            trouble=_error_text(response),
            status=response.status_code,
            worth_another=busy,
            asked_wait_s=_retry_after(response),
        )

    @classmethod
    def _read(cls, response: httpx2.Response) -> Self:
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            return cls(trouble="the answer is no JSON object: is this the right address?")
        return cls(answer=answer, status=response.status_code, etag=response.headers.get("ETag", ""))


def _error_text(response: httpx2.Response) -> str:
    """Return the status and the message of an API error object, if the body is one."""
    try:
        message = str(response.json()["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {response.status_code}"
    return f"HTTP {response.status_code}: {message}"


def _retry_after(response: httpx2.Response) -> float:
    """Return the seconds of a Retry-After header; 0 without one, or for a date, which our server does not send."""
    header = response.headers.get("Retry-After", "")
    return float(header) if header.isdecimal() else 0.0
