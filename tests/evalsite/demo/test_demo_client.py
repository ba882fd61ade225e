"""The client of the simulated annotators, against a small real HTTP server that keeps the API's contract."""

import json
import signal
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from evalsite.client.retries import Patience
from evalsite.demo.annotators import AnnotatorKind, SimulatedAnnotator, panel
from evalsite.demo.bots import BOTS
from evalsite.demo.client import ClientEvent, Drive, Habits, run_annotator, run_panel
from evalsite.demo.management.commands import simulate_annotators
from evalsite.demo.truth import SimulatedTruth, load_prompts
from tests.processes import free_port

PROMPTS = load_prompts()
TRUTH = SimulatedTruth.of(PROMPTS)
QUICK = Patience(first_s=0.01, most_s=0.02, attempts=6)


@dataclass
class Campaign:
    """What the server knows. `faults`: (path ending, fault) that strike once each, in order."""

    places: int = 12
    faults: list[tuple[str, str]] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    issued: dict[str, str] = field(default_factory=dict)
    judged: dict[str, dict[str, Any]] = field(default_factory=dict)
    bodies: dict[str, list[bytes]] = field(default_factory=dict)
    keys: dict[str, set[str]] = field(default_factory=dict)
    given_back: dict[str, str] = field(default_factory=dict)
    idle_claims: int = 0
    forever: bool = False
    kept_off: int = 0  # claims that a qualification stands before
    lock: threading.Lock = field(default_factory=threading.Lock)

    def fault_for(self, path: str) -> str:
        if self.faults and path.endswith(self.faults[0][0]):
            return self.faults.pop(0)[1]
        return ""

    def answer(self, path: str, token: str, raw: bytes, key: str) -> tuple[int, dict[str, Any]]:
        body = json.loads(raw)
        self.keys.setdefault(key, set()).add(f"{path} {raw!r}")
        if path == "/api/v1/annotators":
            assert body == {"campaign": "demo", "kind": "simulated", "consent": True}
            self.tokens.add(name := str(uuid.uuid4()))
            return 201, {"annotator": str(uuid.uuid4()), "token": name}
        if token.removeprefix("Bearer ") not in self.tokens:
            return 401, {"error": {"code": "no_token", "message": "Who are you?", "hint": "", "field": None}}
        if path == "/api/v1/campaigns/demo/claims":
            return 200, self.claim(token, body["count"])
        if path.endswith("/returns"):
            held = [one for one, owner in self.issued.items() if owner == token and one not in self.closed]
            self.given_back.update(dict.fromkeys(held, "returned"))
            return 200, {"returned": len(held)}
        if path.endswith("/skip"):
            self.given_back[path.split("/")[-2]] = body["reason"]
            return 200, {"skipped": path.split("/")[-2]}
        return self.record(path.split("/")[-2], token, body, raw)

    @property
    def closed(self) -> set[str]:
        return {*self.judged, *self.given_back}

    def claim(self, token: str, count: int) -> dict[str, Any]:
        if self.kept_off > 0:
            self.kept_off -= 1
            why = {"reason": "qualification", "hint": "Answer the items first."}
            return {"assignments": [], "campaign": {"state": "running", "retry_after_s": 0.01, **why}}
        state = "stopped" if len(self.closed) >= self.places and not self.forever else "running"
        fresh = [str(uuid.uuid4()) for _ in range(min(count, self.places - len(self.issued)))]
        self.issued.update(dict.fromkeys(fresh, token))
        self.idle_claims += not fresh
        tasks = [task(key, len(self.issued) + at) for at, key in enumerate(fresh)]
        return {"assignments": tasks, "campaign": {"state": state, "retry_after_s": 0.01}}

    def record(self, key: str, token: str, body: dict[str, Any], raw: bytes) -> tuple[int, dict[str, Any]]:
        assert self.issued[key] == token
        self.bodies.setdefault(key, []).append(raw)
        assert key not in self.given_back
        known = self.judged.setdefault(key, {**body, "judgment": str(uuid.uuid4())})
        if "supersedes" in body:
            assert body["supersedes"] == known["judgment"]
            return 201, {"judgment": str(uuid.uuid4())}
        return 201, {"judgment": known["judgment"]}


def task(key: str, number: int) -> dict[str, Any]:
    prompt = PROMPTS[number % len(PROMPTS)]
    a, b = BOTS[number % 8], BOTS[(number + 3) % 8]
    return {
        "id": key,
        "lease_until": "2030-01-01T00:00:00Z",
        "context": {"prompt": prompt.prompt_id, "category": prompt.category, "turns": list(prompt.turns)},
        "candidates": [
            {"position": 0, "label": "A", "text": a.reply(prompt.turns)},
            {"position": 1, "label": "B", "text": b.reply(prompt.turns)},
        ],
        "aspects": [
            {
                "key": "overall",
                "question": "?",
                "kind": "choose_one",
                "choices": ["A", "tie", "B", "both_bad"],
            }
        ],
    }


