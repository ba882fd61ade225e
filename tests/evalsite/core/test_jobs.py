"""The outbox: nothing queued is lost, nothing runs twice at once, a zombie cannot publish."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from celery.signals import worker_process_init
from django.conf import settings
from django.db import InterfaceError, connection
from django.utils import timezone

from evalsite.core import jobs, worker
from evalsite.core.db import write_transaction
from evalsite.core.models import Job
from evalsite.core.tasks import sweep
from tests.environment import PATIENCE_S

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]


@pytest.fixture(autouse=True)
def unsettled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that begin in this process leave its heap as it is."""
    monkeypatch.setattr(jobs, "freeze_gc", lambda: None)


@pytest.fixture
def ran() -> Iterator[list[str]]:
    """The keys of the jobs of kind "note" that ran, in their order."""
    seen: list[str] = []

    @jobs.handles("note")
    def note(lease: jobs.Lease) -> None:
        seen.append(lease.key)
        if lease.args.get("fail"):
            raise RuntimeError("the worker stumbled")

    yield seen
    del jobs._handlers["note"]


def test_a_queued_job_runs_once(ran: list[str]) -> None:
    jobs.job_enqueue(kind="note", key="a")
    assert jobs.work_once("w1")
    assert not jobs.work_once("w1")
    assert ran == ["a"]
    assert Job.objects.get().state == Job.State.DONE


def test_asking_ten_times_while_it_waits_is_one_job(ran: list[str]) -> None:
    for _ in range(10):
        jobs.job_enqueue(kind="note", key="a")
    assert Job.objects.count() == 1


def test_asking_while_it_runs_queues_exactly_one_more(ran: list[str]) -> None:
    jobs.job_enqueue(kind="note", key="a")
    first = jobs.job_claim(owner="w1")
    assert first is not None
    jobs.job_enqueue(kind="note", key="a")
    jobs.job_enqueue(kind="note", key="a")
    assert Job.objects.count() == 2
    assert jobs.job_claim(owner="w2") is None, "the same key must not run twice at once"
    assert jobs.job_run(first)
    assert jobs.work_once("w2")
    assert ran == ["a", "a"]


def test_a_failing_job_is_tried_again_later_and_dies_at_last(ran: list[str]) -> None:
    jobs.job_enqueue(kind="note", key="a", args={"fail": True})
    job = Job.objects.get()
    for attempt in range(1, jobs.MAX_ATTEMPTS + 1):
        assert jobs.work_once("w1")
        job.refresh_from_db()
        assert job.attempts == attempt
        assert "stumbled" in job.last_error
        assert not jobs.work_once("w1"), "it must wait before it is tried again"
        Job.objects.update(run_after=timezone.now() - timedelta(seconds=1))
    assert job.state == Job.State.DEAD
    assert len(ran) == jobs.MAX_ATTEMPTS


def test_tireless_job_is_retried_forever_at_the_longest_back_off() -> None:
    @jobs.handles("climb", tireless=True)
    def climb(lease: jobs.Lease) -> None:
        raise RuntimeError("the worker stumbled")

    try:
        jobs.job_enqueue(kind="climb", key="a")
        job = Job.objects.get()
        for _ in range(jobs.MAX_ATTEMPTS + 3):
            assert jobs.work_once("w1")
            job.refresh_from_db()
            Job.objects.update(run_after=timezone.now() - timedelta(seconds=1))
        assert job.state == Job.State.QUEUED
        assert job.run_after - timezone.now() > jobs.LONGEST_BACKOFF - timedelta(minutes=1)
    finally:
        del jobs._handlers["climb"]
        jobs._tireless.discard("climb")


