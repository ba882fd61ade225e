"""The production form, hurt: PostgreSQL and Redis of its own are killed, emptied and taken away."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import pairwise

import psycopg
import pytest
import redis
from django.utils import timezone

from evalsite.boards.models import Refit
from evalsite.campaigns.services import REFIT
from evalsite.core.models import Job
from tests.faults.annotators import judging
from tests.faults.conftest import AWAY_S, Rounds
from tests.faults.ordeal import Ordeal, done_by_another, goes_on, ordeal, struck_in_its_fit, until_nobody_is_answered
from tests.faults.sites import Production
from tests.faults.unruly import go_through_unruly

pytestmark = [pytest.mark.postgresql_server, pytest.mark.redis_server, pytest.mark.full]


def test_redis_is_restarted_and_has_forgotten_everything(production: Production, rounds: Rounds) -> None:
    with ordeal(production, "Redis killed and started empty") as under:
        for _ in rounds():
            production.broker.kill()
            production.broker.start()
            under.times += 1
            under.more_judgments()


def test_redis_is_flushed(production: Production, rounds: Rounds) -> None:
    with ordeal(production, "Redis flushed") as under, redis.Redis.from_url(production.broker.url) as broker:
        for _ in rounds():
            broker.flushall()
            under.times += 1
            under.more_judgments()


def test_people_go_on_judging_while_the_broker_is_away(production: Production, rounds: Rounds) -> None:
    with ordeal(production, f"Redis away for {AWAY_S:.0f} s") as under:
        for _ in rounds():
            production.broker.kill()
            under.more_judgments()  # nobody who judges needs it
            time.sleep(AWAY_S)
            production.broker.start()
            under.times += 1
            goes_on(production)  # the next time finds a queue again: nobody fills it while the broker is away


def test_one_sweep_waits_however_long_no_worker_takes_it(production: Production) -> None:
    """And beat says that it goes on: each time it has sent one, or seen that one waits."""
    with ordeal(production, "the Celery worker away, then back") as under:
        production.kill("worker")
        for _ in range(4):
            beat_goes_on(production, under)
        assert sweeps_waiting(production) == 1
        production.start_one("worker")
        under.times += 1
        under.wait(lambda: not sweeps_waiting(production), what="a worker that takes it")


def beat_goes_on(site: Production, under: Ordeal) -> None:
    sent = site.folder / "beat.sent"
    before = sent.stat().st_mtime_ns
    under.wait(lambda: sent.stat().st_mtime_ns > before, what="a beat that goes on")


def sweeps_waiting(site: Production) -> int:
    with redis.Redis.from_url(site.broker.url) as broker:
        return sum(b"evalsite.core.tasks.sweep" in one for one in broker.lrange("touchstone:touchstone", 0, -1))


def test_beat_does_not_say_that_it_goes_on_while_the_broker_is_away(production: Production, rounds: Rounds) -> None:
    with ordeal(production, "Redis away, as beat sees it") as under:
        production.broker.kill()
        time.sleep(1)  # what was under way
        before = (production.folder / "beat.sent").stat().st_mtime_ns
        log = production.folder / "beat.log"
        failed = log.read_text().count("Message Error")
        under.wait(lambda: log.read_text().count("Message Error") > failed, what="a sweep not sent")
        assert (production.folder / "beat.sent").stat().st_mtime_ns == before
        production.broker.start()
        under.times += 1
        beat_goes_on(production, under)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_postgresql_is_restarted(production: Production, rounds: Rounds, mode: str) -> None:
    with ordeal(production, f"PostgreSQL restarted ({mode})") as under:
        for _ in rounds():
            production.cluster.stop(mode)
            production.cluster.start()
            under.times += 1
            under.more_judgments()


def test_people_are_told_while_postgresql_is_away_and_what_was_under_way_is_whole_or_not_there(
    production: Production, rounds: Rounds
) -> None:
    with ordeal(production, f"PostgreSQL away for {AWAY_S:.0f} s") as under:
        for _ in rounds():
            # Whoever answers now has written, and waits for the row that closes the batch: cut off there.
            with psycopg.connect(production.cluster.url) as held:
                held.execute("SELECT 1 FROM judgments_batch WHERE state = 'open' FOR UPDATE")
                until_nobody_is_answered(under)
                told = under.ledger.told(503)
                production.cluster.stop("immediate")
                held.close()
            try:
                until = time.monotonic() + AWAY_S
                while time.monotonic() < until:
                    tells_that_it_is_away(production)
                    time.sleep(0.2)
            finally:
                production.cluster.start()
            assert under.ledger.told(503) > told
            under.times += 1
            under.more_judgments()


def tells_that_it_is_away(site: Production) -> None:
    board = site.http.get("/api/v1/boards/demonstration")
    assert (board.status_code, board.json()["error"]["code"]) == (503, "unavailable")
    page = site.http.get("/boards/demonstration/")
    assert page.status_code == 503
    assert "The database of this site does not answer" in page.text
    assert int(board.headers["Retry-After"]) == int(page.headers["Retry-After"]) > 0


def test_a_web_server_is_killed_in_the_middle_of_requests(production: Production, rounds: Rounds) -> None:
    with ordeal(production, "kill -9 of web in mid-request") as under:
        for _ in rounds():
            cut_off = under.retried
            # Whoever answers now waits for the row that counts answers: cut off there.
            with psycopg.connect(production.cluster.url) as held:
                held.execute("SELECT 1 FROM judgments_batch WHERE state = 'open' FOR UPDATE")
                until_nobody_is_answered(under)
                production.kill("web")
                held.rollback()
            production.start_one("web")  # as whatever runs the containers would
            under.times += 1
            under.more_judgments()
            assert under.retried > cut_off


def test_requests_come_twice_late_and_their_answers_are_lost(production: Production, rounds: Rounds) -> None:
    """Two web processes: the copies of one request may be answered by different ones at the same moment."""
    go_through_unruly(production, rounds)


def test_the_worker_is_killed_in_the_middle_of_a_fit(production: Production, rounds: Rounds) -> None:
    with ordeal(production, "kill -9 of the Celery worker in mid-fit") as under:
        for _ in rounds():
            broken_off = struck_in_its_fit(under, lambda _pid: production.kill("worker"))
            production.start_one("worker")  # as whatever runs the containers would
            done_by_another(under, broken_off)
            under.more_judgments()


WORKERS = ("worker", "worker 2")


def test_two_workers_do_everything_once_and_one_goes_on_where_the_other_breaks_off(
    production: Production, rounds: Rounds
) -> None:
    """Two web servers, too. One worker is killed in mid-fit; then one is halted there, and comes back too late."""
    fault = "kill -9, then a halt, of one of two workers in mid-fit"
    with two_of_each(production), ordeal(production, fault) as under, judging(production.second_url, under.ledger):
        for _ in rounds():
            began = timezone.now()
            under.wait(lambda: both_have_refitted(production, began), what="refits by both workers")  # noqa: B023
            one_is_killed(production, under)
            one_is_halted(production, under)
            under.more_judgments()
            assert overlaps(production, began) == []


@contextmanager
def two_of_each(site: Production) -> Iterator[None]:
    others = ("web 2", "worker 2")
    for name in others:
        site.start_one(name)
    try:
        site.wait_until_ready(site.second_url)
        yield
    finally:
        site.end_these(*others)


def one_is_killed(site: Production, under: Ordeal) -> None:
    """It stays away until the other one has done its refit, for which the dead one's lease must end."""
    broken_off = struck_in_its_fit(
        under, lambda pid: site.kill(worker_of(site, pid)), mend=lambda _pid: start_the_dead(site)
    )
    done_by_another(under, broken_off)
    with site.inside():
        anew = Refit.objects.filter(board__slice_of=None, pk__gt=broken_off.last).earliest("pk")
    assert broken_off.job.lease_until is not None
    assert anew.started_at >= broken_off.job.lease_until
    start_the_dead(site)


