"""How much memory a benchmark's process has held."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")


def peak() -> int:
    """The most bytes that this process ever held.

    Linux counts what a process's parent held when it was started into `getrusage`, but not into VmHWM.
    """
    if _STATUS.exists():
        held = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM:"))
        return 1024 * int(held.split()[1])
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most