class Handler(BaseHTTPRequestHandler):
    """Plays the faults: "drop" loses the request, "drop-after" the reply; a number is a status."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet for head and body: without it each reply waits 40 ms for an acknowledgement
    campaign: Campaign

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        with self.campaign.lock:
            fault = self.campaign.fault_for(self.path)
            if fault == "drop":
                self.close_connection = True
                return
            if fault.isdecimal():
                error = {"code": "fault", "message": "Not now.", "hint": "", "field": None}
                self.send(int(fault), json.dumps({"error": error}))
                return
            token, key = self.headers.get("Authorization", ""), self.headers.get("Idempotency-Key", "")
            status, answer = self.campaign.answer(self.path, token, raw, key)
        if fault == "drop-after":
            self.close_connection = True
            return
        self.send(status, "<html>" if fault == "garbage" else json.dumps(answer))

    def send(self, status: int, text: str) -> None:
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        if status == 429:
            self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: the test's own output is enough."""


@dataclass
class Stage:
    campaign: Campaign
    drive: Drive
    stop: threading.Event = field(default_factory=threading.Event)
    events: list[ClientEvent] = field(default_factory=list)

    def run(self, count: int = 1) -> list[str]:
        summary = run_panel(panel(count, 1, TRUTH), self.drive, stop=self.stop, report=self.events.append)
        self.summary = summary
        return [tally.ended for tally in summary.tallies]


@pytest.fixture
def stage() -> Iterator[Stage]:
    campaign = Campaign()
    handler = type("BoundHandler", (Handler,), {"campaign": campaign})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    yield Stage(campaign, Drive(address, "demo", block=3, pause_s=0.0, patience=QUICK))
    server.shutdown()
    thread.join()
    server.server_close()


def test_one_annotator_judges_until_the_campaign_has_stopped(stage: Stage) -> None:
    assert stage.run() == ["the campaign has stopped"]
    assert stage.summary.judgments == len(stage.campaign.judged) == 12
    assert Counter(event.what for event in stage.events) == {"enrolled": 1, "judged": 12, "ended": 1}


def test_several_share_the_work_and_nobody_judges_twice(stage: Stage) -> None:
    stage.campaign.places = 40
    stage.run(5)
    assert stage.summary.judgments == len(stage.campaign.judged) == 40
    assert len(stage.campaign.tokens) == 5
    assert all(len(bodies) == 1 for bodies in stage.campaign.bodies.values())


def test_a_dropped_connection_and_a_busy_server_cost_nothing(stage: Stage) -> None:
    stage.campaign.faults = [
        ("annotators", "503"),
        ("claims", "drop"),
        ("judgment", "503"),
        ("judgment", "429"),
    ]
    assert stage.run() == ["the campaign has stopped"]
    assert len(stage.campaign.judged) == 12
    assert stage.summary.tallies[0].retries == 4


def test_after_a_lost_reply_the_very_same_answer_is_sent_again(stage: Stage) -> None:
    stage.campaign.faults = [("judgment", "drop-after")]
    stage.run()
    repeated = [bodies for bodies in stage.campaign.bodies.values() if len(bodies) > 1]
    assert len(repeated) == 1
    assert len(set(repeated[0])) == 1
    assert stage.summary.judgments == 12
    assert all(len(requests) == 1 for requests in stage.campaign.keys.values()), "one key, one request"


def test_each_request_has_a_key_of_its_own_and_each_judgment_a_receipt(stage: Stage) -> None:
    stage.run()
    keyed = [requests for key, requests in stage.campaign.keys.items() if key]
    assert len(keyed) == 1 + 4 + 12 + 1 + 1, "enrolment, claims with work, answers, a claim without, the goodbye"
    receipts = {event.receipt.assignment: event.receipt for event in stage.events if event.receipt}
    assert {key: receipt.judgment for key, receipt in receipts.items()} == {
        key: body["judgment"] for key, body in stage.campaign.judged.items()
    }


def test_by_its_habits_it_skips_takes_back_and_leaves_blocks_unfinished(stage: Stage) -> None:
    stage.campaign.places = 60
    stage.drive = replace(stage.drive, habits=Habits(undo=0.3, skip=0.3, leave=0.3))
    assert stage.run() == ["the campaign has stopped"]
    (tally,) = stage.summary.tallies
    assert tally.judgments == len(stage.campaign.judged)
    reasons = Counter(stage.campaign.given_back.values())
    assert tally.skipped == reasons["cannot_judge"] > 0
    assert reasons["returned"] > 0
    taken_back = [event.receipt for event in stage.events if event.what == "taken back" and event.receipt]
    assert len(taken_back) == tally.taken_back > 0
    assert all(receipt.supersedes for receipt in taken_back)


