"""The public board under readers: python -m tests.benchmarks.first_byte [--judgments 100000] [--chatbots 200]

The embedded form serves a board of that size while readers open it 50 times a second (open loop: a slow answer delays
nobody else's arrival, and its delay counts). Time to first byte is from a reader's arrival to the first byte of the
answer, on a connection of their own. Beside it, in the same run, the liveness address: what any request costs here.
"""

from __future__ import annotations

import argparse
import http.client
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import httpx2

from irt_engine import ResponseTable
from tests.processes import end, free_port, start_manage, wait_for

from .report import Check, conclude, say, table
from .scale import Size, drawn

MOST_MS, RATE, READERS = 50, 50, 32
BOARD = "/boards/big/"
WINNER = {-1: "model_a", 0: "tie", 1: "model_b"}


@dataclass(frozen=True, slots=True)
class Opened:
    """What the readers of one address met."""

    path: str
    milliseconds: list[float]
    failed: int

    def quantile(self, share: float) -> float:
        ordered = sorted(self.milliseconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def main(arguments: Sequence[str]) -> int:
    asked = _asked(arguments)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        say(f"a board of {asked.judgments:,} judgments of {asked.chatbots} chatbots ...")
        _import(data, drawn(Size(asked.judgments, asked.chatbots, asked.prompts)))
        port = free_port()
        serving = start_manage(data, "serve", "--port", str(port))
        try:
            wait_for(
                lambda: 'class="who"' in httpx2.get(f"http://127.0.0.1:{port}{BOARD}", trust_env=False).text,
                within_s=600,
                what="the ranking",
            )
            found = [read(port, path, asked.seconds) for path in ("/livez", BOARD, f"{BOARD}live/")]
        finally:
            end(serving)
    say(table(("address", "p50 ms", "p99 ms", "failed"), [_row(one) for one in found]))
    board = found[1]
    p99 = board.quantile(0.99)
    check = Check("time to first byte, p99", f"{p99:.1f} ms", f"<= {MOST_MS} ms", p99 <= MOST_MS and not board.failed)
    return conclude(f"{RATE} readers a second for {asked.seconds} s", [check])


def _asked(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--judgments", type=int, default=100_000)
    parser.add_argument("--chatbots", type=int, default=200)
    parser.add_argument("--prompts", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=20)
    return parser.parse_args(arguments)


def _import(data: Path, votes: ResponseTable) -> None:
    file = data / "votes.csv"
    with file.open("w") as out:
        out.write("model_a,model_b,winner,prompt_id\n")
        for a, b, prompt, outcome in zip(votes.a, votes.b, votes.prompt, votes.outcome, strict=True):
            out.write(f"{votes.chatbots[a]},{votes.chatbots[b]},{WINNER[int(outcome)]},{votes.prompts[prompt]}\n")
    for command in (("migrate",), ("import_votes", str(file), "--campaign", "big", "--visibility", "public")):
        process = start_manage(data, *command)
        said, _ = process.communicate(timeout=1800)
        if process.returncode:
            raise RuntimeError(said)


def read(port: int, path: str, seconds: int) -> Opened:
    """Readers arrive at even intervals, whatever became of the earlier ones."""
    count, began = RATE * seconds, time.perf_counter() + 0.5

    def arrive(n: int) -> float | None:
        due = began + n / RATE
        time.sleep(max(0.0, due - time.perf_counter()))
        try:
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as line:
                line.request("GET", path, headers={"Accept-Encoding": "gzip"})
                answer = line.getresponse()
                waited = time.perf_counter() - due
                answer.read()
        except OSError:
            return None
        return waited if answer.status == 200 else None

    with ThreadPoolExecutor(READERS) as readers:
        met = list(readers.map(arrive, range(count)))
    good = [1000 * waited for waited in met if waited is not None]
    return Opened(path, good, count - len(good))


def _row(one: Opened) -> tuple[str, ...]:
    return one.path, f"{one.quantile(0.5):.1f}", f"{one.quantile(0.99):.1f}", str(one.failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
