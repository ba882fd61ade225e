"""Guarded HTTP requests to addresses that strangers choose: endpoints of chatbots, and webhooks.

The host is resolved once, every answer is checked, and the connection goes to a checked address. Redirects, proxies of
the environment and compressed bodies are not followed, used or read. One deadline covers everything: a server that
sends a byte a second gains nothing.
"""

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

import httpcore2
import httpx2
from django.utils import timezone

from evalsite.core.addresses import (
    OWN_HEADERS,
    AddressParts,
    Network,
    OutboundError,
    allowed_networks,
    check_all,
    target_of,
)

Resolver = Callable[[str, int, float], Sequence[str]]
"""(host, port, seconds) -> addresses as text. Raises OSError if there are none, TimeoutError if it takes longer."""

MAX_BYTES = 2_000_000
MAX_HEADER_BYTES = 200_000
MAX_PIECES = 20_000
"""Reads, and chunks, of one response. More come only from a server that wants to keep our processor busy."""


@dataclass(frozen=True, slots=True)
class Response:
    """A complete response. The names of `headers` are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    first_byte_at: datetime


def post(
    url: str,
    *,
    headers: Mapping[str, str],
    body: bytes,
    timeout_s: float,
    max_bytes: int = MAX_BYTES,
    resolver: Resolver | None = None,
    networks: Sequence[Network] | None = None,
    tls: ssl.SSLContext | None = None,
) -> Response:
    """Send the body to the address and return the response, whatever its status but a redirect.

    Blocks for at most `timeout_s` seconds. `networks` are those where private addresses and http are allowed; the
    operator's by default. Raises OutboundError.
    """
    exchange = _Exchange(timeout_s, max_bytes)
    allowed = allowed_networks() if networks is None else networks
    target = target_of(url, allowed)
    addresses = check_all(target, _resolved(target, exchange, resolver or system_resolver), allowed)
    request = httpcore2.Request("POST", _url(target), headers=_headers(target, headers, body), content=body)
    origin = httpcore2.Origin(target.scheme.encode(), target.host.encode(), target.port)
    backend = _PinnedBackend(addresses, exchange)
    context = (tls or _tls()) if target.scheme == "https" else None
    with httpcore2.HTTPConnection(origin, ssl_context=context, network_backend=backend) as connection:
        return exchange.run(connection, request)


def system_resolver(host: str, port: int, timeout_s: float) -> Sequence[str]:
    """Look the host up as the operating system does. A thread waits, since the system's function has no timeout."""
    answers: list[Sequence[str] | OSError] = []

    def look_up() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            answers.append([str(address[0]) for *_, address in found])
        except OSError as error:
            answers.append(error)
        except UnicodeError as error:  # a part of the name is too long
            answers.append(OSError(str(error)))

    thread = threading.Thread(target=look_up, name="resolver", daemon=True)
    thread.start()
    thread.join(timeout_s)
    if not answers:
        raise TimeoutError
    if isinstance(answers[0], OSError):
        raise answers[0]
    return answers[0]


def _resolved(target: AddressParts, exchange: "_Exchange", resolver: Resolver) -> Sequence[str]:
    try:
        return resolver(target.host, target.port, exchange.remaining())
    except TimeoutError:
        raise exchange.timeout() from None
    except OSError:
        raise OutboundError("unresolved", f"No server was found under the name {target.host}.") from None


def _headers(target: AddressParts, headers: Mapping[str, str], body: bytes) -> list[tuple[bytes, bytes]]:
    sent = {name: value for name, value in headers.items() if name.lower() not in OWN_HEADERS}
    own = {"Host": target.authority, **sent, "Content-Length": str(len(body)), "Connection": "close"}
    try:
        return [(name.encode("ascii"), value.encode("latin-1")) for name, value in own.items()]
    except UnicodeEncodeError:
        raise OutboundError("protocol", "A header holds characters that HTTP does not allow.") from None


def _url(target: AddressParts) -> httpcore2.URL:
    return httpcore2.URL(
        scheme=target.scheme.encode(), host=target.host.encode(), port=target.port, target=target.path.encode()
    )


@cache
def _tls() -> ssl.SSLContext:
    return httpx2.create_ssl_context(trust_env=False)


