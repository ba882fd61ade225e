"""`manage.py web`: the web process of the embedded form (started by `serve`)."""

import os
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import connection

from evalsite.core.migration_history import pending_refuse
from evalsite.core.supervisor import follow_parent

THREADS = 8


class Command(BaseCommand):
    help = "The web process of the embedded form; `serve` starts and watches it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)

    def handle(self, *args: Any, host: str, port: int, **options: Any) -> None:
        from granian import Granian
        from granian.constants import Interfaces
        from granian.log import LogLevels

        pending_refuse(connection)
        follow_parent()
        # One process with eight threads: SQLite has one writer, and threads share its lock (core.db). A ninth thread
        # answers /livez while all eight wait for the database (core.http).
        os.environ["TOUCHSTONE_WORKING_THREADS"] = str(THREADS)
        Granian(
            "evalsite.wsgi:application",
            address=host,
            port=port,
            interface=Interfaces.WSGI,
            workers=1,
            blocking_threads=THREADS + 1,
            log_level=LogLevels.error,
            workers_kill_timeout=5,
        ).serve()
