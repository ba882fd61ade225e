"""`python -m tests.benchmarks.collect_replies`: collect 10,000 replies from 10 endpoints with 50 ms latency.

A site of its own on SQLite, one caller (a real `manage.py call_endpoints`) and one chat server, each in a process of
its own. Targets: at most 60 s, and flat memory: at the end the caller holds at most a tenth more than after a fifth
of the replies. Where other work runs, the processor time says more than the seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.processes import processor_s

LIMIT_S, GROWTH, KEY = 60.0, 1.10, "the-key-of-the-benchmark-0123456789abc"
REPLY = {
    "model": "tiny-1",
    "choices": [{"message": {"role": "assistant", "content": "A reply of some forty words. " * 8}}],
    "usage": {"prompt_tokens": 30, "completion_tokens": 60},
}


@dataclass(frozen=True)
class Outcome:
    """Seconds, and the resident bytes of the caller after a fifth and at the end."""

    replies: int
    endpoints: int
    seconds: float
    processor_s: float
    early_bytes: int
    late_bytes: int

    @property
    def holds(self) -> bool:
        return self.seconds <= LIMIT_S and self.late_bytes <= GROWTH * self.early_bytes


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, latency_s: float) -> None:
    """Answer one request and close the connection, as a caller asks for."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    await reader.readexactly(int(length.split(b":")[1]))
    await asyncio.sleep(latency_s)
    body = json.dumps(REPLY).encode()
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n")
    writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    await writer.drain()
    writer.close()


async def serve(latency_s: float) -> None:
    server = await asyncio.start_server(lambda r, w: answer(r, w, latency_s), "127.0.0.1", 0, backlog=512)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


def prepare(url: str, replies: int, endpoints: int, concurrency: int) -> None:
    """Register the endpoints, and begin a collection of each."""
    from evalsite.accounts.models import Organisation
    from evalsite.chatbots.services import chatbot_create
    from evalsite.endpoints.collecting import collection_start
    from evalsite.endpoints.options import EndpointSettings
    from evalsite.endpoints.services import endpoint_register
    from evalsite.prompts.services import NewPrompt, prompt_set_create

    owner = Organisation.objects.found(name="Benchmark")
    turns = "What would you answer to somebody who asks question number {}, and why?"
    new = [NewPrompt(f"p{n}", [{"speaker": "user", "text": turns.format(n)}], "") for n in range(replies // endpoints)]
    prompt_set = prompt_set_create(organisation=owner, name="Prompts", prompts=new)
    for number in range(endpoints):
        chosen = EndpointSettings("openai", url, model="tiny", concurrency=concurrency)
        chatbot = chatbot_create(organisation=owner, name=f"Bot {number}")
        endpoint = endpoint_register(chatbot=chatbot, label="1", settings=chosen, secret="a-secret-of-benchmarks")
        collection_start(endpoint=endpoint, prompt_set=prompt_set)


def resident(pid: int) -> int:
    """Bytes that a process holds now."""
    fields = Path(f"/proc/{pid}/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def measure(replies: int, start: Callable[[], subprocess.Popen[Any]], endpoints: int) -> Outcome:
    """Start the caller, and watch it until every reply is stored."""
    from evalsite.chatbots.models import Reply

    caller, early = start(), 0
    began = time.monotonic()
    try:
        while (stored := Reply.objects.count()) < replies:
            if caller.poll() is not None:
                raise SystemExit(f"the caller ended with status {caller.returncode}")
            if not early and stored >= replies // 5:
                early = resident(caller.pid)
            time.sleep(0.2)
        seconds = time.monotonic() - began
        used, late = processor_s([caller.pid]), resident(caller.pid)
        return Outcome(replies, endpoints, seconds, used, early or late, late)
    finally:
        caller.terminate()
        caller.wait()


def check_rows(replies: int) -> None:
    """Each prompt has one reply of each version, by one call."""
    from evalsite.chatbots.models import Reply
    from evalsite.endpoints.models import Call

    assert Reply.objects.values("version", "prompt").distinct().count() == Reply.objects.count() == replies
    assert Call.objects.filter(error_class="").count() == replies


def run(replies: int, endpoints: int, latency_s: float, concurrency: int) -> Outcome:
    """Measure on a site in a temporary folder. Django must not be loaded before."""
    folder = tempfile.mkdtemp(prefix="touchstone-bench-")
    os.environ |= {
        "TOUCHSTONE_DATA_DIR": folder,
        "TOUCHSTONE_ENDPOINT_NETWORKS": "127.0.0.0/8",
        "TOUCHSTONE_ENDPOINT_KEYS": KEY,
        "TOUCHSTONE_WORKER_NICE": "0",  # there are no pages to give way to
        "DJANGO_SETTINGS_MODULE": "evalsite.settings",
    }
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    command = [sys.executable, "-m", "tests.benchmarks.collect_replies", "--serve", str(latency_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            prepare(f"http://127.0.0.1:{server.stdout.readline().strip()}/v1", replies, endpoints, concurrency)
            caller = [sys.executable, "manage.py", "call_endpoints"]
            found = measure(replies, lambda: subprocess.Popen(caller), endpoints)
            check_rows(replies)
        finally:
            server.terminate()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", type=float, metavar="SECONDS", help="only serve chats with this latency")
    parser.add_argument("--replies", type=int, default=10_000)
    parser.add_argument("--endpoints", type=int, default=10)
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--concurrency", type=int, default=8, help="of each endpoint")
    options = parser.parse_args()
    if options.serve is not None:
        asyncio.run(serve(options.serve))
    found = run(options.replies, options.endpoints, options.latency, options.concurrency)
    pace = f"{found.replies / found.seconds:.0f} a second, {found.processor_s:.1f} s of processor time"
    memory = f"{found.early_bytes / 1e6:.0f} MB after a fifth and {found.late_bytes / 1e6:.0f} MB at the end"
    sys.stdout.write(
        f"{found.replies} replies of {found.endpoints} endpoints in {found.seconds:.1f} s ({pace}); the caller holds "
        f"{memory}: {'ok' if found.holds else 'MISSED'}\n"
    )
    return 0 if found.holds else 1


if __name__ == "__main__":
    raise SystemExit(main())
