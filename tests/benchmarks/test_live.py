"""The benchmark of live conversations at a toy size: every number is there, and kills lose nothing."""

import math
from pathlib import Path

import pytest
from pytest_django.plugin import DjangoDbBlocker

from tests.benchmarks import live

TOY = live.LivePlan(people=3, turns=2, kills=1, pause_s=0.3, pages_s=1.0)
PRODUCTION = pytest.param("production", marks=[pytest.mark.postgresql_server, pytest.mark.redis_server])


@pytest.mark.full
@pytest.mark.parametrize("form", ["embedded", PRODUCTION])
def test_kills_of_every_part_lose_no_conversation(
    form: str, tmp_path: Path, django_db_blocker: DjangoDbBlocker
) -> None:
    with django_db_blocker.unblock():
        found = live.measure(form, TOY, tmp_path)
    assert found.turns >= TOY.people * TOY.turns * 2
    assert not +found.faults, found.faults
    numbers = (found.release_ms, found.poll_ms, found.page_ms, found.page_alone_ms)
    assert all(math.isfinite(number) for number in numbers)


def test_checks_fail_where_something_is_lost_or_nothing_was_measured() -> None:
    found = live.LiveFound("embedded", release_ms=100, poll_ms=410, page_ms=20, page_alone_ms=19, turns=10)
    assert [check.passed for check in found.checks(kills=0)] == [True] * 4
    found.faults["turns judged twice"] += 1
    assert [check.passed for check in found.checks(kills=0)] == [True, True, True, False]
    assert not any(check.passed for check in live.LiveFound("embedded").checks(kills=0))