def one_is_halted(site: Production, under: Ordeal) -> None:
    """As a machine that hangs: what it has fitted when it goes on again is no longer wanted, and dropped."""
    broken_off = struck_in_its_fit(
        under, lambda pid: os.kill(pid, signal.SIGSTOP), mend=lambda pid: os.kill(pid, signal.SIGCONT)
    )
    dropped = f"job {broken_off.job.pk} (refit): lease lost, result dropped"
    try:
        done_by_another(under, broken_off)
        assert dropped not in site.log()
    finally:
        os.kill(broken_off.pid, signal.SIGCONT)
    under.wait(lambda: dropped in site.log(), what="the word of the worker that came too late")


def worker_of(site: Production, pid: int) -> str:
    return next((name for name in WORKERS if pid in site.pids(name)), "")


def start_the_dead(site: Production) -> None:
    for name in WORKERS:
        if site.started[name].poll() is not None:
            site.start_one(name)


def both_have_refitted(site: Production, since: datetime) -> bool:
    with site.inside():
        done = Job.objects.filter(kind=REFIT, state=Job.State.DONE, finished_at__gt=since)
        owners = set(done.values_list("lease_owner", flat=True))
    return {worker_of(site, int(owner.rpartition(":")[2])) for owner in owners} >= set(WORKERS)


def overlaps(site: Production, since: datetime) -> list[str]:
    """Refits of one board that began before an earlier one was over."""
    with site.inside():
        made = Refit.objects.filter(board__slice_of=None, started_at__gt=since).order_by("board", "pk")
        return [
            f"{second} began at {second.started_at}, {first} ended at {first.finished_at}"
            for first, second in pairwise(made.select_related("board"))
            if first.board == second.board and second.started_at < first.finished_at
        ]
