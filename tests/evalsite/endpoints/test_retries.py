"""The retry policy."""

import pytest

from evalsite.endpoints.failures import ErrorClass, Failure
from evalsite.endpoints.retries import ATTEMPTS, MAX_RETRY_AFTER_S, retry_delay

RETRIED = {
    ErrorClass.CONNECT,
    ErrorClass.UNRESOLVED,
    ErrorClass.TIMEOUT,
    ErrorClass.RATE_LIMITED,
    ErrorClass.BUSY,
    ErrorClass.SERVER_ERROR,
    ErrorClass.EMPTY,
}


@pytest.mark.parametrize("error_class", ErrorClass)
def test_passing_failure_is_tried_twice_more_and_others_never(error_class: ErrorClass) -> None:
    delays = [retry_delay(Failure(error_class), attempt=attempt) for attempt in (1, 2, ATTEMPTS)]
    assert [delay is not None for delay in delays] == [error_class in RETRIED] * 2 + [False]


def test_waits_grow() -> None:
    first, second = (retry_delay(Failure(ErrorClass.SERVER_ERROR), attempt=attempt) for attempt in (1, 2))
    assert first is not None
    assert second is not None
    assert 0 < first < second


@pytest.mark.parametrize(
    ("asked", "waited"),
    [(None, 5.0), (0.0, 5.0), (60.0, 60.0), (MAX_RETRY_AFTER_S, MAX_RETRY_AFTER_S), (3600.0, None)],
)
def test_retry_after_is_honoured_up_to_a_limit(asked: float | None, waited: float | None) -> None:
    assert retry_delay(Failure(ErrorClass.RATE_LIMITED, 429, asked), attempt=1) == waited
