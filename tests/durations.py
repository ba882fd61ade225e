"""Processor time of every test: measured in each run, kept in durations.csv, and what `make quick` is chosen by.

A test's time is that of its call and of its own set-up, child processes included; rows that it shares with others
(tests/shared.py) and fixtures of a wider scope are not its own. Wall time would depend on what else the
machine does.
"""

import csv
import os
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).with_name("durations.csv")
QUICK_S = 0.1  # a test below this runs in `make quick`
QUICK_WITH_DATABASE_S = 0.04  # the same for tests of the service, which are many
LONG_S = 2.0  # a test above this is named at the end of a run, and needs a reason in house/slow_tests.csv
NEVER_QUICK = ("tests/journey/", "tests/faults/", "tests/browser/", "tests/benchmarks/")
PROPERTY = "processor_s"


class Shared:
    """Processor time of this process that belongs to no single test."""

    def __init__(self) -> None:
        self.total_s = 0.0
        self._depth = 0

    @contextmanager
    def spent(self) -> Iterator[None]:
        """Count what is spent inside; contexts may stand inside each other."""
        begin, self._depth = processor_s(), self._depth + 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                self.total_s += processor_s() - begin


shared = Shared()


def processor_s() -> float:
    """Return the processor seconds of this process and of its children that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def function_of(nodeid: str) -> str:
    """Return the test function of a test: its id without parameters."""
    return nodeid.partition("[")[0]


def read(path: Path = FILE) -> dict[str, float]:
    """Return function -> processor seconds of its longest case."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as lines:
        return {row["test"]: float(row["seconds"]) for row in csv.DictReader(lines)}


def write(seconds: dict[str, float], path: Path = FILE) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["seconds", "test"])
        rows.writerows([f"{value:.2f}", test] for test, value in sorted(seconds.items()))


def is_quick(nodeid: str, known: dict[str, float]) -> bool:
    """Tell whether a test belongs to `make quick`; a test that was never measured does."""
    limit = QUICK_WITH_DATABASE_S if nodeid.startswith("tests/evalsite/") else QUICK_S
    return not nodeid.startswith(NEVER_QUICK) and known.get(function_of(nodeid), 0.0) <= limit


class Measure:
    """The plugin: measures each test, and reports the lane's time and its longest tests."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.begin = time.monotonic()
        self.seconds: dict[str, float] = {}
        self.total = 0.0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None]:
        yield from self._measured(item)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        yield from self._measured(item)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        if fixturedef.scope == "function":
            return (yield)
        with shared.spent():
            return (yield)

    def _measured(self, item: pytest.Item) -> Generator[None]:
        begin, elsewhere = processor_s(), shared.total_s
        try:
            yield
        finally:
            spent = processor_s() - begin - (shared.total_s - elsewhere)
            item.user_properties.append((PROPERTY, spent))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "teardown":
            return
        spent = sum(float(str(value)) for name, value in report.user_properties if name == PROPERTY)
        test = function_of(report.nodeid)
        self.seconds[test] = max(spent, self.seconds.get(test, 0.0))
        self.total += spent

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        wall_s = time.monotonic() - self.begin
        lane = os.environ.get("TEST_LANE", "this run")
        wall = f"{wall_s // 60:.0f} min {wall_s % 60:.0f} s"
        terminalreporter.write_line(f"Time of {lane}: {wall} ({self.total:.0f} s of processor time in tests)")
        for test, spent in sorted(self.long_tests(), key=lambda one: -one[1]):
            terminalreporter.write_line(f"  {spent:6.1f} s of processor time: {test}")

    def pytest_sessionfinish(self) -> None:
        path = os.environ.get("TEST_DURATIONS")
        if path and not hasattr(self.config, "workerinput"):
            known = read(Path(path)) if Path(path).exists() else {}
            longest = {test: max(spent, known.get(test, 0.0)) for test, spent in self.seconds.items()}
            write(known | longest, Path(path))

    def long_tests(self) -> Iterable[tuple[str, float]]:
        return [(test, spent) for test, spent in self.seconds.items() if spent > LONG_S]


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Measure(config), "processor-time")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    known = read()
    for item in items:
        if is_quick(item.nodeid, known) and not item.get_closest_marker("full"):
            item.add_marker("quick")
