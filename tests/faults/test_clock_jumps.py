"""The machine's clock is set forward and back while people judge (libfaketime; nothing inside is replaced but `sleep`,
which that breaks)."""

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from pytest_django.plugin import DjangoDbBlocker

from evalsite.demo.services import SLUG
from tests.faults.conftest import Rounds, served
from tests.faults.ordeal import goes_on, ordeal
from tests.faults.sites import Embedded, Production, Site
from tests.processes import libfaketime, wait_for

pytestmark = [pytest.mark.faketime, pytest.mark.full]
SEEN_AFTER_S = 1


class Clock:
    """What the wall clock of a site, or of one of its processes, shows: so far beside the true time."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.set(timedelta(0))

    def set(self, ahead: timedelta) -> None:
        following = self.file.with_suffix(".next")
        following.write_text(f"{ahead.total_seconds():+.0f}\n")
        following.replace(self.file)  # at once: a half-written time is none

    @property
    def environment(self) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(libfaketime()),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_CACHE_DURATION": str(SEEN_AFTER_S),  # reading the file at every look would cost too much
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",  # as when a clock is set: what measures spans goes on
            "DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
        }


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    return Clock(tmp_path / "clock")


@pytest.fixture
def embedded(clock: Clock, tmp_path: Path, django_db_blocker: DjangoDbBlocker) -> Iterator[Embedded]:
    yield from served(Embedded(tmp_path / "data", clock.environment), django_db_blocker)


@pytest.fixture
def production(clock: Clock, tmp_path: Path, django_db_blocker: DjangoDbBlocker) -> Iterator[Production]:
    """Its web, worker and beat have the clock; PostgreSQL and Redis are on another machine, whose clock is right."""
    (tmp_path / "data").mkdir()
    yield from served(Production(tmp_path / "data", clock.environment), django_db_blocker)


def test_the_clock_of_the_embedded_form_is_set_forward_and_back(
    embedded: Embedded, clock: Clock, rounds: Rounds
) -> None:
    go_through_times(embedded, clock, rounds)


@pytest.mark.postgresql_server
@pytest.mark.redis_server
def test_the_clock_of_web_worker_and_beat_is_set_forward_and_back(
    production: Production, clock: Clock, rounds: Rounds
) -> None:
    go_through_times(production, clock, rounds)


@pytest.mark.postgresql_server
@pytest.mark.redis_server
def test_a_worker_whose_clock_is_a_minute_ahead_sweeps_like_any_other(
    clock: Clock, tmp_path: Path, django_db_blocker: DjangoDbBlocker
) -> None:
    """A batch that is not filled closes by its age, and that is a sweep's to see."""
    clock.set(timedelta(minutes=1))
    for site in served(Production(tmp_path, of_one={"worker": clock.environment}), django_db_blocker):
        token = site.http.post("/api/v1/annotators", json={"campaign": SLUG}).json()["token"]
        as_annotator = {"Authorization": f"Bearer {token}"}
        assignment = wait_for(lambda: a_claim(site, as_annotator), what="a first plan")  # noqa: B023
        said = {"answers": [{"aspect": "overall", "choice": "A"}]}
        answer = site.http.post(f"/api/v1/assignments/{assignment}/judgment", json=said, headers=as_annotator)
        assert answer.is_success
        wait_for(lambda: (site.board_now() or {}).get("snapshot"), what="a board")  # noqa: B023


def a_claim(site: Site, headers: dict[str, str]) -> str | None:
    """One assignment, if there is any to be had."""
    block = site.http.post(f"/api/v1/campaigns/{SLUG}/claims", json={}, headers=headers).json()
    return next((row["id"] for row in block.get("assignments", [])), None)


def go_through_times(site: Site, clock: Clock, rounds: Rounds) -> None:
    with ordeal(site, "clock set forward and back by hours") as under:
        for _ in rounds():
            for hours in (2, -2):
                clock.set(timedelta(hours=hours))
                time.sleep(2 * SEEN_AFTER_S)
                under.times += 1
                under.more_judgments()
                goes_on(site)