def test_what_was_sent_into_the_dark_is_said_to_be_unsure(stage: Stage) -> None:
    stage.campaign.faults = [("judgment", "drop-after")] * QUICK.attempts
    stage.run()
    (unsure,) = [event.receipt for event in stage.events if event.what == "unsure"]
    assert unsure is not None
    assert unsure.judgment is None
    assert unsure.assignment in stage.campaign.judged


def test_a_judgment_names_the_question_the_choice_and_the_time(stage: Stage) -> None:
    stage.run()
    assert stage.campaign.judged
    for body in stage.campaign.judged.values():
        assert set(body) == {"answers", "client_ms", "judgment"}
        assert [answer["aspect"] for answer in body["answers"]] == ["overall"]
        assert body["answers"][0]["choice"] in {"A", "tie", "B", "both_bad"}
        assert body["client_ms"] >= 0


def test_a_lost_lease_costs_one_assignment_only(stage: Stage) -> None:
    stage.campaign.places, stage.campaign.faults = 3, [("judgment", "409")]
    stage.campaign.judged["elsewhere"] = {}
    assert stage.run() == ["the campaign has stopped"]
    assert (stage.summary.tallies[0].lost, stage.summary.judgments) == (1, 2)


def test_a_refusal_ends_this_annotator_and_says_why(stage: Stage) -> None:
    stage.campaign.faults = [("claims", "403")]
    assert stage.run() == ["gave up: HTTP 403: Not now."]


def test_an_answer_that_is_no_json_is_named_as_such(stage: Stage) -> None:
    stage.campaign.faults = [("annotators", "garbage")]
    assert stage.run() == ["gave up: the answer is no JSON object: is this the right address?"]


def test_a_server_that_stays_away_is_given_up(stage: Stage) -> None:
    stage.campaign.faults = [("claims", "drop")] * QUICK.attempts
    (ended,) = stage.run()
    assert ended.startswith("gave up: no answer")
    assert stage.summary.tallies[0].retries == QUICK.attempts - 1


def test_it_waits_while_there_is_nothing_to_do_and_ends_when_it_is_asked_to(stage: Stage) -> None:
    stage.campaign.forever = True

    def stop_after_a_while(event: ClientEvent) -> None:
        stage.events.append(event)
        if stage.campaign.idle_claims >= 3:
            stage.stop.set()

    annotator = SimulatedAnnotator("bob", AnnotatorKind.CAREFUL, TRUTH)
    tally = run_annotator(annotator, stage.drive, stop=stage.stop, report=stop_after_a_while)
    assert tally.ended == "asked to stop"
    assert tally.judgments == 12
    assert [event.what for event in stage.events].count("waiting") == 3


def test_a_fault_in_the_watcher_stops_everybody_and_is_not_hidden(stage: Stage) -> None:
    stage.campaign.forever = True

    def broken(event: ClientEvent) -> None:
        if event.what == "judged":
            raise RuntimeError("the screen is gone")

    with pytest.raises(RuntimeError, match="the screen is gone"):
        run_panel(panel(3, 1, TRUTH), stage.drive, stop=stage.stop, report=broken)
    assert stage.stop.is_set()


def test_texts_of_unknown_origin_are_counted_as_guesses(stage: Stage) -> None:
    stranger = SimulatedTruth.of(PROMPTS[:1], BOTS[:1])
    members = panel(1, 1, stranger)
    summary = run_panel(members, stage.drive, stop=stage.stop, report=stage.events.append)
    assert summary.tallies[0].guessed == summary.judgments == 12


def test_the_waits_grow_up_to_a_bound() -> None:
    assert list(Patience(first_s=1, factor=2, most_s=5, attempts=5).waits()) == [1, 2, 4, 5]


