"""`manage.py simulate_annotators`: a panel of simulated annotators who judge through the HTTP API."""

import signal
import threading
import time
from argparse import ArgumentTypeError
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

import httpx2
from django.core.management.base import BaseCommand, CommandError, CommandParser

from evalsite.core.supervisor import follow_parent
from evalsite.core.terminal import shown
from evalsite.demo.annotators import panel
from evalsite.demo.chatting import Chats, run_chatters
from evalsite.demo.client import PEOPLE, ClientEvent, Drive, RunSummary, run_panel
from evalsite.demo.services import LIVE_SLUG, SEED, SLUG
from evalsite.demo.truth import SimulatedTruth, load_prompts

GAVE_UP = "gave up"
MOST_ANNOTATORS = 1000
SLOWEST, FASTEST = 0.001, 1000.0
LONGEST_WAIT_S = 86_400.0
WAITS_TOLD = 30  # In total, for errors that usually pass.
PASSING = ("planning", "seen_all", "budget", "running", "stopped")
QUIET_S = 3.0  # A site that is starting gets this long without a message.


class Command(BaseCommand):
    help = (
        "Let simulated annotators judge the demonstration's chatbots through the HTTP API until it stops, and "
        "simulated people chat in its live campaign."
    )
    requires_system_checks = ()
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--url", type=address, default="http://127.0.0.1:8000", help="address of the service")
        parser.add_argument("--campaign", default=SLUG, help="slug or public id")
        parser.add_argument("--count", type=nobody_or_how_many, default=12, help="annotators")
        parser.add_argument("--chat-campaign", default=LIVE_SLUG, help="live campaign: slug or public id")
        parser.add_argument("--chatters", type=nobody_or_how_many, default=0, help="people who chat in it")
        parser.add_argument("--seed", type=int, default=SEED)
        parser.add_argument("--speed", type=speed, default=1.0, help="2 judges twice as fast (mean pause 1 s / speed)")
        parser.add_argument(
            "--fast-start",
            type=how_many,
            help="number of verdicts after which each slows down to a quarter of the speed",
        )
        parser.add_argument("--wait", type=seconds, default=90.0, help="seconds to wait for a site that is starting")

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["count"] and not options["chatters"]:
            raise CommandError("argument --count: 0 needs people who chat. Set --chatters, or a number from 1.")
        self._waits: Counter[str] = Counter()
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
            fast_start=options["fast_start"],
        )
        self._wait_for(drive.base_url, options["wait"], stop)
        prompts = load_prompts()
        truth = SimulatedTruth.of(prompts)
        live = replace(drive, campaign=options["chat_campaign"])
        chatters = panel(options["chatters"], options["seed"], truth) if options["chatters"] else ()
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="chatters") as pool:
            chatting = pool.submit(run_chatters, chatters, live, prompts, stop=stop, report=self._report)
            members = panel(options["count"], options["seed"], truth) if options["count"] else ()
            try:
                summary = run_panel(members, drive, stop=stop, report=self._report)
            except BaseException:
                stop.set()
                raise
            if members:
                self._tell(summary)
            chats = chatting.result()
        self._tell_chats(chats)
        reasons = [*(one.ended for one in summary.tallies), *(one.ended for one in chats)]
        gave_up = Counter(reason for reason in reasons if reason.startswith(GAVE_UP))
        if reasons and gave_up.total() == len(reasons):
            ((ended, _),) = gave_up.most_common(1)
            raise CommandError(f"Every annotator {ended.rstrip('.')}. Check --url and --campaign.")

    def _wait_for(self, url: str, within_s: float, stop: threading.Event) -> None:
        """Wait until the site responds, because it may be started together with its annotators."""
        begun, reported = time.monotonic(), False
        with httpx2.Client(base_url=url, timeout=5.0, trust_env=False) as http:
            while not stop.is_set():
                try:
                    http.get("/livez")
                    return
                except httpx2.TransportError as error:
                    trouble = str(error) or type(error).__name__
                waited = time.monotonic() - begun
                if waited >= within_s:
                    raise CommandError(f"{url} does not respond ({trouble}). Start the site, or set --url.")
                if waited >= QUIET_S and not reported:
                    self.stderr.write(f"{url} does not respond yet. Waiting for {within_s:g} s at most.")
                    reported = True
                stop.wait(0.25)

    def _report(self, event: ClientEvent) -> None:
        if event.what == "ended" and event.detail.startswith(GAVE_UP):
            self.stderr.write(shown(f"{event.annotator} {event.detail}"))
        elif event.what == "waiting":
            self._report_wait(event.detail)

    def _report_wait(self, why: str) -> None:
        """Report each reason once.

        Report it at once if time does not help, else after all annotators have waited for a while.
        """
        self._waits[why] += 1
        least = WAITS_TOLD if why.startswith(PASSING) else 1
        if self._waits[why] == least:
            self.stderr.write(shown(f"An annotator waits ({why.rstrip('.')})."))

    def _tell_chats(self, chats: Sequence[Chats]) -> None:
        if chats:
            turns, held = sum(one.turns for one in chats), sum(one.conversations for one in chats)
            self.stdout.write(f"Simulated people judged {turns:,} turns of {held:,} conversations.")

    def _tell(self, summary: RunSummary) -> None:
        kinds = Counter(tally.kind for tally in summary.tallies)
        panel_text = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        self.stdout.write(f"Simulated annotators gave {summary.judgments:,} judgments ({panel_text}).")


def address(text: str) -> str:
    try:
        parts = urlsplit(text)
        whole = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:  # An invalid port, or an unclosed bracket.
        whole = False
    if not whole:
        raise ArgumentTypeError(f"{text!r} is not an address such as http://127.0.0.1:8000")
    return text


def how_many(text: str) -> int:
    count = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
    if not 1 <= count <= MOST_ANNOTATORS:
        raise ArgumentTypeError(f"{text!r} is not a number from 1 to {MOST_ANNOTATORS:,}")
    return count


def nobody_or_how_many(text: str) -> int:
    return 0 if text == "0" else how_many(text)


def speed(text: str) -> float:
    return _between(text, SLOWEST, FASTEST)


def seconds(text: str) -> float:
    return _between(text, 0.0, LONGEST_WAIT_S)


def _between(text: str, low: float, high: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = low - 1.0
    if not low <= value <= high:  # Also rejects NaN.
        raise ArgumentTypeError(f"{text!r} is not a number from {low:g} to {high:g}")
    return value
