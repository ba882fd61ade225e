"""`manage.py web`: the web process of the embedded form (started by `serve`)."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from evalsite.core.supervisor import follow_parent


class Command(BaseCommand):
    help = "The web process of the embedded form; `serve` starts and watches it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)

    def handle(self, *args: Any, host: str, port: int, **options: Any) -> None:
        from granian import Granian
        from granian.constants import Interfaces
        from granian.log import LogLevels

        follow_parent()
        # One process, eight threads: SQLite has one writer, and threads share its lock (core.db).
        Granian(
            "evalsite.wsgi:application",
            address=host,
            port=port,
            interface=Interfaces.WSGI,
            workers=1,
            blocking_threads=8,
            log_level=LogLevels.error,
            workers_kill_timeout=5,
        ).serve()
