"""`manage.py simulate_annotators`: a panel of simulated people who judge through the real HTTP API."""

import signal
import threading
from collections import Counter
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from evalsite.core.supervisor import follow_parent
from evalsite.demo.annotators import panel
from evalsite.demo.client import PEOPLE, Drive, Event, Summary, run_panel
from evalsite.demo.services import SEED, SLUG
from evalsite.demo.truth import Truth, load_prompts


class Command(BaseCommand):
    help = "Let simulated annotators judge the demonstration's chatbots through the HTTP API until it stops."
    requires_system_checks = ()
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--url", default="http://127.0.0.1:8000", help="where the service answers")
        parser.add_argument("--campaign", default=SLUG, help="slug or public id")
        parser.add_argument("--count", type=int, default=12, help="annotators")
        parser.add_argument("--seed", type=int, default=SEED)
        parser.add_argument("--speed", type=float, default=1.0, help="2 judges twice as fast (mean pause 1 s / speed)")

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()

        def ask(number: int, frame: FrameType | None) -> None:
            stop.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, ask)
        follow_parent()
        drive = Drive(
            base_url=options["url"],
            campaign=options["campaign"],
            pause_s=1.0 / options["speed"],
            seed=options["seed"],
            habits=PEOPLE,
        )
        members = panel(options["count"], options["seed"], Truth.of(load_prompts()))
        summary = run_panel(members, drive, stop=stop, report=self._report)
        self._tell(summary)

    def _report(self, event: Event) -> None:
        if event.what == "ended" and event.detail.startswith("gave up"):
            self.stderr.write(f"{event.annotator} {event.detail}")

    def _tell(self, summary: Summary) -> None:
        kinds = Counter(tally.kind for tally in summary.tallies)
        panel_text = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        self.stdout.write(f"Simulated annotators gave {summary.judgments:,} judgments ({panel_text}).")
