"""Annotators as load: persistent connections, as many requests as go (saturation) or as many as come (offered)."""

from __future__ import annotations

import heapq
import http.client
import json
import random
import statistics
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

TIMEOUT_S = 30
EMPTY = "nothing to claim"
EMPTY_PAUSE_S = 0.05  # before an annotator who was given nothing asks again


@dataclass
class Measured:
    """Seconds that each request took, by kind; what else came back, by status; `lasted_s`: of the whole phase."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    other: Counter[str] = field(default_factory=Counter)
    lasted_s: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, kind: str, seconds: float) -> None:
        with self._lock:
            self.seconds.setdefault(kind, []).append(seconds)

    def trouble(self, what: str) -> None:
        with self._lock:
            self.other[what] += 1

    def count(self, *kinds: str) -> int:
        return sum(len(self.seconds.get(kind, ())) for kind in kinds)

    def rate(self, *kinds: str) -> float:
        """Requests of these kinds a second."""
        return self.count(*kinds) / self.lasted_s

    def quantile(self, share: float, *kinds: str) -> float:
        """Milliseconds within which this share of the requests was answered; nan without any."""
        together = sorted(one for kind in kinds for one in self.seconds.get(kind, ()))
        return 1000 * together[min(len(together) - 1, int(share * len(together)))] if together else float("nan")


class Line:
    """One persistent connection, with the token of whoever speaks."""

    def __init__(self, port: int) -> None:
        self.http = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)

    def post(self, path: str, body: dict[str, Any], token: str = "") -> tuple[int, Any]:
        """Status and JSON. Raises OSError or HTTPException where no answer came; the next one connects anew."""
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        try:
            self.http.request("POST", path, json.dumps(body), headers)
            response = self.http.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException):
            self.http.close()
            raise
        return response.status, json.loads(text)


@dataclass
class Judge:
    """An annotator: a token, and what is held."""

    token: str
    campaign: str
    block: int
    rng: random.Random
    held: list[dict[str, Any]] = field(default_factory=list)

    def claim(self, line: Line, measured: Measured, began: float | None = None) -> None:
        began = began or time.perf_counter()
        status, body = line.post(f"/api/v1/campaigns/{self.campaign}/claims", {"count": self.block}, self.token)
        if status != 200:
            measured.trouble(f"claim {status}")
            return
        measured.note("claim", time.perf_counter() - began)
        self.held = body["assignments"]
        if not self.held:
            measured.trouble(EMPTY)

    def answer(self, line: Line, measured: Measured, began: float | None = None) -> None:
        began = began or time.perf_counter()
        assignment = self.held.pop()
        answers = [{"aspect": one["key"], "choice": self.rng.choice(("A", "B"))} for one in assignment["aspects"]]
        path = f"/api/v1/assignments/{assignment['id']}/judgment"
        status, _ = line.post(path, {"answers": answers, "client_ms": 3000}, self.token)
        if status == 201:
            measured.note("answer", time.perf_counter() - began)
        else:
            measured.trouble(f"answer {status}")


def enrol(port: int, campaign: str, count: int, *, block: int, seed: int = 0) -> list[Judge]:
    line = Line(port)
    judges = []
    for n in range(count):
        status, body = line.post("/api/v1/annotators", {"campaign": campaign, "kind": "simulated"})
        if status != 201:
            raise RuntimeError(f"an annotator was not admitted: {status} {body}")
        judges.append(Judge(body["token"], campaign, block, random.Random(seed * 100_003 + n)))
    return judges


def saturate(port: int, judges: Sequence[Judge], seconds: float) -> Measured:
    """Each claims and answers without a pause, on a connection of their own."""

    def work(judge: Judge, line: Line, measured: Measured) -> None:
        if judge.held:
            judge.answer(line, measured)
            return
        judge.claim(line, measured)
        if not judge.held:
            time.sleep(EMPTY_PAUSE_S)

    return _side_by_side(port, judges, seconds, work)


def saturate_bare(port: int, judges: Sequence[Judge], seconds: float) -> Measured:
    """As many connections at the bare view."""

    def work(judge: Judge, line: Line, measured: Measured) -> None:
        began = time.perf_counter()
        status, _ = line.post("/bare", {"key": uuid.uuid4().hex, "choice": "A"}, judge.token)
        if status == 201:
            measured.note("bare", time.perf_counter() - began)
        else:
            measured.trouble(f"bare {status}")

    return _side_by_side(port, judges, seconds, work)


def _side_by_side(
    port: int, judges: Sequence[Judge], seconds: float, work: Callable[[Judge, Line, Measured], None]
) -> Measured:
    measured, began = Measured(), time.perf_counter()

    def loop(judge: Judge) -> None:
        line = Line(port)
        while time.perf_counter() - began < seconds:
            try:
                work(judge, line, measured)
            except (OSError, http.client.HTTPException) as error:
                measured.trouble(type(error).__name__)
        line.http.close()

    _run_all([threading.Thread(target=loop, args=(judge,)) for judge in judges])
    measured.lasted_s = time.perf_counter() - began
    return measured


def offered(port: int, judges: Sequence[Judge], *, pause_s: float, seconds: float, lines: int = 64) -> Measured:
    """Each answers when their time has come, whatever became of the others: an open loop.

    An answer's time counts from when it was due, so a server that is behind is not asked less (coordinated omission).
    The claim of the next block follows the last answer of a block and counts from itself.
    """
    measured, began = Measured(), time.perf_counter()
    due = [(began + judge.rng.expovariate(1 / pause_s), n) for n, judge in enumerate(judges)]
    heapq.heapify(due)
    lock = threading.Lock()

    def loop() -> None:
        line = Line(port)
        while True:
            with lock:
                if not due or due[0][0] > began + seconds:
                    break
                when, n = heapq.heappop(due)
            judge = judges[n]
            time.sleep(max(0.0, when - time.perf_counter()))
            try:
                if judge.held:
                    judge.answer(line, measured, when)
                if not judge.held:
                    judge.claim(line, measured)
            except (OSError, http.client.HTTPException) as error:
                measured.trouble(type(error).__name__)
            with lock:
                heapq.heappush(due, (when + judge.rng.expovariate(1 / pause_s), n))
        line.http.close()

    _run_all([threading.Thread(target=loop) for _ in range(lines)])
    measured.lasted_s = time.perf_counter() - began
    return measured


def _run_all(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Watch:
    """Asks for the public board again and again: when each number of judgments was first seen on it."""

    def __init__(self, port: int, board: str, every_s: float = 0.1) -> None:
        self.seen: list[tuple[float, int]] = []  # wall clock, judgments
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, args=(port, board, every_s))

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self, port: int, board: str, every_s: float) -> None:
        etag, http_ = "", http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
        while not self._stop.wait(every_s):
            try:
                http_.request("GET", f"/api/v1/boards/{board}", headers={"If-None-Match": etag} if etag else {})
                response = http_.getresponse()
                text = response.read()
            except (OSError, http.client.HTTPException):
                http_.close()
                continue
            if response.status == 200:
                etag = response.headers.get("ETag", "")
                snapshot = json.loads(text)["snapshot"]
                if snapshot:
                    self.seen.append((time.time(), int(snapshot["judgments"])))
        http_.close()

    def delays(self, closings: Sequence[tuple[float, int]]) -> list[float]:
        """Seconds from each closing (wall clock, judgments that count by then) to the first board with all of them."""
        found = []
        for closed, judgments in closings:
            later = [at for at, shown in self.seen if shown >= judgments]
            if later:
                found.append(max(0.0, later[0] - closed))
        return found


def median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else float("nan")