class _Exchange:
    """One request and its response: the deadline, the size, and how far it came."""

    def __init__(self, timeout_s: float, max_bytes: int) -> None:
        self._timeout_s = timeout_s
        self._deadline = time.monotonic() + timeout_s
        self._max_bytes = max_bytes
        self._received = 0
        self._reads = 0
        self._stage = "resolving the host name"
        self._ended = False
        self.first_byte_at: datetime | None = None
        self.status: int | None = None

    def remaining(self) -> float:
        """Return the seconds that are left. Raises OutboundError if there are none."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise self.timeout()
        return left

    def stage(self, name: str) -> None:
        self._stage = name

    def timeout(self) -> OutboundError:
        return self.error("timeout", f"No complete response within {self._timeout_s:g} s (while {self._stage}).")

    def error(self, kind: str, detail: str) -> OutboundError:
        return OutboundError(kind, detail, status=self.status, first_byte_at=self.first_byte_at)

    def received(self, data: bytes) -> None:
        """Count what arrived. Raises OutboundError if it is too much, headers and chunk sizes included."""
        self._ended = self._ended or not data
        if data and self.first_byte_at is None:
            self.first_byte_at = timezone.now()
            self._stage = "reading the response"
        self._received += len(data)
        self._reads += 1
        body = 0 if self.status is None else 2 * self._max_bytes
        if self._received > body + MAX_HEADER_BYTES or self._reads > MAX_PIECES:
            raise self.too_large()

    def too_large(self) -> OutboundError:
        return self.error("too_large", f"The response has more than {self._max_bytes:,} bytes, or too many pieces.")

    def run(self, connection: httpcore2.HTTPConnection, request: httpcore2.Request) -> Response:
        try:
            response = connection.handle_request(request)
            try:
                return self._read(response)
            finally:
                response.close()
        except httpcore2.TimeoutException:
            raise self.timeout() from None
        except httpcore2.LocalProtocolError:  # its text quotes the header
            raise self.error("protocol", "A header is not valid in HTTP.") from None
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            if self._ended or not isinstance(error, httpcore2.ProtocolError):
                raise self.error(
                    "connect", "The server closed the connection before its response was complete."
                ) from None
            raise self.error("protocol", "The server does not answer in HTTP.") from None

    def _read(self, response: httpcore2.Response) -> Response:
        self.status = response.status
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
        self._check(headers)
        body = bytearray()
        for number, part in enumerate(response.iter_stream()):
            body += part
            self.remaining()  # many small chunks arrive in one read
            if len(body) > self._max_bytes or number > MAX_PIECES:
                raise self.too_large()
        return Response(response.status, headers, bytes(body), self.first_byte_at or timezone.now())

    def _check(self, headers: Mapping[str, str]) -> None:
        """Raise OutboundError for a response that is not worth reading."""
        status = self.status or 0
        if status < 200:
            raise self.error("protocol", "The server asks for another protocol than HTTP.")
        if 300 <= status < 400:
            raise self.error("redirect", f"The server redirects (status {status}).")
        if headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
            raise self.error("encoded", "The response is compressed, although no compression was asked for.")
        length = headers.get("content-length", "")
        if length.isascii() and length.isdigit() and int(length) > self._max_bytes:
            raise self.too_large()


class _PinnedBackend(httpcore2.NetworkBackend):
    """Connects to the checked addresses, in their order, wherever the name of the host leads meanwhile."""

    def __init__(self, addresses: Sequence[str], exchange: _Exchange) -> None:
        self._addresses = addresses
        self._exchange = exchange
        self._inner = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        self._exchange.stage("connecting")
        for waiting in range(len(self._addresses), 0, -1):
            share = self._exchange.remaining() / waiting  # one silent address does not use up the time of the others
            with contextlib.suppress(httpcore2.ConnectError, httpcore2.ConnectTimeout):
                return _TimedStream(self._inner.connect_tcp(self._addresses[-waiting], port, share), self._exchange)
        self._exchange.remaining()
        raise self._exchange.error("connect", "The server does not accept connections.")


class _TimedStream(httpcore2.NetworkStream):
    """A connection whose every step has the time that is left, and that counts what arrives."""

    def __init__(self, inner: httpcore2.NetworkStream, exchange: _Exchange) -> None:
        self._inner = inner
        self._exchange = exchange

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = self._inner.read(max_bytes, self._exchange.remaining())
        self._exchange.received(data)
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._exchange.stage("waiting for the response")
        self._inner.write(buffer, self._exchange.remaining())

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        try:
            inner = self._inner.start_tls(ssl_context, server_hostname, self._exchange.remaining())
        except httpcore2.ConnectError as error:
            cause = error.__cause__
            reason = cause.verify_message if isinstance(cause, ssl.SSLCertVerificationError) else "no agreement on TLS"
            raise self._exchange.error("tls", f"The secure connection failed: {reason}.") from None
        return _TimedStream(inner, self._exchange)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
