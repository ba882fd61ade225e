"""Celery tasks of the production form: run a job by its id, and the periodic sweep."""

import logging
import os
import socket
from collections.abc import Collection
from typing import Any

from celery import shared_task
from celery.signals import celeryd_after_setup, worker_process_init, worker_process_shutdown
from django.conf import settings

from evalsite.core import idempotency, jobs, tracing

log = logging.getLogger(__name__)


def owner() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


jobs.sweeps(idempotency.expired_keys_delete, every_s=10.0)
jobs.sweeps(jobs.done_jobs_delete, every_s=10.0)


def queues_warning(queues: Collection[str]) -> str:
    """Return a warning for the operator of a worker whose refits wait for other work; "" for none."""
    others = [name for name in (settings.SLOW_QUEUE, settings.INQUIRY_QUEUE, settings.CALL_QUEUE) if name in queues]
    if settings.QUEUE not in queues or not others:
        return ""
    queues = ", ".join(f"--queues {name}" for name in (settings.QUEUE, settings.SLOW_QUEUE, settings.INQUIRY_QUEUE))
    return (
        f"This worker takes refits first, but a refit waits while it is busy with a job of {' or '.join(others)} (a "
        f"question: up to {settings.INQUIRY_LIMIT_S} s; a full check, or slow endpoints: minutes). Where refits must "
        f"not wait, start one worker for each queue: {queues}, --queues {settings.CALL_QUEUE} --pool threads."
    )


@celeryd_after_setup.connect
def warn_of_queues(sender: str, instance: Any, **signal: Any) -> None:
    """Log the warning when a worker starts."""
    if warning := queues_warning(instance.app.amqp.queues.consume_from):
        log.warning(warning)


@worker_process_init.connect
def get_ready(**signal: Any) -> None:
    """Run the preparations in each worker process of Celery. The main process does no work itself."""
    jobs.prepare()


@worker_process_shutdown.connect
def finish(**signal: Any) -> None:
    """Send the last traces of a worker process."""
    tracing.flush()


@shared_task
def run_job(job_id: int) -> None:
    """Claim and run one job. A duplicate delivery finds nothing to claim and is harmless."""
    lease = jobs.job_claim(owner=owner(), job_id=job_id)
    if lease is not None:
        jobs.job_run(lease)


@shared_task
def run_apart() -> None:
    """Run one job of the APART lane: not a specific one, but that of the account whose turn it is."""
    jobs.work_apart(owner(), end=lambda: os._exit(1))


@shared_task
def sweep() -> None:
    """Run the periodic checks, and wake jobs whose message a broker lost."""
    jobs.sweep()
    for job_id, queue in jobs.jobs_due():
        job_send(job_id, queue)


def job_send(job_id: int, queue: str) -> None:
    """Send a wake-up for a job to the workers of its queue."""
    if queue == settings.INQUIRY_QUEUE:
        run_apart.apply_async((), queue=queue, retry=False)
    else:
        run_job.apply_async((job_id,), queue=queue, retry=False)
