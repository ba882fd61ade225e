"""Retry policy of calls, as a table."""

from evalsite.endpoints.failures import Failure

ATTEMPTS = 3
"""Attempts of one call at most: the first one and two retries."""


def retry_delay(failure: Failure, *, attempt: int) -> float | None:
    """Return the seconds to wait before the next attempt, or None to give up.

    `attempt` is the number of the attempt that failed, from 1.
    """
    raise NotImplementedError
