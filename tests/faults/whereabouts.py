"""Where a process is, as it writes down itself when it is asked to.

Nothing is done differently for it: the signal's handler (`faulthandler`) is in C, and the work goes on from where it
was.
"""

import faulthandler
import os
import re
import signal
import time
from pathlib import Path

ASK = signal.SIGUSR2  # Celery has a use for the other one
FRAME = re.compile(r'File "(.+)", line \d+ in (\S+)\n')
WITHIN_S = 0.1


def answer_when_asked(folder: Path) -> None:
    """This process and those that it forks will answer."""
    folder.mkdir(parents=True, exist_ok=True)
    faulthandler.register(ASK, file=_file(folder).open("ab"), all_threads=False)


def stack(folder: Path, pid: int) -> list[str]:
    """Files and functions of the process's main thread at this moment, innermost first: "/.../fit.py fit".

    The outer ones lack where it was slow to write, and all where it is dead.
    """
    begin, until = _file(folder).stat().st_size, time.monotonic() + WITHIN_S
    try:
        os.kill(pid, ASK)
    except ProcessLookupError:
        return []
    frames: list[str] = []
    while time.monotonic() < until and not any(frame.endswith(" <module>") for frame in frames):
        with _file(folder).open() as file:
            file.seek(begin)
            frames = [f"{path} {name}" for path, name in FRAME.findall(file.read())]
    return frames


def _file(folder: Path) -> Path:
    return folder / "stacks"
