"""`manage.py metrics`: metrics for Prometheus on a socket of its own, which needs no token."""

import os
import socket
import socketserver
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, InterfaceError, close_old_connections

from evalsite.core.supervisor import follow_parent
from evalsite.operations.service_health import as_metrics, service_health_get
from evalsite.pages.health_views import METRICS_TYPE


class _Metrics(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path.partition("?")[0] != "/metrics":
            self.send_error(404)
            return
        try:
            body = as_metrics(service_health_get()).encode()
        except (DatabaseError, InterfaceError):
            self.send_error(503, "The database does not answer")
            return
        finally:
            close_old_connections()
        self.send_response(200)
        self.send_header("Content-Type", METRICS_TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self) -> str:
        return "metrics"

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, because Prometheus sends a request every few seconds."""


class _Tcp(socketserver.TCPServer):
    allow_reuse_address = True


class _Tcp6(_Tcp):
    address_family = socket.AF_INET6


def listening(address: str) -> socketserver.BaseServer:
    """Return a server on `host:port` or `unix:/path` (0600).

    Raises CommandError for anything else.
    """
    try:
        if address.startswith("unix:"):
            path = Path(address.removeprefix("unix:"))
            if path.is_socket():  # Left by a process that was killed.
                path.unlink()
            before = os.umask(0o177)
            try:
                return socketserver.UnixStreamServer(str(path), _Metrics)
            finally:
                os.umask(before)
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise CommandError(f"{address!r} is not a socket. Use host:port or unix:/path.")
        server = _Tcp6 if ":" in host else _Tcp
        return server((host.strip("[]"), int(port)), _Metrics)
    except OSError as error:
        raise CommandError(f"{address} cannot be used ({error.strerror}). Choose another socket.") from error


class Command(BaseCommand):
    help = "Serve metrics for Prometheus on a socket without a token (TOUCHSTONE_METRICS_LISTEN)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--listen", default=settings.METRICS_LISTEN, help="host:port or unix:/path")

    def handle(self, *args: Any, listen: str, **options: Any) -> None:
        if not listen:
            raise CommandError("No socket is set. Use --listen host:port, or set TOUCHSTONE_METRICS_LISTEN.")
        with listening(listen) as server:
            follow_parent()
            server.serve_forever()
