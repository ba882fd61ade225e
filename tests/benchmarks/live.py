"""`python -m tests.benchmarks.live`: 50 simulated people chat at once, on a site of either form.

    python -m tests.benchmarks.live [--form embedded|production] [--people 50] [--turns 10] [--kills 10]

*Release*: from the last byte of a turn's last call until its replies are released, by the site's own times. *Polls*:
how long a client that asks every 400 ms, as the page does, waits from one question to the next. *Other pages*: a reader
opens the home page, the board and its API ten times a second, before and while people chat. *Kills*: web, caller and
worker are killed with SIGKILL in turn, so many times each, while people chat; then every conversation must have ended
with all its turns, each turn judged once, each reply by one recorded call.

People, chat server, database and site share this machine; the load average stands beside the numbers.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import environment  # before Django reads its settings

from .load_traffic import Measured
from .report import Check, conclude, say

POLL_S, MOST_BETWEEN_POLLS_MS = 0.4, 500
MOST_RELEASE_MS, MOST_BY_CHAT = 300, 1.5
PAGES_A_SECOND = 10
PAGES = ("/", "/boards/chat/", "/api/v1/boards/chat")
LATENCY_S = 0.5  # of a chatbot
ATTEMPTS = 80  # of a request, while parts of the site are killed


@dataclass(frozen=True, slots=True)
class LivePlan:
    """How many people, turns of each conversation, and kills of each part."""

    people: int = 50
    turns: int = 10
    kills: int = 10
    pause_s: float = 3.0
    pages_s: float = 30.0


@dataclass
class LiveFound:
    """What was measured of one form."""

    form: str
    release_ms: float = math.nan
    poll_ms: float = math.nan
    page_ms: float = math.nan
    page_alone_ms: float = math.nan
    turns: int = 0
    faults: Counter[str] = field(default_factory=Counter)

    def checks(self, *, kills: int) -> list[Check]:
        by = self.page_ms / self.page_alone_ms
        lost = sum(self.faults.values())
        killed = f", {kills} kills of each part" if kills else ""
        return [
            Check(f"{self.form}: last byte to release, p95", f"{self.release_ms:.0f} ms", f"<= {MOST_RELEASE_MS} ms",
                  self.release_ms <= MOST_RELEASE_MS),
            Check(f"{self.form}: from poll to poll, p99", f"{self.poll_ms:.0f} ms", f"<= {MOST_BETWEEN_POLLS_MS} ms",
                  self.poll_ms <= MOST_BETWEEN_POLLS_MS),
            Check(f"{self.form}: p99 of other pages, of that without chats", f"{by:.2f}", f"<= {MOST_BY_CHAT}",
                  by <= MOST_BY_CHAT),
            Check(f"{self.form}: turns lost, judged or paid twice{killed}", f"{lost} of {self.turns}", "0",
                  self.turns > 0 and not lost),
        ]  # fmt: skip


class Person:
    """Somebody who chats through the API as the page does: sends, asks every 400 ms, judges, and ends."""

    def __init__(self, url: str, number: int, plan: LivePlan, measured: Measured) -> None:
        import httpx2

        from evalsite.client.retries import Patience
        from evalsite.demo.api_session import ApiSession

        self.rng, self.plan, self.measured = random.Random(number), plan, measured
        http = httpx2.Client(base_url=url, timeout=30, trust_env=False)
        patience = Patience(first_s=0.2, most_s=1.0, attempts=ATTEMPTS)
        self.api = ApiSession(http, patience, threading.Event(), lambda trouble: measured.trouble(trouble[:60]))

    def chat(self) -> None:
        self.api.enrol("chat")
        started = self.api.send("/api/v1/campaigns/chat/conversations", {})["conversation"]
        home, now = f"/api/v1/conversations/{started['id']}", started
        while now["turns_done"] < self.plan.turns:
            if now["turn"] is None:
                self._pause()
                number = now["turns_done"] + 1
                now = self.api.send(f"{home}/messages", {"text": f"What is number {number} about?"})
            elif now["turn"]["state"] == "waiting":
                now = self._await(home)
            else:
                self._pause()
                answer = {"aspect": now["turn"]["aspects"][0]["key"], "choice": self.rng.choice("AB")}
                now = self.api.send(f"{home}/turns/{now['turn']['number']}/judgment", {"answers": [answer]})
        self.api.send(f"{home}/end", {"rating": self.rng.randint(1, 5)})

    def _await(self, home: str) -> dict[str, Any]:
        etag = ""
        while True:
            asked = time.perf_counter()
            time.sleep(POLL_S)
            began = time.perf_counter()
            found, etag = self.api.read(home, etag)
            self.measured.note("poll", time.perf_counter() - began)
            self.measured.note("between polls", max(began - asked, time.perf_counter() - began))
            if found is not None and (found["turn"] is None or found["turn"]["state"] != "waiting"):
                return found

    def _pause(self) -> None:
        time.sleep(self.rng.uniform(0.5, 1.5) * self.plan.pause_s)


def read_pages(url: str, measured: Measured, kind: str, stop: threading.Event) -> None:
    """Open pages at fixed times until the event is set."""
    import httpx2

    with httpx2.Client(base_url=url, timeout=30, trust_env=False) as http:
        due, number = time.perf_counter(), 0
        while not stop.is_set():
            time.sleep(max(0.0, due - time.perf_counter()))
            began = time.perf_counter()
            status = http.get(PAGES[number % len(PAGES)]).status_code
            measured.note(kind, time.perf_counter() - began)
            if status != 200:
                measured.trouble(f"page {status}")
            due, number = max(due + 1 / PAGES_A_SECOND, time.perf_counter() - 1.0), number + 1


def chat_together(url: str, plan: LivePlan, measured: Measured) -> int:
    """Let all people have one conversation each at once. Return how many came to its end."""

    def one(number: int) -> bool:
        time.sleep(plan.pause_s * number / plan.people)
        try:
            Person(url, number, plan, measured).chat()
        except Exception as error:  # noqa: BLE001  counted, and shown
            measured.trouble(f"gave up: {error}"[:120])
            return False
        return True

    with ThreadPoolExecutor(plan.people) as pool:
        return sum(pool.map(one, range(plan.people)))


def measure(form: str, plan: LivePlan, folder: Path) -> LiveFound:
    """Make a site, let people chat there, hurt it, and look what is stored."""
    from .live_sites import SITES, chat_server  # models: only once Django is set up

    found, site = LiveFound(form), SITES[form](folder)
    try:
        with chat_server(LATENCY_S) as address:
            site.address, site.minimum_turns = address, plan.turns
            site.fill()
            site.start()
            site.wait_until_ready()
            _chat(site, plan, found)
            if plan.kills:
                _kill(site, plan, found)
    finally:
        site.end()
    return found


def _chat(site: Any, plan: LivePlan, found: LiveFound) -> None:
    measured = Measured()
    _pages(site, measured, "warm", 2.0)
    _pages(site, measured, "alone", plan.pages_s)
    stop = threading.Event()
    reader = threading.Thread(target=read_pages, args=(site.url, measured, "beside", stop))
    reader.start()
    began = time.time()
    ended = chat_together(site.url, plan, measured)
    lasted = time.time() - began
    stop.set()
    reader.join()
    releases = release_times(site)
    found.release_ms = quantile(releases, 0.95)
    found.poll_ms = measured.quantile(0.99, "between polls")
    found.page_alone_ms, found.page_ms = measured.quantile(0.99, "alone"), measured.quantile(0.99, "beside")
    _look(site, plan, found, conversations=plan.people, ended=ended)
    say(
        f"  {found.form}: {plan.people} people, {len(releases)} released turns in {lasted:.0f} s; release p50 "
        f"{quantile(releases, 0.5):.0f}, p95 {found.release_ms:.0f}, p99 {quantile(releases, 0.99):.0f} ms; polls p50 "
        f"{measured.quantile(0.5, 'poll'):.0f}, p99 {measured.quantile(0.99, 'poll'):.0f} ms; other pages p99 "
        f"{found.page_alone_ms:.0f} ms before, {found.page_ms:.0f} ms beside; load {os.getloadavg()[0]:.1f}"
    )
    say("".join(f"    {count} x {what}\n" for what, count in measured.other.most_common(5)).rstrip())


def _pages(site: Any, measured: Measured, kind: str, seconds: float) -> None:
    stop = threading.Event()
    reader = threading.Thread(target=read_pages, args=(site.url, measured, kind, stop))
    reader.start()
    time.sleep(seconds)
    stop.set()
    reader.join()


def _kill(site: Any, plan: LivePlan, found: LiveFound) -> None:
    """Kill each part so many times, one after another, as long as people chat."""
    from .live_sites import PARTS

    measured, done, kills = Measured(), threading.Event(), Counter[str]()

    def hurt() -> None:
        for number in range(plan.kills * len(PARTS)):
            if done.wait(1.0):
                return
            part = PARTS[number % len(PARTS)]
            site.replace(part)
            kills[part] += 1

    killer = threading.Thread(target=hurt)
    killer.start()
    rounds = ended = 0
    while killer.is_alive() or not rounds:
        ended += chat_together(site.url, plan, measured)
        rounds += 1
    done.set()
    killer.join()
    _look(site, plan, found, conversations=plan.people * (rounds + 1), ended=ended + plan.people)
    told = ", ".join(f"{part} {count}" for part, count in kills.items())
    say(f"  {found.form}: killed {told}; {ended} of {plan.people * rounds} conversations came to their end")
    say("".join(f"    {count} x {what}\n" for what, count in measured.other.most_common(5)).rstrip())
    if min((kills[part] for part in PARTS), default=0) < plan.kills:
        found.faults["parts that were not killed often enough"] += 1


def release_times(site: Any) -> list[float]:
    """Milliseconds from the last byte of each released turn's last call until its release."""
    from django.db.models import Max, Q

    from evalsite.dialogues.models import Turn

    with site.inside():
        last = Max("replies__request__calls__ended_at", filter=Q(replies__position__isnull=False))
        rows = Turn.objects.filter(assignment__isnull=False, replies__position__isnull=False).annotate(last=last)
        times = rows.exclude(last=None).values_list("released_at", "last")
        return [1000 * (released - ended).total_seconds() for released, ended in times if released]