@pytest.fixture
def own_signals() -> Iterator[None]:
    """The command takes SIGINT and SIGTERM for itself; here they are given back."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    "wrong",
    [
        *(("--count", value) for value in ("0", "-3", "x", "100000")),
        *(("--speed", value) for value in ("0", "-1", "nan", "inf", "1e-300", "x")),
        *(("--wait", value) for value in ("-1", "nan", "x")),
        *(("--url", value) for value in ("nonsense", "ftp://x", "http://", "http://[", "http://x:99999999", "")),
    ],
)
def test_the_command_refuses_what_nobody_could_judge_by(wrong: tuple[str, str]) -> None:
    with pytest.raises(CommandError, match=f"argument {wrong[0]}"):
        call_command("simulate_annotators", f"{wrong[0]}={wrong[1]}")


@pytest.mark.parametrize("wrong", ["--speed=0", "--annotators=-3"])
def test_they_are_refused_before_a_demonstration_begins(wrong: str) -> None:
    with pytest.raises(CommandError, match=f"argument {wrong.partition('=')[0]}"):
        call_command("demo", wrong)


@pytest.fixture
def told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulate_annotators, "QUIET_S", 0.0)


@pytest.mark.usefixtures("own_signals", "told_at_once")
def test_the_command_waits_for_a_site_for_a_while_and_says_so() -> None:
    url, said = f"http://127.0.0.1:{free_port()}", StringIO()
    with pytest.raises(CommandError, match=f"{url} does not respond"):
        call_command("simulate_annotators", f"--url={url}", "--wait=0.3", stderr=said)
    assert said.getvalue() == f"{url} does not respond yet. Waiting for 0.3 s at most.\n"


@pytest.mark.usefixtures("own_signals", "told_at_once")
def test_a_site_that_comes_while_it_is_waited_for_is_judged_at() -> None:
    campaign, said, out = Campaign(places=4), StringIO(), StringIO()
    port = free_port()

    def serve_later() -> None:
        while "does not respond yet" not in said.getvalue():
            time.sleep(0.01)
        server = ThreadingHTTPServer(("127.0.0.1", port), type("BoundHandler", (Handler,), {"campaign": campaign}))
        server.daemon_threads = True
        with server:
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            ended.wait()
            server.shutdown()

    ended = threading.Event()
    thread = threading.Thread(target=serve_later, daemon=True)
    thread.start()
    where = (f"--url=http://127.0.0.1:{port}", "--campaign=demo", "--count=2", "--speed=1000")
    call_command("simulate_annotators", *where, stdout=out, stderr=said)
    ended.set()
    thread.join()
    assert out.getvalue().startswith("Simulated annotators gave ")
    assert len(campaign.closed) == campaign.places


def verdicts(stage: Stage, seed: int) -> list[str]:
    """What one annotator says and skips, in the order in which the site gives its assignments: the same each time."""
    stage.campaign.__init__(places=60)  # type: ignore[misc]
    where = (f"--url={stage.drive.base_url}", "--campaign=demo", "--count=1", "--speed=1000", f"--seed={seed}")
    call_command("simulate_annotators", *where, stdout=StringIO(), stderr=StringIO())
    said = {key: body["answers"][0]["choice"] for key, body in stage.campaign.judged.items()}
    return [said.get(key) or stage.campaign.given_back[key] for key in stage.campaign.issued]


@pytest.mark.usefixtures("own_signals")
def test_the_same_seed_judges_the_same_assignments_alike_and_another_does_not(stage: Stage) -> None:
    first, again, other = (verdicts(stage, seed) for seed in (7, 7, 8))
    assert len(first) == len(other) == 60
    assert first == again
    assert first != other


def test_the_command_fails_where_every_annotator_is_refused_and_not_where_one_is(
    stage: Stage, own_signals: None
) -> None:
    where = (f"--url={stage.drive.base_url}", "--campaign=demo", "--count=2", "--speed=1000")
    stage.campaign.faults = [("/annotators", "404")]
    call_command("simulate_annotators", *where, stdout=StringIO(), stderr=StringIO())
    stage.campaign.faults = [("/annotators", "404")] * 2
    with pytest.raises(CommandError, match=r"Every annotator gave up: HTTP 404: Not now\. Check") as refused:
        call_command("simulate_annotators", *where, stdout=StringIO(), stderr=StringIO())
    assert "--campaign" in str(refused.value)


def test_the_command_says_why_annotators_wait_once(stage: Stage, own_signals: None) -> None:
    stage.campaign.kept_off, told = 5, StringIO()
    where = (f"--url={stage.drive.base_url}", "--campaign=demo", "--count=2", "--speed=1000")
    call_command("simulate_annotators", *where, stdout=StringIO(), stderr=told)
    assert told.getvalue() == "An annotator waits (qualification: Answer the items first).\n"


def test_after_a_fast_start_annotators_slow_down_to_a_human_pace() -> None:
    drive = Drive("http://localhost", "demo", pause_s=0.5, fast_start=25)
    assert [drive.pause_after(given) for given in (0, 24, 25, 900)] == [0.5, 0.5, 2.0, 2.0]
    assert replace(drive, fast_start=None).pause_after(900) == 0.5
