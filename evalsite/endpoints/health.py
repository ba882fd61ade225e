"""Health of an endpoint, judged by its recent calls and checks.

An endpoint is degraded when a tenth of its recent calls fail. It is failing after a failure that only its owner can
repair, after eight failures in a row, or when three fifths of the last twenty calls failed. A failing endpoint gets
checks only, until one of them passes.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import QuerySet
from django.utils import timezone

from evalsite.core.composed import composed
from evalsite.endpoints.failures import ErrorClass
from evalsite.endpoints.models import Call, Endpoint, EndpointCheck
from evalsite.endpoints.selectors import LOST
from evalsite.endpoints.states import DAY, recovery_delay, state_set
from scheduler.reasons import Reason

OWNER_MUST_ACT = frozenset(
    {
        ErrorClass.ADDRESS_REFUSED,
        ErrorClass.TLS,
        ErrorClass.ENCODED,
        ErrorClass.REDIRECT,
        ErrorClass.UNAUTHORIZED,
        ErrorClass.PAYMENT,
        ErrorClass.NOT_FOUND,
    }
)
NOT_ITS_FAULT = frozenset({ErrorClass.RATE_LIMITED, ErrorClass.INTERNAL})
WINDOW, IN_A_ROW, FEWEST, FEWEST_UNTESTED = 20, 8, 10, 3
FAILING_SHARE, DEGRADED_SHARE = 0.6, 0.1


def health_judge(endpoint: Endpoint, newest: Sequence[str]) -> None:
    """Update the state after calls. `newest`: the error classes of the calls just recorded ("" is a reply).

    The caller holds the lock of the row.
    """
    if endpoint.state in {Endpoint.State.PAUSED, Endpoint.State.FAILING}:
        return
    broken = next((error for error in newest if error in OWNER_MUST_ACT), "")
    if broken:
        _fail(endpoint, Reason("endpoint_misconfigured", {"error": broken}))
        return
    errors = _recent(endpoint)
    faults = [error for error in errors if error and error not in NOT_ITS_FAULT]
    if _fails(endpoint, errors, faults):
        _fail(endpoint, Reason("endpoint_calls_fail", _figures(faults, errors)))
        return
    failed = [error for error in errors if error]
    if len(errors) >= FEWEST and len(failed) >= DEGRADED_SHARE * len(errors):
        _set(endpoint, Endpoint.State.DEGRADED, Reason("endpoint_calls_fail", _figures(failed, errors)))
    elif len(failed) < len(errors) and (endpoint.state != Endpoint.State.DEGRADED or len(errors) >= FEWEST):
        _set(endpoint, Endpoint.State.HEALTHY, "")


def check_judge(check: EndpointCheck, errors: Sequence[str]) -> None:
    """Update the state after a check with these error classes. The caller holds the lock of the endpoint's row."""
    endpoint = check.endpoint
    if endpoint.state == Endpoint.State.PAUSED:
        return
    error = next((one for one in errors if one), "")
    if check.state == EndpointCheck.State.PASSED:
        if endpoint.state != Endpoint.State.DEGRADED:
            state_set(endpoint, Endpoint.State.UNTESTED, "")  # what was counted before no longer counts
            state_set(endpoint, Endpoint.State.HEALTHY, "")
        _schedule(endpoint, 0)
    elif endpoint.state == Endpoint.State.FAILING:
        _schedule(endpoint, endpoint.failed_checks + 1)
    elif endpoint.state == Endpoint.State.UNTESTED and error not in {"", *NOT_ITS_FAULT}:
        _fail(endpoint, Reason("endpoint_check_failed", {"error": error}))


def _recent(endpoint: Endpoint) -> list[str]:
    return _errors(endpoint.pk, endpoint.health_since)


@composed
def _errors(endpoint: int, since: datetime) -> QuerySet[Call, str]:
    calls = Call.objects.filter(endpoint=endpoint, started_at__gte=since).exclude(error_class=LOST)
    return calls.order_by("-pk").values_list("error_class", flat=True)[:WINDOW]


def _fails(endpoint: Endpoint, errors: Sequence[str], faults: Sequence[str]) -> bool:
    if endpoint.state == Endpoint.State.UNTESTED and len(faults) == len(errors) >= FEWEST_UNTESTED:
        return True
    in_a_row = errors[:IN_A_ROW]
    if len(in_a_row) == IN_A_ROW and all(error and error not in NOT_ITS_FAULT for error in in_a_row):
        return True
    return len(errors) == WINDOW and len(faults) >= FAILING_SHARE * WINDOW


def _figures(failed: Sequence[str], calls: Sequence[str]) -> dict[str, str | int]:
    return {"failed": len(failed), "calls": len(calls), "error": max(set(failed), key=failed.count)}


def _fail(endpoint: Endpoint, reason: Reason) -> None:
    state_set(endpoint, Endpoint.State.FAILING, reason)
    _schedule(endpoint, 0)


def _schedule(endpoint: Endpoint, failed_checks: int) -> None:
    """Set the time of the next check: a day from now, or sooner for a failing endpoint."""
    failing = endpoint.state == Endpoint.State.FAILING
    endpoint.failed_checks = failed_checks
    endpoint.next_check_at = timezone.now() + (recovery_delay(failed_checks) if failing else DAY)
    endpoint.save(update_fields=["failed_checks", "next_check_at"])


def _set(endpoint: Endpoint, state: Endpoint.State, reason: Reason | str) -> None:
    if endpoint.state != state:
        state_set(endpoint, state, reason)
