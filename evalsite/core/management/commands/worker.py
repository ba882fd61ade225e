"""`manage.py worker`: the worker process of the embedded form (started by `serve`)."""

import os
import signal
import threading
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import connection

from evalsite.core.migration_history import pending_refuse
from evalsite.core.supervisor import follow_parent
from evalsite.core.worker import work_apart_until, work_until


class Command(BaseCommand):
    help = "The worker process of the embedded form; `serve` starts and watches it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--apart", action="store_true", help="answer what people ask, and end when nobody asks")

    def handle(self, *args: Any, apart: bool, **options: Any) -> None:
        pending_refuse(connection)
        follow_parent()
        if apart:  # inherits the niceness; a signal ends it at once, and its job is restarted
            work_apart_until(threading.Event())
            return
        stop = threading.Event()

        def ask(number: int, frame: FrameType | None) -> None:
            stop.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, ask)
        os.nice(settings.WORKER_NICE)  # a fit must not slow down pages
        work_until(stop)
