"""States of an endpoint, and their reasons."""

from datetime import timedelta

from django.utils import timezone

from evalsite.core.reasons import as_stored
from evalsite.endpoints.models import Endpoint
from scheduler.reasons import Reason

SECRET_UNREADABLE = "endpoint_secret_unreadable"  # noqa: S105  a code
CALLED = frozenset({Endpoint.State.UNTESTED, Endpoint.State.HEALTHY, Endpoint.State.DEGRADED})
"""States in which an endpoint gets new work. A failing one gets checks only, a paused one tests only."""

DAY = timedelta(days=1)
FIRST_RETRY, LONGEST_RETRY = timedelta(seconds=30), timedelta(hours=1)


def recovery_delay(failed_checks: int) -> timedelta:
    """Return how long to wait before a failing endpoint is tried again."""
    return min(FIRST_RETRY * int(2 ** min(failed_checks, 10)), LONGEST_RETRY)


def state_set(endpoint: Endpoint, state: Endpoint.State, reason: str | Reason) -> None:
    """Store a state with its reason. The caller holds the lock of the row."""
    kept, now = as_stored(reason), timezone.now()
    endpoint.state, endpoint.state_since = state, now
    endpoint.state_reason, endpoint.state_data = kept.text[:500], kept.data
    changed = ["state", "state_since", "state_reason", "state_data"]
    if state == Endpoint.State.UNTESTED:
        endpoint.health_since, endpoint.wait_until = now, None
        changed += ["health_since", "wait_until"]
    endpoint.save(update_fields=changed)
