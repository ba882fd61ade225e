"""Simulated people who chat in a live campaign through the public HTTP API, as the chat page does.

Each person runs in a thread: begins a conversation, sends messages from the demonstration's prompts, polls until the
replies are released, judges each turn (`turn_judging`), and ends with a rating. It ends after some conversations, so
that a demonstration that runs for days costs little.
"""

import random
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx2

from evalsite.client.retries import ClientError
from evalsite.demo.annotators import JsonObject, SimulatedAnnotator
from evalsite.demo.api_session import GONE, ApiSession, StopRequested
from evalsite.demo.client import ClientEvent, Drive, Report
from evalsite.demo.truth import DemoPrompt
from evalsite.demo.turn_judging import rating_of, reply_qualities, turn_answers

POLL_S = 0.5  # as often as the chat page asks at least
MORE_TURNS = 3  # at most, beyond the minimum
WRITING_PAUSES = 3.0  # pauses of a verdict that writing a message takes
WAIT_S = 5.0  # before the next attempt to begin a conversation
MOST_CONVERSATIONS = 30  # of a person


@dataclass(frozen=True, slots=True)
class Chats:
    """The conversations of one person. `ended` says why there are no more."""

    annotator: str
    conversations: int
    turns: int
    ended: str


def run_chatters(
    people: Sequence[SimulatedAnnotator],
    drive: Drive,
    prompts: Sequence[DemoPrompt],
    *,
    stop: threading.Event,
    report: Report,
    conversations: int = MOST_CONVERSATIONS,
) -> tuple[Chats, ...]:
    """Let all people chat, and return when each has ended. An interruption sets `stop`."""
    with ThreadPoolExecutor(max_workers=max(len(people), 1), thread_name_prefix="chatter") as pool:
        try:
            runs = [
                pool.submit(run_chatter, one, drive, prompts, stop=stop, report=report, conversations=conversations)
                for one in people
            ]
            return tuple(run.result() for run in runs)
        except BaseException:
            stop.set()
            raise


def run_chatter(
    person: SimulatedAnnotator,
    drive: Drive,
    prompts: Sequence[DemoPrompt],
    *,
    stop: threading.Event,
    report: Report,
    conversations: int = MOST_CONVERSATIONS,
) -> Chats:
    """Let one person chat until the campaign has stopped, the event is set, or the server refuses."""
    with httpx2.Client(base_url=drive.base_url, timeout=drive.timeout_s, trust_env=False) as http:
        chatter = _Chatter(person, drive, prompts, http, stop, report)
        try:
            ended = chatter.work(conversations)
        except StopRequested:
            ended = "asked to stop"
        except ClientError as error:
            ended = f"gave up: {error}"
        chatter.leave()
    report(ClientEvent(person.name, "ended", ended))
    return Chats(person.name, chatter.conversations, chatter.turns, ended)


class _Chatter:
    def __init__(
        self,
        person: SimulatedAnnotator,
        drive: Drive,
        prompts: Sequence[DemoPrompt],
        http: httpx2.Client,
        stop: threading.Event,
        report: Report,
    ) -> None:
        self.conversations = self.turns = 0
        self._person, self._drive, self._report = person, drive, report
        self._messages = [prompt.turns[-1]["text"] for prompt in prompts]
        self._api = ApiSession(
            http, drive.patience, stop, lambda trouble: report(ClientEvent(person.name, "retried", trouble))
        )
        self._rng = random.Random(f"{drive.seed}/chat/{person.name}")  # noqa: S311  (a simulation, no secret)
        self._open = ""  # address of the open conversation

    def work(self, conversations: int) -> str:
        """Join and chat. Return why it ended."""
        self._report(ClientEvent(self._person.name, "enrolled", self._api.enrol(self._drive.campaign)))
        while self.conversations < conversations:
            started = self._api.send(f"/api/v1/campaigns/{self._drive.campaign}/conversations", {})
            if started["conversation"] is None:
                if started["refusal"] in {"stopped", "limit", "excluded"}:
                    return str(started["refusal"])
                self._report(ClientEvent(self._person.name, "waiting", f"{started['refusal']}: {started['hint']}"))
                self._api.wait(WAIT_S)
                continue
            self._open = f"/api/v1/conversations/{started['conversation']['id']}"
            try:
                self._chat(started["conversation"])
            except ClientError as error:
                if error.status not in GONE:
                    raise
                self._report(ClientEvent(self._person.name, "lost", str(error)))
                self.leave()
            self.conversations += 1
        return "has chatted enough"

    def leave(self) -> None:
        """Leave the open conversation in one attempt. Without it, the conversation would end by its age."""
        if self._open:
            self._api.part(f"{self._open}/departure")
            self._open = ""

    def _chat(self, conversation: JsonObject) -> None:
        """Chat until the conversation has its turns, or cannot go on."""
        planned = conversation["minimum_turns"] + self._rng.randint(0, MORE_TURNS)
        best: list[float] = []
        while conversation["state"] == "open":
            turn = conversation["turn"]
            if turn is None:
                enough = conversation["turns_done"] >= planned or not conversation["can_send"]
                if enough and conversation["can_end"]:
                    self._end(conversation, best)
                    break
                if not conversation["can_send"]:
                    self.leave()
                    return
                conversation = self._say()
            elif turn["state"] == "waiting":
                conversation = self._await()
            else:
                best.append(max(reply_qualities(self._person, conversation).values()))
                conversation = self._judge(conversation)
        self._open = ""

    def _say(self) -> dict[str, Any]:
        text = self._rng.choice(self._messages)
        self._pause(WRITING_PAUSES)
        return self._api.send(f"{self._open}/messages", {"text": text})

    def _await(self) -> dict[str, Any]:
        """Poll until the conversation has changed and its replies are released, or the turn is void."""
        etag = ""
        while True:
            self._api.wait(POLL_S)
            read, etag = self._api.read(self._open, etag)
            if read is not None and (read["turn"] is None or read["turn"]["state"] != "waiting"):
                return read

    def _judge(self, conversation: JsonObject) -> dict[str, Any]:
        number = conversation["turn"]["number"]
        body = turn_answers(self._person, conversation, self._rng)
        self._pause(1.0)
        judged = self._api.send(f"{self._open}/turns/{number}/judgment", body)
        self.turns += 1
        self._report(ClientEvent(self._person.name, "judged", str(number)))
        return judged

    def _end(self, conversation: JsonObject, best: Sequence[float]) -> None:
        body = {"rating": rating_of(best)} if conversation["asks_rating"] else {}
        self._api.send(f"{self._open}/end", body)

    def _pause(self, times: float) -> None:
        self._api.wait(self._rng.expovariate(1.0) * self._drive.pause_s * times)
