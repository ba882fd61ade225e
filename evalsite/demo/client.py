"""A client that lets simulated annotators judge through the public HTTP API, as browsers and scripts would.

Each annotator runs in its own thread. It enrols, claims a block and judges one assignment after the other, with pauses.
It continues until the campaign has stopped or the stop event is set, then returns its open assignments. Depending on
its habits, it also undoes answers, skips items, and leaves in the middle of a block.

Requests are retried (`api_session`). An enrolment is the exception to their safety: its key has no owner yet, so a lost
response leaves an unused row.
"""

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal

import httpx2

from evalsite.client.retries import ClientError, Patience
from evalsite.demo.annotators import JsonObject, SimulatedAnnotator
from evalsite.demo.api_session import GONE, ApiSession, StopRequested


@dataclass(frozen=True, slots=True)
class Habits:
    """Probabilities of actions other than answering.

    undo: an answer is undone at once and given again.
    skip: an assignment is returned with a reason.
    leave: a block is left after its first assignment, and the rest is returned.
    """

    undo: float = 0.0
    skip: float = 0.0
    leave: float = 0.0


HUMAN_PACE = 4.0  # Factor of the pause after a fast start.
PEOPLE = Habits(undo=0.02, skip=0.01, leave=0.01)


@dataclass(frozen=True, slots=True)
class Drive:
    """Where and how to judge.

    pause_s: mean of the exponential pause before each verdict, in seconds.
    fast_start: number of verdicts after which an annotator slows down to a human pace; None: never.
    """

    base_url: str
    campaign: str
    block: int = 5
    pause_s: float = 1.0
    seed: int = 0
    timeout_s: float = 15.0
    patience: Patience = field(default_factory=Patience)
    habits: Habits = field(default_factory=Habits)
    fast_start: int | None = None

    def pause_after(self, judgments: int) -> float:
        """Return the mean pause of an annotator who has given this many judgments."""
        settled = self.fast_start is not None and judgments >= self.fast_start
        return self.pause_s * (HUMAN_PACE if settled else 1.0)


@dataclass(frozen=True, slots=True)
class Receipt:
    """A submitted judgment.

    judgment: its ID, as the server confirmed it; None without a response.
    choices: aspect key -> choice.
    supersedes: the ID of the judgment that this one replaces.
    """

    assignment: str
    choices: Mapping[str, str]
    judgment: str | None
    supersedes: str | None = None


What = Literal[
    "enrolled", "judged", "taken back", "skipped", "returned", "lost", "unsure", "waiting", "retried", "ended"
]


@dataclass(frozen=True, slots=True)
class ClientEvent:
    """An event for the person who watches. `report` gets it in the annotator's own thread.

    "judged", "taken back" and "unsure" (sent without confirmation) have a receipt.
    """

    annotator: str
    what: What
    detail: str = ""
    receipt: Receipt | None = None


Report = Callable[[ClientEvent], None]


@dataclass(frozen=True, slots=True)
class SimulatedWork:
    """The work of one annotator.

    guessed: number of verdicts on texts of unknown origin.
    ended: why the annotator stopped.
    """

    annotator: str
    kind: str
    judgments: int
    taken_back: int
    skipped: int
    guessed: int
    lost: int
    retries: int
    ended: str


@dataclass(frozen=True, slots=True)
class RunSummary:
    tallies: tuple[SimulatedWork, ...]

    @property
    def judgments(self) -> int:
        return sum(tally.judgments for tally in self.tallies)


def run_panel(
    panel: Sequence[SimulatedAnnotator], drive: Drive, *, stop: threading.Event, report: Report
) -> RunSummary:
    """Let all annotators judge, and return when each has ended.

    An interruption sets `stop`. If the server refuses an annotator, that annotator ends with the reason; the others
    continue.
    """
    with ThreadPoolExecutor(max_workers=max(len(panel), 1), thread_name_prefix="annotator") as pool:
        try:
            runs = [pool.submit(run_annotator, member, drive, stop=stop, report=report) for member in panel]
            return RunSummary(tuple(run.result() for run in runs))
        except BaseException:
            stop.set()  # Otherwise the pool would wait for the others until the end of the campaign.
            raise


def run_annotator(
    annotator: SimulatedAnnotator, drive: Drive, *, stop: threading.Event, report: Report
) -> SimulatedWork:
    """Let one annotator judge until the campaign has stopped, the event is set, or the server refuses."""
    # trust_env=False: a proxy in the machine's settings would not find a server on localhost.
    with httpx2.Client(base_url=drive.base_url, timeout=drive.timeout_s, trust_env=False) as http:
        session = _Session(annotator, drive, http, stop, report)
        try:
            ended = session.work()
        except StopRequested:
            ended = "asked to stop"
        except ClientError as error:
            ended = f"gave up: {error}"
        session.leave()
    report(ClientEvent(annotator.name, "ended", ended))
    return session.tally(ended)


