"""The embedded form, hurt: whatever was confirmed is there, and the loop goes on by itself."""

import random
import resource
import sqlite3
import time

import pytest

from tests.faults.conftest import KILLS, Rounds
from tests.faults.ordeal import done_by_another, ordeal, struck_in_its_fit, until_nobody_is_answered
from tests.faults.sites import Embedded
from tests.faults.unruly import go_through_unruly


@pytest.mark.full
def test_the_worker_is_killed_in_the_middle_of_a_fit(embedded: Embedded, rounds: Rounds) -> None:
    with ordeal(embedded, "kill -9 of the worker in mid-fit") as under:
        for _ in rounds():
            broken_off = struck_in_its_fit(under, lambda _pid: embedded.kill("worker"))
            done_by_another(under, broken_off)
            under.more_judgments()


@pytest.mark.full
def test_the_web_process_is_killed_in_the_middle_of_requests(embedded: Embedded, rounds: Rounds) -> None:
    with ordeal(embedded, "kill -9 of web in mid-request") as under:
        for _ in rounds():
            cut_off = under.retried
            held = sqlite3.connect(embedded.file, isolation_level=None, timeout=20)
            held.execute("BEGIN IMMEDIATE")  # nobody else can write now: what comes in waits in the middle
            try:
                until_nobody_is_answered(under)
                embedded.kill("web")
            finally:
                held.execute("ROLLBACK")
                held.close()
            under.times += 1
            under.more_judgments()
            assert under.retried > cut_off


def test_the_whole_site_is_killed_at_random_moments(embedded: Embedded) -> None:
    rng = random.Random(1)
    left = KILLS
    assert left > 0
    while left:
        at_once = min(left, 10)
        with ordeal(embedded, "kill -9 of everything at random moments") as under:
            for _ in range(at_once):
                time.sleep(rng.uniform(0, 6))  # sometimes it has not even started
                embedded.kill_all()
                embedded.start()
                under.times += 1
                under.nothing_is_lost()  # after each; what needs rest is looked at after ten
        left -= at_once


@pytest.mark.full
def test_the_disk_is_full_for_a_while(embedded: Embedded, rounds: Rounds) -> None:
    with ordeal(embedded, "disk full") as under:
        for _ in rounds():
            writers = [*embedded.pids("web"), *embedded.pids("worker")]
            for pid in writers:  # the kernel refuses to let any file grow, as on a full disk
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
            refused = under.retried
            under.wait(lambda: under.retried > refused + 20, what="answers that cannot be kept")  # noqa: B023
            until_nobody_is_answered(under)
            for pid in writers:
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            under.times += 1
            under.more_judgments()


@pytest.mark.full
def test_requests_come_twice_late_and_their_answers_are_lost(embedded: Embedded, rounds: Rounds) -> None:
    go_through_unruly(embedded, rounds)