@pytest.mark.parametrize("newer", [False, True])
def test_job_with_repeatedly_dead_workers_is_delayed_and_retried(ran: list[str], newer: bool) -> None:
    jobs.job_enqueue(kind="note", key="a")
    for _ in range(jobs.MAX_ATTEMPTS):
        assert jobs.job_claim(owner="doomed") is not None
        Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    if newer:
        jobs.job_enqueue(kind="note", key="a")
    jobs.job_enqueue(kind="note", key="b")
    assert jobs.work_once("w2") or jobs.work_once("w2")
    assert ran == ["b"], "what may kill workers is not tried again at once, and keeps nobody else waiting"
    waiting = Job.objects.get(state=Job.State.QUEUED)
    assert (waiting.key, waiting.attempts) == ("a", jobs.MAX_ATTEMPTS)
    assert waiting.run_after > timezone.now()
    Job.objects.filter(pk=waiting.pk).update(run_after=timezone.now() - timedelta(seconds=1))
    assert jobs.work_once("w2")
    assert ran == ["b", "a"]
    assert not Job.objects.exclude(state=Job.State.DONE).exists(), "and nobody is alarmed"


def test_a_tireless_job_is_tried_however_often_its_workers_died() -> None:
    @jobs.handles("climb", tireless=True)
    def climb(lease: jobs.Lease) -> None:
        pass

    try:
        jobs.job_enqueue(kind="climb", key="a")
        Job.objects.update(attempts=jobs.MAX_DEATHS + 20)
        assert jobs.job_claim(owner="w1") is not None
        Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        assert jobs.job_claim(owner="w2") is None
        job = Job.objects.get()
        assert job.run_after - timezone.now() > jobs.LONGEST_BACKOFF - timedelta(minutes=1)
        Job.objects.update(run_after=timezone.now() - timedelta(seconds=1))
        assert jobs.work_once("w2")
        assert Job.objects.get().state == Job.State.DONE
    finally:
        del jobs._handlers["climb"]
        jobs._tireless.discard("climb")


def test_failed_job_yields_to_a_newer_queued_request(ran: list[str]) -> None:
    jobs.job_enqueue(kind="note", key="a", args={"fail": True})
    lease = jobs.job_claim(owner="w1")
    assert lease is not None
    jobs.job_enqueue(kind="note", key="a")
    assert not jobs.job_run(lease)
    first, second = Job.objects.order_by("pk")
    assert (first.state, second.state) == (Job.State.DONE, Job.State.QUEUED)
    assert "stumbled" in first.last_error, "whoever looks into it finds why there was another"
    assert second.attempts == 1


def test_expired_lease_lets_another_worker_claim_the_job(ran: list[str]) -> None:
    jobs.job_enqueue(kind="note", key="a")
    assert jobs.job_claim(owner="killed") is not None
    assert not jobs.work_once("w2")
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert jobs.work_once("w2")
    assert ran == ["a"]


def test_restarted_worker_claims_the_job_of_its_dead_predecessor(ran: list[str]) -> None:
    jobs.job_enqueue(kind="note", key="a")
    assert jobs.job_claim(owner="here:17") is not None
    assert jobs.leases_release(host="there", alive=lambda pid: False) == 0
    assert jobs.leases_release(host="here", alive=lambda pid: True) == 0
    assert not jobs.work_once("here:18")
    assert jobs.leases_release(host="here", alive=lambda pid: pid != 17) == 1
    assert jobs.work_once("here:18")
    assert ran == ["a"]


def test_a_worker_that_lost_its_lease_cannot_publish(ran: list[str]) -> None:
    jobs.job_enqueue(kind="note", key="a")
    zombie = jobs.job_claim(owner="zombie")
    assert zombie is not None
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    heir = jobs.job_claim(owner="heir")
    assert heir is not None
    with pytest.raises(jobs.LeaseLost), write_transaction():
        zombie.confirm()
    with write_transaction():
        heir.confirm()
    assert not jobs.job_run(zombie), "its end must not close the heir's job"
    assert Job.objects.get().state == Job.State.RUNNING


