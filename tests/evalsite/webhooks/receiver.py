"""A receiver of webhooks on this machine that answers as a test asks."""

import socket
import threading
from collections.abc import Sequence

from tests.servers import Behaviour, response


def answers(*statuses: int, body: bytes = b"ok", headers: Sequence[str] = ()) -> Behaviour:
    """Answer one status after another; the last one from then on."""
    left = list(statuses)

    def behave(connection: socket.socket, ended: threading.Event) -> None:
        status = left.pop(0) if len(left) > 1 else left[0]
        connection.sendall(response(body, status=status, headers=headers))

    return behave


def never_ends(connection: socket.socket, ended: threading.Event) -> None:
    """Send a body without an end."""
    connection.sendall(b"HTTP/1.1 500 Status\r\nContent-Type: text/plain\r\n\r\n")
    while not ended.is_set():
        connection.sendall(b"x" * 65_536)


def parts(request: bytes) -> tuple[dict[str, str], str]:
    """Return the headers, by their names in lower case, and the body of a request."""
    head, _, body = request.partition(b"\r\n\r\n")
    pairs = (line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
    return {name.lower(): value for name, value in pairs}, body.decode()
