"""Retry policy of calls, as a table."""

from collections.abc import Mapping
from types import MappingProxyType

from evalsite.endpoints.failures import ErrorClass, Failure

ATTEMPTS = 3
"""Attempts of one call at most: the first one and two retries."""
MAX_RETRY_AFTER_S = 120.0
"""Longest wait that an endpoint may ask for. If it asks for more, the call fails at once."""

DELAYS: Mapping[ErrorClass, tuple[float, float]] = MappingProxyType(
    {
        ErrorClass.CONNECT: (2.0, 10.0),
        ErrorClass.UNRESOLVED: (2.0, 10.0),
        ErrorClass.TIMEOUT: (2.0, 10.0),
        ErrorClass.RATE_LIMITED: (5.0, 30.0),  # 429
        ErrorClass.BUSY: (2.0, 10.0),  # 408 and 425
        ErrorClass.SERVER_ERROR: (2.0, 10.0),  # 5xx
        ErrorClass.EMPTY: (1.0, 5.0),
    }
)
"""Seconds before the second and before the third attempt. Classes that are not listed are not tried again."""


def retry_delay(failure: Failure, *, attempt: int) -> float | None:
    """Return the seconds to wait before the next attempt, or None to give up.

    `attempt` is the number of the attempt that failed, from 1. What the endpoint asks for by Retry-After is waited for,
    up to MAX_RETRY_AFTER_S.
    """
    delays = DELAYS.get(failure.error_class)
    if delays is None or attempt >= ATTEMPTS:
        return None
    asked = failure.retry_after_s or 0.0
    return None if asked > MAX_RETRY_AFTER_S else max(delays[attempt - 1], asked)
