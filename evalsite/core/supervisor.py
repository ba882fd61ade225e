"""Supervisor of a few child processes: restarts them, and stops them all at the end.

Used by `manage.py serve` (web and worker) and `manage.py demo` (the same plus the simulated annotators).
"""

import fcntl
import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from evalsite.core.env import unwritable
from evalsite.core.errors import Conflict
from evalsite.core.installation import command_line

log = logging.getLogger(__name__)

WATCH_PARENT = "TOUCHSTONE_WATCH_PARENT"
LOCK = "serve.lock"
ANOTHER_FOLDER = "Give this user the right to write there, or set TOUCHSTONE_DATA_DIR to another folder."
GRACE_S = 10.0
STEADY_S = 30.0
LONGEST_PAUSE_S = 30.0


@dataclass(frozen=True, slots=True)
class Child:
    """A supervised process: `manage.py <arguments>`. It is restarted whenever it ends.

    `may_end`: an exit without error is final.
    """

    name: str
    arguments: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    may_end: bool = False


class _ManagedProcess:
    """A child with its process and its number of failures in a row."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self.failures = 0
        self.start_at = 0.0
        self.started = 0.0
        self.process: subprocess.Popen[bytes] | None = None
        self.finished = False

    def start(self) -> None:
        environment = {**os.environ, WATCH_PARENT: str(os.getpid()), **self.child.environment}
        command = command_line(*self.child.arguments)
        # A process group of its own: Ctrl-C in the terminal then reaches only the supervisor, which stops the children
        # in order. No session of its own: Linux may share processors among sessions first (autogroup). The niceness of
        # a worker would then count only within its own session, and pages would not benefit.
        self.process = subprocess.Popen(command, env=environment, process_group=0)  # noqa: S603
        self.started = time.monotonic()

    def update(self) -> None:
        """Start the process if it is due, and record its exit."""
        now = time.monotonic()
        if self.finished:
            return
        if self.process is None:
            if now >= self.start_at:
                self.start()
            return
        status = self.process.poll()
        if status is None:
            return
        self.process = None
        if status == 0 and self.child.may_end:
            self.finished = True
            return
        self.failures = 1 if now - self.started > STEADY_S else self.failures + 1
        pause = min(0.5 * 2**self.failures, LONGEST_PAUSE_S)
        self.start_at = now + pause
        log.warning("%s ended with status %s; it starts again in %.0f s", self.child.name, status, pause)

    def stop(self, signal_number: int) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal_number)


@contextmanager
def sole_supervisor(folder: Path) -> Iterator[None]:
    """Lock the data directory for one supervisor. Raises Conflict while another one holds it.

    Two supervisors would each start a worker and a web process on one database. The lock ends with the process, however
    it ends.
    """
    path = folder / LOCK
    try:
        handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise Conflict(f"{folder} cannot be written ({error.strerror}).", hint=ANOTHER_FOLDER) from error
    with os.fdopen(handle, "r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            other = file.read(20).strip() or "unknown"
            raise Conflict(
                f"Another Touchstone (process {other}) runs on {folder}.",
                hint="Stop it, or set TOUCHSTONE_DATA_DIR to another folder.",
            ) from None
        why = unwritable(folder)
        if why:
            raise Conflict(f"{folder} cannot be written ({why}).", hint=ANOTHER_FOLDER)
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def supervise(children: Sequence[Child], *, stop: threading.Event | None = None) -> None:
    """Run the children until SIGINT or SIGTERM (or `stop`). Then terminate them, and kill them after GRACE_S."""
    stop = stop or threading.Event()

    def request_stop(number: int, frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, request_stop)
    kept = [_ManagedProcess(child) for child in children]
    try:
        while not stop.wait(0.1):
            for one in kept:
                one.update()
    finally:
        _end(kept)


def _end(kept: Sequence[_ManagedProcess]) -> None:
    for one in reversed(kept):
        one.stop(signal.SIGTERM)
    deadline = time.monotonic() + GRACE_S
    for one in kept:
        if one.process is None:
            continue
        try:
            one.process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            log.warning("%s did not end in %.0f s and is killed", one.child.name, GRACE_S)
            one.process.kill()
            one.process.wait()


def follow_parent(*, grandchild: bool = False) -> None:
    """End this process when its supervisor is gone, so that kill -9 leaves no orphans. Does nothing without a
    supervisor.

    A child knows the supervisor's id from its environment. A supervisor that was killed before this call therefore
    counts, too. A grandchild (the web server's own worker) follows its direct parent.
    """
    supervisor = os.environ.get(WATCH_PARENT)
    if not supervisor:
        return
    parent = os.getppid() if grandchild else int(supervisor)

    never = threading.Event()  # its wait is unaffected by clock changes; a sleep may not be

    def watch() -> None:
        while os.getppid() == parent:
            never.wait(0.5)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="follow-parent", daemon=True).start()
