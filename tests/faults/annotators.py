"""The annotators who judge while a site is hurt, and their own book of what was confirmed to them."""

import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from evalsite.client.retries import Patience
from evalsite.demo.annotators import panel
from evalsite.demo.client import ClientEvent, Drive, Habits, Receipt, run_panel
from evalsite.demo.services import SLUG
from evalsite.demo.truth import SimulatedTruth, load_prompts

# They never give a server up, and knock often.
PATIENT = Patience(first_s=0.1, factor=1.5, most_s=1.0, attempts=10_000)
RESTLESS = Habits(undo=0.1, skip=0.01, leave=0.05)


@dataclass
class Ledger:
    """What the annotators know: judgments that were confirmed, and such as were sent into the dark."""

    confirmed: dict[str, Receipt] = field(default_factory=dict)
    unsure: list[Receipt] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    troubles: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, event: ClientEvent) -> None:
        with self._lock:
            self.counts[event.what] += 1
            if event.what in {"retried", "lost"}:
                self.troubles[event.detail] += 1
            if event.receipt is None:
                return
            if event.receipt.judgment is None:
                self.unsure.append(event.receipt)
            else:
                assert event.receipt.judgment not in self.confirmed, "one judgment was confirmed for two answers"
                self.confirmed[event.receipt.judgment] = event.receipt

    def book(self) -> dict[str, Receipt]:
        """What was confirmed until now."""
        with self._lock:
            return dict(self.confirmed)

    def told(self, status: int) -> int:
        """How often the server answered with this status."""
        with self._lock:
            return sum(count for what, count in self.troubles.items() if f"HTTP {status}" in what)

    @property
    def recorded(self) -> int:
        return len(self.confirmed)


@contextmanager
def judging(url: str, ledger: Ledger, *, count: int = 6, pause_s: float = 0.08) -> Iterator[None]:
    """So many annotators judge meanwhile; at the end each finishes what it is at, and gives back the rest."""
    stop = threading.Event()
    drive = Drive(url, SLUG, block=3, pause_s=pause_s, timeout_s=5.0, patience=PATIENT, habits=RESTLESS)
    failed: list[BaseException] = []

    def work() -> None:
        try:
            run_panel(panel(count, 3, SimulatedTruth.of(load_prompts())), drive, stop=stop, report=ledger.note)
        except BaseException as error:  # noqa: BLE001  raised again below, in the test's own thread
            failed.append(error)

    thread = threading.Thread(target=work, name="panel")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    if failed:
        raise failed[0]
