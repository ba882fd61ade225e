"""Vote files at size: a million votes into PostgreSQL, and the reading of `rank`.

    python -m tests.benchmarks.import_votes [--votes 1000000] [--prompts 5000] [--most-s 120] [--most-mb 500]

It makes a database of its own on the server of TEST_DATABASE_URL and a file of votes. It runs `manage.py import_votes`
in a process of its own, and prints its time, its memory and the processor time of the client. Then it reads the same
file as `rank` does, and without pyarrow. --prompts 0 gives every vote a prompt of its own.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import secrets
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.environment import DATABASE_URL, REDIS_PREFIX, REDIS_URL

ROOT = Path(__file__).parents[2]
CHATBOTS, ANNOTATORS = 50, 20_000
_READ = """
import sys, time
if sys.argv[2] == "plain":
    sys.modules["pyarrow"] = None
import django; django.setup()
from evalsite.exchange.vote_file import read_votes
wall, cpu = time.perf_counter(), time.process_time()
votes = read_votes(sys.argv[1])
print(len(votes), time.perf_counter() - wall, time.process_time() - cpu)
"""


def main() -> int:
    args = _arguments()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "votes.csv"
        write(path, args.votes, args.prompts)
        print(f"{args.votes:,} votes, {path.stat().st_size / 1e6:.0f} MB")  # noqa: T201
        slow = [] if args.no_import else measure_import(path, args)
        for how in ("pyarrow", "plain"):
            wall, cpu = reading(path, how)
            print(f"reading with {how}: {wall:.1f} s ({cpu:.1f} s of processor time)")  # noqa: T201
            slow += ["reading"] * (min(wall, cpu) > args.most_read_s and how == "pyarrow")
    if slow:
        print(f"above the limits: {', '.join(slow)}")  # noqa: T201
    return 1 if slow else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--votes", type=int, default=1_000_000)
    parser.add_argument("--prompts", type=int, default=5000)
    parser.add_argument("--most-s", type=float, default=120.0)
    parser.add_argument("--most-mb", type=float, default=500.0)
    parser.add_argument("--most-read-s", type=float, default=3.0)
    parser.add_argument("--no-import", action="store_true")
    return parser.parse_args()


def write(path: Path, votes: int, prompts: int) -> None:
    """Write a file of votes with chatbots, prompts, annotators, times and categories."""
    draw = random.Random(1)  # no secret
    names = [f"model-{number}" for number in range(CHATBOTS)]
    labels = ["model_a"] * 5 + ["model_b"] * 5 + ["tie"] * 2 + ["both_bad"]
    with path.open("w") as file:
        file.write("model_a,model_b,winner,question_id,judge,tstamp,category\n")
        for vote in range(votes):
            a, b = draw.sample(names, 2)
            prompt = draw.randrange(prompts) if prompts else vote
            person = draw.randrange(ANNOTATORS)
            file.write(f"{a},{b},{draw.choice(labels)},q{prompt},user{person},{1682351591 + vote}.5,cat{vote % 7}\n")


def measure_import(path: Path, args: argparse.Namespace) -> list[str]:
    from tests.databases import own_postgresql

    with own_postgresql() as url:
        environment = {
            **os.environ,
            "DATABASE_URL": url,
            "REDIS_URL": REDIS_URL,
            "TOUCHSTONE_REDIS_PREFIX": REDIS_PREFIX,
            "SECRET_KEY": secrets.token_urlsafe(48),
            "ALLOWED_HOSTS": "localhost",
            "SITE_URL": "https://localhost",
        }
        command = [sys.executable, "manage.py"]
        subprocess.run([*command, "migrate", "--verbosity", "0"], cwd=ROOT, env=environment, check=True)
        began = time.perf_counter()
        done = subprocess.run(
            [*command, "import_votes", str(path), "--campaign", "At size", "--fit", "later"],
            cwd=ROOT,
            env=environment,
            check=True,
        )
        seconds = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    megabytes = used.ru_maxrss / 1000
    print(f"import: {seconds:.0f} s, {megabytes:.0f} MB, {used.ru_utime + used.ru_stime:.0f} s of processor time")  # noqa: T201
    assert done.returncode == 0
    return ["seconds"] * (seconds > args.most_s) + ["memory"] * (megabytes > args.most_mb)


def reading(path: Path, how: str) -> tuple[float, float]:
    """Return the seconds, and the seconds of processor time, that `rank` takes to read the file."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "evalsite.settings", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", _READ, str(path), how], cwd=ROOT, env=environment, check=True, capture_output=True
    )
    _votes, wall, cpu = done.stdout.split()
    return float(wall), float(cpu)


if __name__ == "__main__":
    assert DATABASE_URL  # of the tests' server
    raise SystemExit(main())