def test_a_job_whose_workers_always_die_ends_as_dead(ran: list[str]) -> None:
    jobs.job_enqueue(kind="note", key="a")
    died = 0
    while Job.objects.get().state != Job.State.DEAD:
        died += jobs.job_claim(owner="doomed") is not None
        long_ago = timezone.now() - timedelta(seconds=1)
        Job.objects.update(lease_until=long_ago, run_after=long_ago)
    assert died == jobs.MAX_DEATHS
    assert jobs.job_claim(owner="doomed") is None


@pytest.mark.parametrize(
    ("state", "days", "stays"), [("done", 8, False), ("done", 6, True), ("dead", 400, True), ("queued", 400, True)]
)
def test_only_what_was_done_long_ago_is_forgotten(state: str, days: int, stays: bool) -> None:
    jobs.job_enqueue(kind="note", key="a")
    then = timezone.now() - timedelta(days=days)
    Job.objects.update(state=state, run_after=then, created_at=then)
    jobs.done_jobs_delete()
    assert Job.objects.exists() == stays


def test_two_handlers_for_one_kind_are_refused(ran: list[str]) -> None:
    with pytest.raises(ValueError, match="two handlers"):
        jobs.handles("note")(lambda lease: None)


@pytest.mark.skipif(not settings.PRODUCTION, reason="the embedded form has no broker (TEST_FORM=production runs this)")
def test_a_wake_up_from_any_thread_goes_to_the_sites_broker() -> None:
    from django.core.cache import cache

    def waiting() -> int:
        return int(cache._cache.get_client().llen(f"{settings.REDIS_PREFIX}:touchstone"))  # type: ignore[attr-defined]

    before = waiting()
    thread = threading.Thread(target=jobs._wake, args=(1,))
    thread.start()
    thread.join()
    assert waiting() == before + 1


@pytest.mark.skipif(not settings.PRODUCTION, reason="the embedded form has no broker (TEST_FORM=production runs this)")
def test_slow_jobs_are_sent_and_resent_to_their_own_queue(ran: list[str]) -> None:
    from django.core.cache import cache

    def waiting() -> list[int]:
        client = cache._cache.get_client()  # type: ignore[attr-defined]
        return [int(client.llen(f"{settings.REDIS_PREFIX}:{name}")) for name in (settings.QUEUE, settings.SLOW_QUEUE)]

    quick, slow = waiting()
    jobs.job_enqueue(kind="full_check", key="check")
    assert waiting() == [quick, slow + 1]
    jobs.job_enqueue(kind="note", key="a")
    assert waiting() == [quick + 1, slow + 1]
    sweep()
    assert waiting() == [quick + 2, slow + 2]


def test_what_takes_minutes_is_due_in_a_queue_of_its_own(ran: list[str]) -> None:
    slow, quick = (jobs.job_enqueue(kind=kind, key=kind).pk for kind in ("full_check", "note"))
    assert dict(jobs.jobs_due()) == {slow: settings.SLOW_QUEUE, quick: settings.QUEUE}


def test_the_thread_for_slow_jobs_outlives_whatever_goes_wrong(ran: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "SWEEP_S", 0.01)
    monkeypatch.setattr(jobs, "_slow", {"note"})
    stop, looks = threading.Event(), 0
    claim = jobs.job_claim

    def claim_in_trouble(**given: Any) -> jobs.Lease | None:
        """The first look finds a connection that the database closed; the third ends the thread."""
        nonlocal looks
        looks += 1
        if looks == 1:
            raise InterfaceError("connection already closed")
        if looks == 3:
            stop.set()
        return claim(**given)

    monkeypatch.setattr(jobs, "job_claim", claim_in_trouble)
    jobs.job_enqueue(kind="note", key="a")
    worker._run_lane(stop, "w1:1", jobs.Lane.SLOW)
    assert ran == ["a"]


