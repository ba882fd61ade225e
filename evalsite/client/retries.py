"""Requests with retries: a busy or unreachable server gets the same request again, with the same Idempotency-Key."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeAlias

import httpx2

POST = "POST"
Receiver: TypeAlias = Callable[[httpx2.Response], object]


@dataclass(frozen=True, slots=True)
class Patience:
    """Settings of retries, in seconds.

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
    """The server refused a request, or was unreachable for too long.

    status: of the answer; None without one. code, hint, rows: of the error that the server described.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str = "",
        hint: str = "",
        rows: list[dict[str, Any]] | None = None,
    ) -> None:
        super().__init__(f"{message} {hint}".strip())
        self.status, self.code, self.hint, self.rows = status, code, hint, rows or []


class Requests:
    """Requests to one site.

    pause: waits so many seconds. retried: called with the trouble before each retry.
    """

    def __init__(
        self,
        http: httpx2.Client,
        patience: Patience,
        *,
        pause: Callable[[float], None] = time.sleep,
        retried: Callable[[str], None] = lambda trouble: None,
    ) -> None:
        self.http = http
        self.retries = 0
        self._patience, self._pause, self._retried = patience, pause, retried

    def send(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        receive: Receiver = httpx2.Response.read,
        **content: Any,
    ) -> httpx2.Response:
        """Send a request until the server answers it, and return the answer: 2xx or 304.

        `receive` reads the body of a good answer, from its beginning at each attempt. `content` is what httpx2 takes:
        `json`, `params`, `data`, `files`, `content`. Raises ClientError if the server refuses, or if all attempts fail.
        """
        sent = {**(new_key() if method == POST else {}), **(headers or {})}
        waits = iter(self._patience.waits())
        while True:
            answer, trouble = self._attempt(method, path, receive, {"headers": sent, **content})
            if answer is not None and (answer.is_success or answer.status_code == HTTPStatus.NOT_MODIFIED):
                return answer
            wait = next(waits, None)
            if wait is None or (answer is not None and not _is_busy(answer)):
                raise error_of(answer) if answer is not None else ClientError(trouble)
            self.retries += 1
            self._retried(trouble)
            self._pause(max(wait, _retry_after(answer)))

    def _attempt(
        self, method: str, path: str, receive: Receiver, content: Mapping[str, Any]
    ) -> tuple[httpx2.Response | None, str]:
        try:
            with self.http.stream(method, path, **content) as answer:
                read = receive if answer.is_success else httpx2.Response.read
                read(answer)
        except httpx2.TransportError as error:
            return None, f"no answer ({type(error).__name__})"
        return answer, "" if answer.is_success else str(error_of(answer))


def new_key() -> dict[str, str]:
    """Return the header that identifies a request and its retries."""
    return {"Idempotency-Key": str(uuid.uuid4())}


def object_of(answer: httpx2.Response) -> dict[str, Any]:
    """Return the JSON object of an answer. Raises ClientError for anything else."""
    try:
        found = answer.json()
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ClientError("the answer is no JSON object: is this the right address?")
    return found


def error_of(answer: httpx2.Response) -> ClientError:
    """Return the error that the answer describes."""
    status = answer.status_code
    try:
        told = answer.json()["error"]
        return ClientError(
            f"HTTP {status}: {told['message']}",
            status=status,
            code=told.get("code") or "",
            hint=told.get("hint") or "",
            rows=told.get("rows"),
        )
    except (ValueError, KeyError, TypeError):
        return ClientError(f"HTTP {status}", status=status)


def _is_busy(answer: httpx2.Response) -> bool:
    return answer.status_code == HTTPStatus.TOO_MANY_REQUESTS or answer.status_code >= 500


def _retry_after(answer: httpx2.Response | None) -> float:
    """Return the seconds of a Retry-After header; 0 without one, or for a date, which our server does not send."""
    header = "" if answer is None else answer.headers.get("Retry-After", "")
    return float(header) if header.isdecimal() else 0.0
