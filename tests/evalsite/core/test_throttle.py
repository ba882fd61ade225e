"""A throttle admits exactly its number, however many knock at once."""

import threading
import uuid

import pytest
from django.test import RequestFactory, override_settings

from evalsite.core.errors import TooMany
from evalsite.core.throttle import admit, client_address

pytestmark = pytest.mark.database


def test_exactly_the_allowed_number_of_parallel_attempts_pass() -> None:
    who, passed = uuid.uuid4().hex, []
    together = threading.Barrier(20)

    def knock() -> None:
        together.wait()
        for _ in range(10):
            try:
                admit(what="test", who=who, at_most=37, per_s=3600)
            except TooMany:
                continue
            passed.append(1)

    threads = [threading.Thread(target=knock) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(passed) == 37


def test_a_thousand_others_make_no_count_forgotten() -> None:
    who = uuid.uuid4().hex
    for _ in range(3):
        admit(what="test", who=who, at_most=3, per_s=3600)
    for _ in range(1000):
        admit(what="test", who=uuid.uuid4().hex, at_most=3, per_s=3600)
    with pytest.raises(TooMany):
        admit(what="test", who=who, at_most=3, per_s=3600)


def test_it_says_when_to_come_again() -> None:
    who = uuid.uuid4().hex
    admit(what="test", who=who, at_most=1, per_s=3600)
    with pytest.raises(TooMany) as refused:
        admit(what="test", who=who, at_most=1, per_s=3600)
    assert 0 < refused.value.retry_after_s <= 3600
    assert "seconds" in refused.value.hint


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, "6.6.6.6", "10.0.0.1"),
        (1, "6.6.6.6, 1.2.3.4", "1.2.3.4"),
        (2, "6.6.6.6, 1.2.3.4, 10.1.1.1", "1.2.3.4"),
        (1, "", "10.0.0.1"),
    ],
)
def test_forwarded_address_counts_only_behind_configured_proxies(proxies: int, forwarded: str, address: str) -> None:
    request = RequestFactory().get("/", REMOTE_ADDR="10.0.0.1", headers={"X-Forwarded-For": forwarded})
    with override_settings(PROXIES=proxies):
        assert client_address(request) == address
