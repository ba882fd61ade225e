"""What Celery carries in the production form: the id of a job, and the clock's tick."""

import os
import socket
from typing import Any

from celery import shared_task
from celery.signals import worker_process_init
from django.conf import settings

from evalsite.core import idempotency, jobs


def owner() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


jobs.sweeps(idempotency.keys_forget)
jobs.sweeps(jobs.jobs_forget)


@worker_process_init.connect
def get_ready(**signal: Any) -> None:
    """In each of Celery's processes: the one that answers to the broker does no work itself."""
    jobs.prepare()


@shared_task
def run_job(job_id: int) -> None:
    """Claim and run one job; a duplicate delivery finds nothing to claim and is harmless."""
    lease = jobs.job_claim(owner=owner(), job_id=job_id)
    if lease is not None:
        jobs.job_run(lease)


@shared_task
def run_apart() -> None:
    """Do one job of those that are done apart: not the one that was sent, but the one whose account's turn it is."""
    jobs.work_apart(owner(), end=lambda: os._exit(1))


@shared_task
def sweep() -> None:
    """Periodic checks, and a second wake-up for jobs whose first one a broker lost."""
    jobs.sweep()
    for job_id, queue in jobs.jobs_due():
        job_send(job_id, queue)


def job_send(job_id: int, queue: str) -> None:
    """Send word of a job to the workers of its queue."""
    if queue == settings.INQUIRY_QUEUE:
        run_apart.apply_async((), queue=queue, retry=False)
    else:
        run_job.apply_async((job_id,), queue=queue, retry=False)
