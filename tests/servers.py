"""Small TCP servers that behave as badly as a test asks, on this machine."""

import contextlib
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from evalsite.core.addresses import Network

LOCAL: Sequence[Network] = (ipaddress.ip_network("127.0.0.0/8"),)
Behaviour = Callable[[socket.socket, threading.Event], None]
"""What a server does with a connection after the request's headers were read. The event is set when the test ends."""


@dataclass
class RawServer:
    """A running server. `requests` holds what was received, `names` the host names asked for by TLS."""

    port: int
    requests: list[bytes] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/chat"


@contextlib.contextmanager
def raw_server(behaviour: Behaviour, *, tls: ssl.SSLContext | None = None) -> Iterator[RawServer]:
    """Serve every connection in a thread of its own."""
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = RawServer(listener.getsockname()[1])
        if tls is not None:
            tls.sni_callback = lambda _socket, name, _context: server.names.append(name)

        def serve(connection: socket.socket) -> None:
            with contextlib.suppress(OSError), connection:
                wrapped = tls.wrap_socket(connection, server_side=True) if tls else connection
                with wrapped:
                    server.requests.append(read_request(wrapped))
                    behaviour(wrapped, ended)

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    threading.Thread(target=serve, args=(connection,), daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            ended.set()
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def read_request(connection: socket.socket) -> bytes:
    """Return a request with its body, or the beginning of a TLS handshake."""
    data = b""
    while b"\r\n\r\n" not in data and data[:1] != b"\x16" and (more := connection.recv(65_536)):
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    while lengths and len(body) < int(lengths[0]) and (more := connection.recv(65_536)):
        body += more
    return head + b"\r\n\r\n" + body


def response(body: bytes, *, status: int = 200, headers: Sequence[str] = ()) -> bytes:
    """Return a complete response of HTTP/1.1."""
    lines = [f"HTTP/1.1 {status} Status", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


def sends(*parts: bytes, pause_s: float = 0.0) -> Behaviour:
    """Send the parts one after another, and close the connection."""

    def behave(connection: socket.socket, ended: threading.Event) -> None:
        for part in parts:
            connection.sendall(part)
            if pause_s and ended.wait(pause_s):
                return

    return behave


def hangs(connection: socket.socket, ended: threading.Event) -> None:
    """Say nothing until the test ends."""
    ended.wait()
