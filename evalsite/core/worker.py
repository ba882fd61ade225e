"""Embedded worker: claims and runs jobs, and sweeps, in one process beside the web process.

It polls the outbox ten times a second and needs no broker. An idle poll costs a third of a millisecond. In production,
Celery's workers call the same functions.
"""

import logging
import os
import subprocess
import threading
import time

from django.db import DatabaseError, OperationalError, close_old_connections

from evalsite.core import jobs
from evalsite.core.db import checkpoint
from evalsite.core.installation import command_line
from evalsite.core.supervisor import WATCH_PARENT
from evalsite.core.tasks import owner

log = logging.getLogger(__name__)

POLL_S = 0.1
SWEEP_S = 1.0
IDLE_S = 300.0  # so that a person who changes a form again and again waits for no new process
OUTBOUND_THREADS = 4  # each waits for one server of somebody else
GIVEN_UP = 70  # exit status of a process that aborted a job at its time limit
CHECKPOINT_S = 0.5


def process_alive(pid: int) -> bool:
    """Return whether another process of this host has this id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return pid != os.getpid()  # an earlier lease is not ours, even with the same process id


def work_until(stop: threading.Event) -> None:
    """Work until `stop` is set. A running job is finished first.

    Slow and outbound jobs run in threads of their own and are not waited for. The next worker starts them anew.
    """
    name, next_sweep = owner(), 0.0
    jobs.leases_release(host=name.rpartition(":")[0], alive=process_alive)
    jobs.prepare()
    threads = {jobs.Lane.SLOW: 1, jobs.Lane.OUTBOUND: OUTBOUND_THREADS}
    for lane in (lane for lane, many in threads.items() for _ in range(many)):
        threading.Thread(target=_run_lane, args=(stop, name, lane), name=f"{lane}-jobs", daemon=True).start()
    threading.Thread(target=_supervise_inquiries, args=(stop,), name="jobs-apart", daemon=True).start()
    threading.Thread(target=_checkpoint, args=(stop,), name="checkpoints", daemon=True).start()
    while not stop.is_set():
        try:
            if time.monotonic() >= next_sweep:
                jobs.sweep()
                next_sweep = time.monotonic() + SWEEP_S
            worked = jobs.work_once(name, lane=jobs.Lane.PLAIN)
        except OperationalError:
            log.exception("the database did not answer; trying again")
            close_old_connections()
            worked = False
            stop.wait(1.0)
        if not worked:
            stop.wait(POLL_S)


def work_apart_until(stop: threading.Event, *, idle_s: float = IDLE_S) -> None:
    """Answer inquiries in this separate process until none has come for `idle_s`.

    A job beyond its time limit ends the process. The worker then starts another one. Nothing is prepared here: the
    worker compiles kernels already, and a second compilation would slow down the first answer.
    """
    name, last = owner(), time.monotonic()
    while not stop.is_set() and time.monotonic() - last < idle_s:
        try:
            worked = jobs.work_apart(name, end=lambda: os._exit(GIVEN_UP))
        except OperationalError:
            log.exception("the database did not answer; trying again")
            close_old_connections()
            worked = False
        if worked:
            last = time.monotonic()
        else:
            stop.wait(POLL_S)


def _supervise_inquiries(stop: threading.Event) -> None:
    """Start the process for inquiries whenever an inquiry is due and none runs.

    Refits therefore wait neither for its answers nor for its share of the interpreter.
    """
    process: subprocess.Popen[bytes] | None = None
    while not stop.wait(2 * POLL_S):
        try:
            if (process is None or process.poll() is not None) and jobs.job_is_due_in(jobs.Lane.APART):
                environment = {**os.environ, WATCH_PARENT: str(os.getpid())}
                process = subprocess.Popen(command_line("worker", "--apart"), env=environment)  # noqa: S603
        except Exception:  # an ended thread would go unnoticed
            log.exception("the process for questions could not be started; trying again")
            close_old_connections()
            stop.wait(1.0)


def _run_lane(stop: threading.Event, name: str, lane: jobs.Lane) -> None:
    while not stop.wait(SWEEP_S):
        try:
            while not stop.is_set() and jobs.work_once(name, lane=lane):
                pass
        except Exception:  # an ended thread would go unnoticed
            log.exception("%s jobs could not be looked for; trying again", lane)
            close_old_connections()
            stop.wait(1.0)


def _checkpoint(stop: threading.Event) -> None:
    """Run checkpoints here, so that no annotator's request spends time on them."""
    while not stop.wait(CHECKPOINT_S):
        try:
            checkpoint()
        except DatabaseError:  # the next writer does it and reports the error
            close_old_connections()
