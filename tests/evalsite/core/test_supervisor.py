"""The supervisor keeps its children alive, lets one end that may, and leaves no orphan."""

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from evalsite.core import supervisor
from evalsite.core.supervisor import Child, supervise
from tests.environment import PATIENCE_S
from tests.processes import wait_for


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A stand-in for manage.py: notes each start in a file, then does what its first argument says."""
    path = tmp_path / "manage.py"
    path.write_text(
        "import sys, time, pathlib, os\n"
        "notes = pathlib.Path(__file__).with_name('starts-' + sys.argv[2])\n"
        "with notes.open('a') as file: file.write(f'{os.getpid()} {time.monotonic()}\\n')\n"
        "if sys.argv[1] == 'sleep': time.sleep(3600)\n"
        "sys.exit(int(sys.argv[3]) if len(sys.argv) > 3 else 0)\n"
    )
    monkeypatch.setattr(supervisor, "command_line", lambda *arguments: [sys.executable, str(path), *arguments])
    logging.getLogger("evalsite.core.supervisor").setLevel(logging.ERROR)
    yield path
    logging.getLogger("evalsite.core.supervisor").setLevel(logging.NOTSET)


class Supervised:
    """The supervisor in a thread of the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path, *children: Child) -> None:
        monkeypatch.setattr(signal, "signal", lambda *_: None)  # only a main thread may install handlers
        self.folder, self.stop = folder, threading.Event()
        self.thread = threading.Thread(target=supervise, args=(children,), kwargs={"stop": self.stop})
        self.thread.start()

    def starts(self, name: str) -> list[int]:
        return [int(pid) for pid, _ in self._noted(name)]

    def pauses_s(self, name: str) -> list[float]:
        """The time from each start to the next one."""
        return [float(after) - float(before) for (_, before), (_, after) in pairwise(self._noted(name))]

    def _noted(self, name: str) -> list[list[str]]:
        path = self.folder / f"starts-{name}"
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        return [line.split() for line in lines if line.endswith("\n")]

    def wait(self, name: str, count: int) -> list[int]:
        wait_for(lambda: len(self.starts(name)) >= count, what=f"start {count} of {name}", every_s=0.05)
        return self.starts(name)

    def end(self) -> None:
        self.stop.set()
        self.thread.join(PATIENCE_S)
        assert not self.thread.is_alive()


def test_a_child_that_is_killed_starts_again(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = Supervised(monkeypatch, script.parent, Child("web", ("sleep", "web")))
    (first,) = running.wait("web", 1)
    os.kill(first, signal.SIGKILL)
    assert len(running.wait("web", 2)) == 2
    running.end()
    assert not [pid for pid in running.starts("web") if Path(f"/proc/{pid}").exists()]


def test_children_ignore_ctrl_c_and_share_one_session(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = Supervised(
        monkeypatch, script.parent, Child("web", ("sleep", "web")), Child("worker", ("sleep", "worker"))
    )
    pids = [*running.wait("web", 1), *running.wait("worker", 1)]
    groups, sessions = {os.getpgid(pid) for pid in pids}, {os.getsid(pid) for pid in pids}
    running.end()
    assert groups == set(pids), "a terminal's Ctrl-C goes to a whole process group"
    assert sessions == {os.getsid(0)}, "Linux may share processors among sessions before it looks at who is niced"


def test_a_service_that_ends_without_error_starts_again_too(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = Supervised(monkeypatch, script.parent, Child("worker", ("exit", "worker", "0")))
    assert len(running.wait("worker", 2)) >= 2
    running.end()


def test_child_that_may_end_is_not_restarted_after_success(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = Child("annotators", ("exit", "annotators", "0"), may_end=True)
    running = Supervised(monkeypatch, script.parent, done, Child("web", ("exit", "web", "1")))
    running.wait("annotators", 1)
    running.wait("web", len(running.starts("web")) + 1)
    assert len(running.starts("annotators")) == 1
    running.end()


def test_failing_child_restarts_with_growing_pauses(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = Supervised(monkeypatch, script.parent, Child("web", ("exit", "web", "1")))
    running.wait("web", 3)
    first, second, *_ = running.pauses_s("web")
    assert first >= 1
    assert second >= 2
    running.end()
