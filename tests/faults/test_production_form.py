"""The production form, hurt: PostgreSQL and Redis of its own are killed, emptied and taken away."""

import time

import pytest
import redis

from tests.faults.conftest import AWAY_S, Rounds
from tests.faults.ordeal import a_running_job, ordeal, still_running
from tests.faults.sites import Production

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


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_postgresql_is_restarted(production: Production, rounds: Rounds, mode: str) -> None:
    with ordeal(production, f"PostgreSQL restarted ({mode})") as under:
        for _ in rounds():
            production.cluster.stop(mode)
            production.cluster.start()
            under.times += 1
            under.more_judgments()


def test_the_worker_is_killed_in_the_middle_of_a_fit(production: Production, rounds: Rounds) -> None:
    with ordeal(production, "kill -9 of the Celery worker in mid-fit") as under:
        for _ in rounds():
            struck = False
            while not struck:
                job = a_running_job(under)
                production.kill("worker")
                struck = still_running(under, job)
                production.start_one("worker")  # as whatever runs the containers would
            under.times += 1
            under.more_judgments()
