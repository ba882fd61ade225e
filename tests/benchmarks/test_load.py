"""The load benchmark at toy sizes: whole sites, every number finite, checks that can fail. Nothing is timed."""

import math
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from pytest_django.plugin import DjangoDbBlocker

from tests.benchmarks import load
from tests.benchmarks.load_traffic import EMPTY, Measured, Watch

TOY = load.Plan(
    seconds=3.0,
    sizes=(60,),
    connections=2,
    annotators=4,
    pause_s=0.5,
    chatbots=6,
    prompts=200,
    turns=2,
    batches_alone=1,
)
PRODUCTION = pytest.param("production", marks=[pytest.mark.postgresql_server, pytest.mark.redis_server])


@pytest.mark.full
@pytest.mark.parametrize("form", ["embedded", PRODUCTION])
def test_a_whole_site_is_loaded_and_every_number_is_there(
    form: str, tmp_path: Path, django_db_blocker: DjangoDbBlocker, capsys: pytest.CaptureFixture[str]
) -> None:
    with django_db_blocker.unblock():
        found = load.measure(form, TOY, tmp_path)
    assert len(found.growth) == 1
    row = dict(zip(load.HEAD, found.growth[0], strict=True))
    assert float(row["judgments/s"]) > 0
    assert float(row["bare/s"]) > 0
    assert float(row["CPU ms/judgment"]) > 0
    numbers = (found.ratio, found.ratio_of_work, found.p99, found.p99_alone, found.delay, found.delay_alone)
    assert all(math.isfinite(number) for number in (*numbers, found.of_due))
    assert found.fits > 0, "refits went on meanwhile"
    assert not [what for what in found.troubles if what.endswith("500")], found.troubles
    assert len(found.checks()) == 8
    assert "offered load" in capsys.readouterr().out


@pytest.mark.full
def test_a_worker_stopped_within_a_transaction_holds_everybody_up(
    tmp_path: Path, django_db_blocker: DjangoDbBlocker
) -> None:
    from tests.benchmarks.load_sites import LoadedEmbedded

    with django_db_blocker.unblock():
        site = LoadedEmbedded(tmp_path)
        site.fill()
        assert not site.is_held_up()
        with closing(sqlite3.connect(site.file, isolation_level=None)) as worker:
            worker.execute("BEGIN IMMEDIATE")
            assert site.is_held_up()
            worker.execute("COMMIT")
        assert not site.is_held_up()


def test_what_cannot_run_here_is_skipped_visibly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(load, "missing", lambda form: "no such server here")
    assert load.run(["production"], TOY) == 0
    assert "SKIP" in (printed := capsys.readouterr().out)
    assert "no such server here" in printed


def test_what_was_not_measured_fails_its_checks() -> None:
    assert [check.passed for check in load.Found("embedded").checks()] == [False] * 8


def test_one_request_that_broke_fails_its_check_and_an_empty_queue_does_not() -> None:
    def refused_or_broke(troubles: dict[str, int]) -> bool | None:
        checks = load.Found("embedded", growth=[("60",)], troubles=troubles).checks()
        return next(check.passed for check in checks if "broke" in check.name)

    assert refused_or_broke({EMPTY: 9})
    assert not refused_or_broke({EMPTY: 9, "answer 503": 1})


def test_the_ratio_is_that_of_the_size_that_bears_least() -> None:
    assert load.least(load.least(math.nan, 0.6), 0.4) == 0.4
    assert load.least(0.4, 0.6) == 0.4
    assert math.isnan(load.least(0.4, math.nan)), "what failed to be measured passes no check"


def test_times_are_told_by_kind_and_together() -> None:
    measured = Measured(lasted_s=2.0)
    for n in range(100):
        measured.note("answer", n / 1000)
    measured.note("claim", 5.0)
    assert measured.rate("answer") == 50
    assert measured.quantile(0.5, "answer") == 50
    assert measured.quantile(1.0, "answer", "claim") == 5000
    assert math.isnan(measured.quantile(0.5, "bare"))


def test_a_delay_is_from_the_closing_to_the_first_board_that_has_it_all() -> None:
    watch = Watch(0, "nobody")
    watch.seen = [(10.0, 100), (12.0, 150), (15.0, 400)]
    assert watch.delays([(9.0, 100), (11.0, 200), (14.5, 500)]) == [1.0, 4.0]
