"""`manage.py worker`: the worker process of the embedded form (started by `serve`)."""

import os
import signal
import threading
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import connection

from evalsite.core.squashed import pending_refuse
from evalsite.core.supervisor import follow_parent
from evalsite.core.worker import work_until


class Command(BaseCommand):
    help = "The worker process of the embedded form; `serve` starts and watches it."

    def handle(self, *args: Any, **options: Any) -> None:
        pending_refuse(connection)
        stop = threading.Event()

        def ask(number: int, frame: FrameType | None) -> None:
            stop.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, ask)
        os.nice(settings.WORKER_NICE)  # a fit must never slow down a page
        follow_parent()
        work_until(stop)
