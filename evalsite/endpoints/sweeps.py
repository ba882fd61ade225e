"""Periodic work on endpoints: checks that are due, secrets that cannot be read, calls of dead callers."""

from evalsite.core import jobs
from evalsite.endpoints.checking import checks_schedule, unreadable_secrets_pause
from evalsite.endpoints.recording import lost_calls_requeue

jobs.sweeps(checks_schedule)
jobs.sweeps(unreadable_secrets_pause)


@jobs.sweeps
def lost_calls_sweep() -> None:
    """Queue the requests of dead callers again, even if no other caller runs."""
    lost_calls_requeue()