def _look(site: Any, plan: LivePlan, found: LiveFound, *, conversations: int, ended: int) -> None:
    """Count what is missing in the database, or there twice."""
    from django.db.models import Count, Q

    from evalsite.dialogues.models import Conversation, Turn, TurnReply

    with site.inside():
        talks = Conversation.objects.annotate(done=Count("turns", filter=~Q(turns__state__in=Turn.OPEN)))
        turns = Turn.objects.annotate(judgments=Count("assignment__judgments"))
        calls = Count("request__calls", filter=Q(request__calls__error_class=""))
        came = TurnReply.objects.filter(state=TurnReply.State.CAME).annotate(calls=calls)
        found.turns = Turn.objects.count()
        found.faults = Counter({
            "conversations that did not come to their end": conversations - ended,
            "conversations without all their turns": talks.filter(Q(done__lt=plan.turns) | ~Q(state="ended")).count(),
            "turns judged twice": turns.filter(judgments__gt=1).count(),
            "judged turns without a judgment": turns.filter(state=Turn.State.JUDGED, judgments=0).count(),
            "replies of several recorded calls": came.exclude(calls=1).count(),
        })  # fmt: skip
        void = Turn.objects.filter(state=Turn.State.VOID).count()
    say("".join(f"    {count} {what}\n" for what, count in found.faults.items() if count) + f"    {void} void turns")


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which this share lies; nan of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else math.nan


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="live", description="People who chat at once on a site of either form.")
    parser.add_argument("--form", choices=["embedded", "production"], action="append", help="default: both")
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--turns", type=int, default=10, help="of each conversation")
    parser.add_argument("--kills", type=int, default=10, help="of web, caller and worker each")
    options = parser.parse_args(arguments)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
    import django

    django.setup()
    plan, checks = LivePlan(options.people, options.turns, options.kills), []
    try:
        for form in options.form or ["embedded", "production"]:
            with tempfile.TemporaryDirectory() as folder:
                checks += measure(form, plan, Path(folder)).checks(kills=plan.kills)
    finally:
        environment.pytest_unconfigure()
    return conclude(f"{plan.people} people who chat at once", checks)


if __name__ == "__main__":
    sys.exit(main())
