"""Whole processes, as a user starts them: real ports, real children, ended by their own ids."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO, Any

import httpx2
import pytest
import redis
from django.core.cache import cache

from tests.environment import PATIENCE_S, PRODUCTION, REDIS_PREFIX, REDIS_URL

ROOT = Path(__file__).resolve().parents[1]
Start = Callable[..., subprocess.Popen[str]]
GRACE_S = 30  # for what is cleared away after a test to end by itself
MODEST = {"TOUCHSTONE_WORKER_NICE": "1"}  # who gives way to all other tests hardly gets on beside them

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Begun in the background by a shell: what is started here would ignore Ctrl-C too, by which it is to end.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(condition: Callable[[], Any], *, what: str, every_s: float = 0.2, within_s: float = PATIENCE_S) -> Any:
    """The first true value of the condition; fails with `what` when there is none in time.

    Tests leave the limit as it is, so that none fails on a slow machine; benchmarks may take longer.
    """
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            value = condition()
        except httpx2.TransportError:
            value = None
        except httpx2.HTTPStatusError as error:
            if error.response.status_code != 503:  # a site that is busy asks to come again
                raise
            value = None
        if value:
            return value
        time.sleep(every_s)
    pytest.fail(f"{what} did not come within {within_s:.0f} s")


def visit(url: str, **options: Any) -> httpx2.Client:
    """Return a client of a site that waits for its answers as long as any test waits."""
    return httpx2.Client(base_url=url, trust_env=False, timeout=PATIENCE_S, **options)


def wait_until_ready(url: str, process: subprocess.Popen[Any]) -> None:
    """Wait until the site that this process serves answers; fail at once when the process has ended."""
    with visit(url) as site:

        def ready() -> bool:
            assert process.poll() is None, f"it ended with status {process.returncode} before it answered"
            return site.get("/readyz").is_success

        wait_for(ready, what=f"an answer of {url}")


def forget_redis_keys(url: str, prefix: str) -> None:
    """Delete every key that begins with the prefix: a test leaves nothing in a Redis that others use too."""
    with redis.Redis.from_url(url) as client:
        for key in client.scan_iter(match=f"{prefix}:*", count=1000):
            client.delete(key)


def forget_cache() -> None:
    """Empty the cache of this process. Redis is not emptied: others use it, too."""
    if PRODUCTION:
        forget_redis_keys(REDIS_URL, f"{REDIS_PREFIX}:1")  # Django's cache: the prefix, and the version of its keys
    else:
        cache.clear()


def start_manage(
    data: Path, *arguments: str, output: int | IO[str] = subprocess.PIPE, **environment: str
) -> subprocess.Popen[str]:
    """Start `manage.py <arguments>` with this data directory and no configuration but the given one."""
    configured = {"DATABASE_URL", "REDIS_URL", "SECRET_KEY", "ALLOWED_HOSTS"}
    clean = {name: value for name, value in os.environ.items() if name not in configured}
    return subprocess.Popen(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**clean, "TOUCHSTONE_DATA_DIR": str(data), "PYTHONUNBUFFERED": "1", **MODEST, **environment},
        stdout=output,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # as in a terminal of its own: other work shares no session with it
    )


def end(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Ctrl-C; exit status and everything that was said."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        output, _ = process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        pytest.fail(f"it did not end on Ctrl-C:\n{output}")
    return process.returncode, output


def end_all(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """The last one first, as whatever runs containers ends them; killed if that takes long, which fails no test."""
    for process in reversed(processes):
        process.terminate()
    for process in processes:
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def children_of(parent: int) -> list[int]:
    """Ids of the processes whose ancestor this is."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = [(int(pid), int(ppid)) for pid, ppid in (line.split() for line in listed.splitlines())]
    found: list[int] = []
    frontier = [parent]
    while frontier:
        frontier = [pid for pid, ppid in pairs if ppid in frontier]
        found += frontier
    return found


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def processor_s(pids: Iterable[int]) -> float:
    """Seconds of processor time that these have taken, with their children that have ended (Linux counts them)."""
    ticks = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(int(field) for field in fields[11:15])  # utime, stime, cutime, cstime
    return ticks / os.sysconf("SC_CLK_TCK")


def postgresql_bin() -> Path | None:
    """Where this machine keeps the programs of PostgreSQL's server."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


def libfaketime() -> Path | None:
    """The library that shows another time to the processes that load it."""
    return next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)
