"""The production form, hurt: PostgreSQL and Redis of its own are killed, emptied and taken away."""

import time

import psycopg
import pytest
import redis

from tests.faults.conftest import AWAY_S, Rounds
from tests.faults.ordeal import done_by_another, goes_on, killed_in_its_fit, ordeal, until_nobody_is_answered
from tests.faults.sites import Production
from tests.faults.unruly import go_through_unruly

pytestmark = [pytest.mark.postgresql_server, pytest.mark.redis_server]


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
            broken_off = killed_in_its_fit(under, lambda _pid: production.kill("worker"))
            production.start_one("worker")  # as whatever runs the containers would
            done_by_another(under, broken_off)
            under.more_judgments()
