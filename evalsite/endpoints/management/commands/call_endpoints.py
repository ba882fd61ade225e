"""`manage.py call_endpoints`: the process that calls endpoints of chatbots."""

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
from evalsite.core.tasks import owner
from evalsite.core.worker import process_alive
from evalsite.endpoints.caller import Caller
from evalsite.endpoints.queue import leases_release


class Command(BaseCommand):
    help = "Call the endpoints of chatbots. `serve` starts one; any number of them may run on one database."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--slots", type=int, default=settings.CALLER_SLOTS, help="most calls at once (default: %(default)s)"
        )

    def handle(self, *args: Any, slots: int, **options: Any) -> None:
        pending_refuse(connection)
        follow_parent()
        stop = threading.Event()

        def ask(number: int, frame: FrameType | None) -> None:
            stop.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, ask)
        os.nice(min(10, settings.WORKER_NICE))  # collecting thousands of replies must not slow down pages
        name = owner()
        leases_release(host=name.rpartition(":")[0], alive=process_alive)
        Caller(owner=name, slots=max(1, slots)).run_until(stop)
        connection.close()
        os._exit(0)  # calls that have not ended must not hold up the exit; the next caller takes them over