class _Session:
    """One annotator's session with the server, with its token and its counts."""

    def __init__(
        self,
        annotator: SimulatedAnnotator,
        drive: Drive,
        http: httpx2.Client,
        stop: threading.Event,
        report: Report,
    ) -> None:
        self._annotator, self._drive, self._report = annotator, drive, report
        self._rng = random.Random(f"{drive.seed}/{annotator.name}")  # noqa: S311  (a simulation, no secret)
        self._judgments = self._taken_back = self._skipped = self._guessed = self._lost = 0
        self._api = ApiSession(http, drive.patience, stop, lambda trouble: self._tell("retried", trouble))

    def work(self) -> str:
        """Enrol and judge block after block. Return why it ended."""
        self._enrol()
        while True:
            claimed = self._api.send(f"{self._campaign}/claims", {"count": self._drive.block})
            self._judge_block(claimed["assignments"])
            if claimed["assignments"]:
                continue
            campaign = claimed["campaign"]
            if campaign["state"] == "stopped":
                return "the campaign has stopped"
            self._tell("waiting", _wait_reason(campaign))
            self._api.wait(float(campaign.get("retry_after_s") or 1.0))

    def leave(self) -> None:
        """Return the open assignments in one attempt. Without it, their leases would expire."""
        self._api.part(f"{self._campaign}/returns")

    def tally(self, ended: str) -> SimulatedWork:
        who = self._annotator
        return SimulatedWork(
            who.name,
            who.kind.value,
            judgments=self._judgments,
            taken_back=self._taken_back,
            skipped=self._skipped,
            guessed=self._guessed,
            lost=self._lost,
            retries=self._api.retries,
            ended=ended,
        )

    @property
    def _campaign(self) -> str:
        return f"/api/v1/campaigns/{self._drive.campaign}"

    def _enrol(self) -> None:
        self._tell("enrolled", self._api.enrol(self._drive.campaign))

    def _judge_block(self, block: Sequence[JsonObject]) -> None:
        leaves = bool(block) and self._does(self._drive.habits.leave)
        for assignment in block[:1] if leaves else block:
            self._judge(assignment)
        if leaves:
            self._api.send(f"{self._campaign}/returns", {})
            self._tell("returned", str(len(block) - 1))

    def _judge(self, assignment: JsonObject) -> None:
        habits = self._drive.habits
        try:
            if self._does(habits.skip):
                self._skip(assignment)
                return
            judgment = self._answer(assignment)
            if self._does(habits.undo):
                self._answer(assignment, supersedes=judgment)
        except ClientError as error:
            if error.status not in GONE:
                raise
            self._lost += 1
            self._tell("lost", str(error))

    def _skip(self, assignment: JsonObject) -> None:
        self._api.send(f"/api/v1/assignments/{assignment['id']}/skip", {"reason": "cannot_judge"})
        self._skipped += 1
        self._tell("skipped")

    def _answer(self, assignment: JsonObject, *, supersedes: str | None = None) -> str:
        """Submit an answer, or one that replaces `supersedes`. Return the ID of the judgment."""
        started = time.monotonic()
        answers = self._annotator.answers(assignment, self._rng)
        self._api.wait(self._rng.expovariate(1.0) * self._drive.pause_after(self._judgments))
        # Built once, because a retry must send exactly the same answer.
        body = {"answers": answers, "client_ms": round(1000 * (time.monotonic() - started))}
        if supersedes is not None:
            body["supersedes"] = supersedes
        choices = {answer["aspect"]: answer["choice"] for answer in answers}
        try:
            recorded = self._api.send(f"/api/v1/assignments/{assignment['id']}/judgment", body)
        except (ClientError, StopRequested) as error:
            if getattr(error, "status", None) not in GONE:
                self._tell("unsure", str(error), Receipt(assignment["id"], choices, None, supersedes))
            raise
        judgment = str(recorded["judgment"])
        self._judgments += supersedes is None
        self._taken_back += supersedes is not None
        self._guessed += supersedes is None and not self._annotator.recognises(assignment)
        what: What = "judged" if supersedes is None else "taken back"
        self._tell(what, answers[0]["choice"], Receipt(assignment["id"], choices, judgment, supersedes))
        return judgment

    def _does(self, probability: float) -> bool:
        """Return whether the annotator acts on a habit now. A probability of zero draws no random number."""
        return probability > 0 and self._rng.random() < probability

    def _tell(self, what: What, detail: str = "", receipt: Receipt | None = None) -> None:
        self._report(ClientEvent(self._annotator.name, what, detail, receipt))


def _wait_reason(campaign: JsonObject) -> str:
    """Return the server's reason for an empty block."""
    reason, hint = campaign.get("reason") or campaign["state"], campaign.get("hint", "")
    return f"{reason}: {hint}" if hint else str(reason)
