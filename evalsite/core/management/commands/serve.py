"""`manage.py serve`: run the whole service on one machine, without a broker or a second service."""

import socket
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from evalsite.core import env
from evalsite.core.supervisor import Child, sole_supervisor, supervise
from evalsite.core.terminal import BAD_INPUT

WILDCARDS = {"0.0.0.0", "::"}  # noqa: S104  allowed values of --host


def serving_children(host: str, port: int) -> list[Child]:
    """Return the processes of the embedded form. An explicit host name is added to the allowed hosts."""
    allowed = [*settings.ALLOWED_HOSTS, *([] if host in WILDCARDS else [in_address(host)])]
    address = {"SITE_URL": site_url(host, port)}
    environment = {"ALLOWED_HOSTS": ",".join(allowed), **address}
    web = Child("web", ("web", "--host", host, "--port", str(port)), environment)
    metrics = [Child("metrics", ("metrics",))] if settings.METRICS_LISTEN else []
    caller = Child("caller", ("call_endpoints",), address)
    return [web, Child("worker", ("worker",), address), caller, *metrics]


def site_url(host: str, port: int) -> str:
    """Return the address for links and mails: the configured one, or the one that is served here."""
    if env.text("SITE_URL") or env.names("ALLOWED_HOSTS"):
        return str(settings.SITE_URL)
    return f"http://{in_address(host)}:{port}"


def site_url_set(host: str, port: int) -> str:
    """Return a warning about an unconfigured site address, which may lead nowhere; links in mails use it."""
    address = site_url(host, port)
    said = f"Mails, invitations and previews lead to {address}/"
    if env.text("SITE_URL"):
        return f"{said} (SITE_URL)"
    name = urlsplit(address)
    if name.scheme != "https":
        return f"{said} (SITE_URL sets another address)"
    return (
        f"{said}: that answers only behind a proxy for https. "
        f"Where there is none, set SITE_URL=http://{name.netloc}:{port} and start again."
    )


def in_address(host: str) -> str:
    """Return the host in the form of a URL: a wildcard is this machine, IPv6 has brackets."""
    if host in WILDCARDS:
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def check_host(host: str) -> None:
    """Raise CommandError for a wildcard without allowed hosts: every visitor would be refused without a reason."""
    if host in WILDCARDS and not env.names("ALLOWED_HOSTS"):
        raise CommandError(
            f"{host} listens on every address, so it needs allowed names. Set ALLOWED_HOSTS=name,... and try again.",
            returncode=BAD_INPUT,
        )


def check_port(host: str, port: int) -> None:
    """Raise CommandError if the address is in use, before any process starts."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            message = f"{host}:{port} cannot be used ({error.strerror}). Choose another port."
            raise CommandError(message, returncode=BAD_INPUT) from error


class Command(BaseCommand):
    help = "Serve the embedded form: one supervisor, processes for web, work and calls, SQLite, no broker."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
        parser.add_argument("--port", type=int, default=8000)

    def handle(self, *args: Any, host: str, port: int, **options: Any) -> None:
        if settings.PRODUCTION:
            raise CommandError("DATABASE_URL is set: in the production form run granian and celery (docs/operator.md).")
        check_host(host)
        with sole_supervisor(settings.DATA_DIR):
            check_port(host, port)
            call_command("migrate", verbosity=0, interactive=False)
            self.stdout.write(f"Touchstone serves http://{in_address(host)}:{port}/ (Ctrl-C ends it)")
            self.stdout.write(site_url_set(host, port))
            call_command("setup_link", site=site_url(host, port), if_needed=True, stdout=self.stdout)
            self.stdout.flush()  # a log file or a pipe is written late otherwise
            supervise(serving_children(host, port))