@pytest.mark.skipif(not settings.PRODUCTION, reason="SQLite has no server to lose (TEST_FORM=production runs this)")
def test_a_job_whose_connection_was_lost_is_tried_again_soon(ran: list[str]) -> None:
    @jobs.handles("cut off")
    def cut_off(lease: jobs.Lease) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    jobs.job_enqueue(kind="cut off", key="a")
    assert jobs.work_once("w1")
    job = Job.objects.get()
    assert job.state == Job.State.QUEUED, "it does not wait for its lease to end"
    assert job.run_after < timezone.now() + timedelta(seconds=10)
    del jobs._handlers["cut off"]


# The clock is set back -----------------------------------------------------------------------------------


def test_clock_set_back_does_not_delay_a_queued_job(ran: list[str]) -> None:
    with time_machine.travel(timezone.now() + timedelta(hours=2)):
        jobs.job_enqueue(kind="note", key="a")
    assert jobs.work_once("w1")
    assert ran == ["a"]


def test_job_from_before_the_clock_change_does_not_starve(ran: list[str]) -> None:
    with time_machine.travel(timezone.now() + timedelta(hours=2)):
        jobs.job_enqueue(kind="note", key="before")
    jobs.job_enqueue(kind="note", key="since")
    assert jobs.work_once("w1")
    jobs.job_enqueue(kind="note", key="since")
    assert jobs.work_once("w1")
    assert ran == ["before", "since"]


def test_a_job_that_was_queued_before_ends_all_the_same(ran: list[str]) -> None:
    with time_machine.travel(timezone.now() + timedelta(hours=2)):
        jobs.job_enqueue(kind="note", key="a")
        lease = jobs.job_claim(owner="w1")
    assert lease is not None
    assert jobs.job_run(lease)
    done = Job.objects.get()
    assert done.state == Job.State.DONE
    assert done.finished_at == done.created_at


def test_lease_hours_ahead_does_not_block_a_dead_workers_job(ran: list[str]) -> None:
    with time_machine.travel(timezone.now() + timedelta(hours=2)):
        jobs.job_enqueue(kind="note", key="a")
        assert jobs.job_claim(owner="dead") is not None
    assert jobs.work_once("w2")
    assert ran == ["a"]


def test_a_job_that_backs_off_waits_its_time(ran: list[str]) -> None:
    jobs.job_enqueue(kind="note", key="a", args={"fail": True})
    assert jobs.work_once("w1")
    assert not jobs.work_once("w1")
    assert ran == ["a"]


def test_failed_preparation_does_not_stop_the_worker(
    ran: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    may_end, prepared = threading.Event(), threading.Event()

    def fails() -> None:
        raise RuntimeError("no room to keep it")

    def waits() -> None:
        may_end.wait(PATIENCE_S)
        prepared.set()

    monkeypatch.setattr(jobs, "preparations", [fails, waits])
    thread = jobs.prepare()
    jobs.job_enqueue(kind="note", key="a")
    assert jobs.work_once("w1")
    assert ran == ["a"]
    assert not prepared.is_set()
    may_end.set()
    thread.join(30)
    assert prepared.is_set()
    assert "fails failed" in caplog.text


def test_both_forms_of_worker_rehearse_a_refit_when_they_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(jobs, "preparations", [lambda: begun.append("ready")])
    worker_process_init.send(sender=None)
    stop = threading.Event()
    stop.set()
    worker.work_until(stop)
    for thread in threading.enumerate():
        if thread.name == "preparations":
            thread.join(30)
    assert begun == ["ready", "ready"]


def test_what_a_worker_gets_ready_is_a_rehearsal_of_a_refit(monkeypatch: pytest.MonkeyPatch) -> None:
    rehearsed: list[bool] = []
    monkeypatch.setattr("scheduler.warmup.warm_up", lambda: rehearsed.append(True))
    jobs.prepare().join(30)
    assert rehearsed == [True]


def test_sweep_with_an_interval_runs_once_within_it() -> None:
    rare, usual = [], []
    jobs.sweeps(lambda: rare.append("ran"), every_s=3_600)
    jobs.sweeps(lambda: usual.append("ran"))
    jobs.sweep()
    jobs.sweep()
    assert (len(rare), len(usual)) == (1, 2)
