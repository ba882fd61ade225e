"""Periodic work on conversations: turns past their deadline, and conversations without activity."""

from evalsite.core import jobs
from evalsite.dialogues.endings import conversations_expire
from evalsite.dialogues.replies import turns_sweep

jobs.sweeps(turns_sweep)


@jobs.sweeps
def conversations_sweep() -> None:
    """End conversations without activity."""
    conversations_expire()
