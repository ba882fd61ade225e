"""Many independent jobs on all cores, by processes, with a progress bar."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")

_THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run(function: Callable[[Job], Result], jobs: Sequence[Job], label: str, *, processes: int = 0) -> list[Result]:
    """function(job) for each job, in their order. `processes` 0: one a core; 1: in this process, for tests.

    A job's error stops everything and says which job it was: a benchmark that leaves out what it cannot do shows
    nothing.
    """
    processes = processes or os.cpu_count() or 1
    bar = _Bar(label, len(jobs))
    if processes == 1:
        results = []
        for job in jobs:
            with _named(job):
                results.append(function(job))
            bar.advance()
        bar.finish()
        return results
    for name in _THREAD_LIMITS:  # one linear algebra thread a process: the processes are the parallelism
        os.environ.setdefault(name, "1")
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_end_with_parent) as pool:
        waiting = {pool.submit(function, job): index for index, job in enumerate(jobs)}
        try:
            done: dict[int, Result] = {}
            for future in as_completed(waiting):
                index = waiting[future]
                with _named(jobs[index]):
                    done[index] = future.result()
                bar.advance()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    bar.finish()
    return [done[index] for index in range(len(jobs))]


def _end_with_parent() -> None:
    """Whoever ends a benchmark by its process ends its work: a job under way would go on for minutes, unseen."""
    parent = parent_process()
    assert parent is not None  # only workers are initialised

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def write_line(path: Path, line: str) -> None:
    """Append one line by one write, so that those of several processes do not mix, nor with one that was cut off.

    A process that is ended in the middle leaves a part of a line: whoever comes next begins on a line of its own, and
    readers leave the part out.
    """
    with path.open("a+b", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        if size:
            file.seek(size - 1)
        whole = not size or file.read(1) == b"\n"
        file.write((b"" if whole else b"\n") + line.encode() + b"\n")


def whole_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The JSON lines of a file; none where there is no file, and without those that were cut off."""
    for text in path.read_text().splitlines() if path.exists() else []:
        with suppress(json.JSONDecodeError):
            yield json.loads(text)


@contextmanager
def _named(job: object) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        error.add_note(f"job: {job}")
        raise


class _Bar:
    """One line on a terminal's stderr, rewritten; without a terminal, a line every tenth of the way."""

    def __init__(self, label: str, total: int) -> None:
        self.label, self.total, self.done, self.began = label, total, 0, time.monotonic()
        self.live = sys.stderr.isatty()

    def advance(self) -> None:
        self.done += 1
        if not self.live and self.done * 10 // self.total == (self.done - 1) * 10 // self.total:
            return
        left = (time.monotonic() - self.began) / self.done * (self.total - self.done)
        filled = 30 * self.done // self.total
        text = f"{self.label}  [{'#' * filled}{'.' * (30 - filled)}] {self.done}/{self.total}, {left:.0f} s left"
        sys.stderr.write(f"\r{text}\x1b[K" if self.live else text + "\n")
        sys.stderr.flush()

    def finish(self) -> None:
        if self.live and self.done:
            sys.stderr.write("\r\x1b[K")
