"""Requests of a simulated client to the HTTP API, by `evalsite.client.retries`, until somebody asks it to stop."""

import threading
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import httpx2

from evalsite.client.retries import Patience, Requests, new_key, object_of
from evalsite.demo.annotators import JsonObject

GONE = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.GONE})
"""Answers by which one assignment or conversation is lost (its lease ran out, say), but the annotator can go on."""


class StopRequested(Exception):
    """The stop event was set during a pause."""


class ApiSession:
    """One client's requests. `retried` is called with the trouble before each retry."""

    def __init__(
        self, http: httpx2.Client, patience: Patience, stop: threading.Event, retried: Callable[[str], None]
    ) -> None:
        self.http = http
        self._stop = stop
        self._requests = Requests(http, patience, pause=self.wait, retried=retried)

    @property
    def retries(self) -> int:
        return self._requests.retries

    def enrol(self, campaign: str) -> str:
        """Join a campaign as a simulated annotator, and return the annotator's ID."""
        enrolled = self.send("/api/v1/annotators", {"campaign": campaign, "kind": "simulated", "consent": True})
        self.http.headers["Authorization"] = f"Bearer {enrolled['token']}"
        return str(enrolled["annotator"])

    def send(self, path: str, body: JsonObject) -> dict[str, Any]:
        """Send a POST until the server responds.

        Raises ClientError if it refuses or all attempts fail.
        """
        return object_of(self._requests.send("POST", path, json=body))

    def read(self, path: str, etag: str = "") -> tuple[dict[str, Any] | None, str]:
        """Return the answer to a GET with its ETag; None while it has this ETag. Raises ClientError like `send`."""
        answer = self._requests.send("GET", path, headers={"If-None-Match": etag} if etag else {})
        unchanged = answer.status_code == HTTPStatus.NOT_MODIFIED
        return None if unchanged else object_of(answer), answer.headers.get("ETag", "")

    def part(self, path: str) -> None:
        """Send a last POST in one attempt, whatever comes of it. Without a token nothing is sent."""
        if "Authorization" in self.http.headers:
            with suppress(httpx2.TransportError):
                self.http.post(path, json={}, headers=new_key(), timeout=2.0)

    def wait(self, seconds: float) -> None:
        """Pause. Raises StopRequested."""
        if self._stop.wait(seconds):
            raise StopRequested
