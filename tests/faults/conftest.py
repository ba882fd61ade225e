"""The sites that are hurt (one of each form for all tests), and the table of what they survived.

`make test` kills one site once, `make test-full` goes through every fault, and `make chaos` does so for longer:
CHAOS_KILLS, CHAOS_MINUTES (of each other fault) and CHAOS_AWAY_S say how long.
"""

import os
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest
from pytest_django.plugin import DjangoDbBlocker

from tests.environment import FULL
from tests.faults.ordeal import OUTCOMES
from tests.faults.sites import Embedded, Production, Site

KILLS = int(os.environ.get("CHAOS_KILLS", "3" if FULL else "1"))
MINUTES = float(os.environ.get("CHAOS_MINUTES", "0"))
AWAY_S = float(os.environ.get("CHAOS_AWAY_S", "3"))
Rounds = Callable[[], Iterator[int]]
SiteT = TypeVar("SiteT", bound=Site)


@pytest.fixture(scope="session")
def embedded_site(tmp_path_factory: pytest.TempPathFactory, django_db_blocker: DjangoDbBlocker) -> Iterator[Embedded]:
    site = Embedded(tmp_path_factory.mktemp("embedded"))
    yield from served(site, django_db_blocker)


@pytest.fixture(scope="session")
def production_site(
    tmp_path_factory: pytest.TempPathFactory, django_db_blocker: DjangoDbBlocker
) -> Iterator[Production]:
    site = Production(tmp_path_factory.mktemp("production"))
    yield from served(site, django_db_blocker)


def served(site: SiteT, blocker: DjangoDbBlocker) -> Iterator[SiteT]:
    try:
        with blocker.unblock():
            site.fill()
        site.start()
        site.wait_until_ready()
        yield site
    finally:
        site.end()


@pytest.fixture(autouse=True)
def _databases_of_sites(django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """These tests look into the databases of whole sites, which pytest-django knows nothing of."""
    with django_db_blocker.unblock():
        yield


@pytest.fixture
def embedded(embedded_site: Embedded) -> Embedded:
    embedded_site.wait_until_ready()
    return embedded_site


@pytest.fixture
def production(production_site: Production) -> Production:
    production_site.wait_until_ready()
    return production_site


@pytest.fixture
def rounds() -> Rounds:
    """Once, or again and again until CHAOS_MINUTES are over."""

    def count() -> Iterator[int]:
        until, number = time.monotonic() + 60 * MINUTES, 0
        while not number or time.monotonic() < until:
            yield number
            number += 1

    return count


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not OUTCOMES:
        return
    terminalreporter.section("what survived what")
    head = ("site", "fault", "times", "confirmed", "lost", "sent again", "recovered in s")
    rows = [
        (one.site, one.fault, str(one.times), str(one.confirmed), "0", str(one.retried), f"{one.recovered_s:.1f}")
        for one in OUTCOMES
    ]
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    for row in [head, *rows]:
        terminalreporter.write_line("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)))
