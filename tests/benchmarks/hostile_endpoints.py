"""`python -m tests.benchmarks.hostile_endpoints`: a good endpoint alone, and then beside ten hostile ones.

A site of its own on SQLite, one caller (a real `manage.py call_endpoints`) and one server, each in a process of its
own. Targets: with the hostile ones at work, the 95 % quantile of the good endpoint's calls and of the waits between
them grows by at most a fifth; and each hostile call ends as documented, within its deadline.

The two measurements alternate, so that other work on the machine concerns both alike.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.benchmarks.collect_replies import KEY, REPLY

if TYPE_CHECKING:
    from evalsite.endpoints.models import Endpoint
    from evalsite.prompts.models import PromptSet

GROWTH, TIMEOUT_S, CONCURRENCY, HOUR = 1.20, 5, 16, 3600
OUTCOMES = {
    "hang": {"timeout"},
    "drip": {"timeout"},
    "large": {"too_large"},
    "endless": {"too_large"},
    "utf8": {"bad_response"},
    "html": {"bad_response"},
    "redirect": {"redirect"},
    "wrongkey": {"unauthorized"},
    "limited": {"rate_limited"},  # and is not called again within the hour
    "nochoice": {"bad_response"},
    "toolcall": {""},
}
"""Kind of endpoint -> the error classes that its calls end with; "" is a reply."""
TOOL = {"model": "t", "choices": [{"message": {"role": "assistant", "tool_calls": [{"id": "1"}]}}]}


ANSWERS = {
    "good": ("200 OK", json.dumps(REPLY).encode(), ""),
    "large": ("200 OK", b"x", ""),
    "redirect": ("302 Found", b"", "Location: http://169.254.169.254/latest/meta-data/\r\n"),
    "limited": ("429 Too Many Requests", b"{}", "Retry-After: 3600\r\n"),
    "wrongkey": ("401 Unauthorized", b"{}", ""),
    "utf8": ("200 OK", b'{"choices": "\xff\xfe"}', ""),
    "html": ("200 OK", b"<html>Hi</html>", ""),
    "nochoice": ("200 OK", b'{"choices": []}', ""),
    "toolcall": ("200 OK", json.dumps(TOOL).encode(), ""),
}


async def behave(kind: str, writer: asyncio.StreamWriter, latency_s: float) -> None:
    """Answer as this kind of endpoint does."""
    if kind in {"drip", "endless"}:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
        while True:  # until the caller leaves
            writer.write(b"x" if kind == "drip" else b"x" * 65536)
            await writer.drain()
            await asyncio.sleep(1 if kind == "drip" else 0)
    await asyncio.sleep({"hang": HOUR, "good": latency_s}.get(kind, 0))
    status, body, more = ANSWERS.get(kind, ("200 OK", b"", ""))
    respond(writer, status, body, more=more, length=100_000_000 if kind == "large" else len(body))


def respond(writer: asyncio.StreamWriter, status: str, body: bytes, *, more: str, length: int) -> None:
    more += f"Connection: close\r\nContent-Length: {length}\r\n"
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{more}"
    writer.write(head.encode() + b"\r\n" + body)


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, latency_s: float) -> None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.split(b":")[1]))
        await behave(head.split(b"/", 2)[1].decode(), writer, latency_s)
        await writer.drain()
    except OSError:  # the caller has left, as it should
        pass
    finally:
        writer.close()


async def serve(latency_s: float) -> None:
    server = await asyncio.start_server(lambda r, w: answer(r, w, latency_s), "127.0.0.1", 0, backlog=512)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


@dataclass(frozen=True)
class Pace:
    """Of the good endpoint in ms: the 95 % quantiles of a call, and of the time from one reply to the next."""

    call_ms: float
    gap_ms: float


def quantile(values: Sequence[float], share: float = 0.95) -> float:
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def pace_of(endpoint: Endpoint) -> Pace:
    calls = list(endpoint.calls.filter(error_class="").order_by("ended_at").values_list("started_at", "ended_at"))
    took = [1000 * (ended - started).total_seconds() for started, ended in calls]
    gaps = [1000 * (calls[n + 1][1] - calls[n][1]).total_seconds() for n in range(len(calls) - 1)]
    return Pace(quantile(took), quantile(gaps))


def register(place: str, kind: str, name: str, concurrency: int) -> Endpoint:
    from evalsite.accounts.models import Organisation
    from evalsite.chatbots.services import chatbot_create
    from evalsite.endpoints.options import EndpointSettings
    from evalsite.endpoints.services import endpoint_register

    chosen = EndpointSettings("openai", f"{place}/{kind}/v1", model="t", concurrency=concurrency, timeout_s=TIMEOUT_S)
    chatbot = chatbot_create(organisation=Organisation.objects.found(name="Benchmark"), name=name)
    return endpoint_register(chatbot=chatbot, label="1", settings=chosen, secret="a-secret-of-benchmarks")


def good_alone(place: str, name: str, prompt_set: PromptSet) -> Endpoint:
    """Collect from a good endpoint, and wait for the end."""
    from evalsite.endpoints.collecting import collection_start

    endpoint = register(place, "good", name, 4)
    collection = collection_start(endpoint=endpoint, prompt_set=prompt_set)
    while collection.state != "complete":
        time.sleep(0.2)
        collection.refresh_from_db()
    return endpoint


def hostile_begin(place: str, number: int, prompt_set: PromptSet) -> list[Endpoint]:
    """Have every kind of hostile endpoint called."""
    from evalsite.endpoints.collecting import collection_start

    made = [register(place, kind, f"{kind} {number}", CONCURRENCY) for kind in OUTCOMES]
    for endpoint in made:
        collection_start(endpoint=endpoint, prompt_set=prompt_set)
    return made


def hostile_end(endpoints: list[Endpoint]) -> None:
    """Stop them, and wait until what runs has ended."""
    from evalsite.endpoints.models import CallRequest
    from evalsite.endpoints.services import endpoint_pause

    for endpoint in endpoints:
        endpoint_pause(endpoint=endpoint)
    while CallRequest.objects.filter(endpoint__in=endpoints, state="running").exists():
        time.sleep(0.2)


def wrong_ends(endpoints: list[Endpoint]) -> list[str]:
    """Return the calls of hostile endpoints that did not end as they should, or too late."""
    found = []
    for endpoint in endpoints:
        kind = endpoint.url.split("/")[3]
        calls = list(endpoint.calls.exclude(error_class="lost").values_list("error_class", "started_at", "ended_at"))
        longest = max(((ended - started).total_seconds() for _, started, ended in calls), default=0.0)
        errors = {error for error, _, _ in calls}
        most = CONCURRENCY if kind == "limited" else len(calls)
        if not 0 < len(calls) <= most or not errors <= OUTCOMES[kind] or longest > TIMEOUT_S + 1:
            found.append(f"{kind}: {len(calls)} calls, {sorted(errors)}, longest {longest:.1f} s")
    return found


def measured(place: str, rounds: int, prompts: int) -> tuple[list[Pace], list[Pace], list[str]]:
    """Return the paces alone and beside the hostile endpoints, and what ended wrongly."""
    from evalsite.accounts.models import Organisation
    from evalsite.prompts.services import NewPrompt, prompt_set_create

    new = [NewPrompt(f"p{n}", [{"speaker": "user", "text": f"Question {n}?"}], "") for n in range(prompts)]
    owner = Organisation.objects.found(name="Benchmark")
    prompt_set = prompt_set_create(organisation=owner, name="Prompts", prompts=new)
    good_alone(place, "Warm-up", prompt_set)
    alone, beside, wrong = [], [], []
    for number in range(rounds):
        alone.append(pace_of(good_alone(place, f"Alone {number}", prompt_set)))
        hostile = hostile_begin(place, number, prompt_set)
        beside.append(pace_of(good_alone(place, f"Beside {number}", prompt_set)))
        hostile_end(hostile)
        wrong += wrong_ends(hostile)
        sys.stdout.write(f"round {number + 1}: alone {alone[-1]}, beside the hostile ones {beside[-1]}\n")
        sys.stdout.flush()
    return alone, beside, wrong


def run(rounds: int, prompts: int, latency_s: float) -> bool:
    """Measure on a site in a temporary folder, and print. Django must not be loaded before."""
    os.environ |= {
        "TOUCHSTONE_DATA_DIR": tempfile.mkdtemp(prefix="touchstone-bench-"),
        "TOUCHSTONE_ENDPOINT_NETWORKS": "127.0.0.0/8",
        "TOUCHSTONE_ENDPOINT_KEYS": KEY,
        "TOUCHSTONE_WORKER_NICE": "0",
        "DJANGO_SETTINGS_MODULE": "evalsite.settings",
    }
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    command = [sys.executable, "-m", "tests.benchmarks.hostile_endpoints", "--serve", str(latency_s)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
        subprocess.Popen([sys.executable, "manage.py", "call_endpoints"]) as caller,
    ):
        try:
            assert server.stdout is not None
            place = f"http://127.0.0.1:{server.stdout.readline().strip()}"
            alone, beside, wrong = measured(place, rounds, prompts)
        finally:
            server.terminate()
            caller.terminate()
    return told(alone, beside, wrong)


def told(alone: list[Pace], beside: list[Pace], wrong: list[str]) -> bool:
    """Print the medians of the rounds, and return whether the targets are met."""
    calls, gaps = ([quantile([getattr(one, name) for one in of], 0.5) for of in (alone, beside)] for name in NAMES)
    holds = all(after <= GROWTH * before for before, after in (calls, gaps)) and not wrong
    sys.stdout.write(
        f"95 % of the good endpoint's calls take {calls[0]:.0f} ms alone and {calls[1]:.0f} ms beside {len(OUTCOMES)} "
        f"hostile endpoints; from reply to reply {gaps[0]:.0f} and {gaps[1]:.0f} ms: {'ok' if holds else 'MISSED'}\n"
    )
    for line in wrong:
        sys.stdout.write(f"  ended otherwise: {line}\n")
    return holds


NAMES = ("call_ms", "gap_ms")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", type=float, metavar="SECONDS", help="only serve, with this latency if good")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prompts", type=int, default=200)
    parser.add_argument("--latency", type=float, default=0.2, help="of the good endpoint")
    options = parser.parse_args()
    if options.serve is not None:
        asyncio.run(serve(options.serve))
    return 0 if run(options.rounds, options.prompts, options.latency) else 1


if __name__ == "__main__":
    raise SystemExit(main())
