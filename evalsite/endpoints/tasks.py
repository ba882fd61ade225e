"""Calls by Celery, in the production form: messages of its queue wake the caller of a worker process."""

import logging
import math
import threading
import time
from typing import Any

from celery import current_app, shared_task
from celery.signals import worker_shutting_down
from django.conf import settings
from django.core.cache import cache
from kombu import Exchange, Queue

from evalsite.core import jobs
from evalsite.core.tasks import owner
from evalsite.endpoints.caller import LINGER_S, SharedCaller
from evalsite.endpoints.queue import endpoints_with_work, wakers

log = logging.getLogger(__name__)

SLICE_S = 20.0  # a task ends after so long in a worker without threads, so that it returns to its other queues
MOST_MESSAGES, LONGEST_BACKLOG = 8, 500
WOKEN, WOKEN_S = "endpoints:woken", 1  # no further message for so long
assert WOKEN_S < LINGER_S  # noqa: S101  a woken caller sees the work of messages that were not sent

shared = SharedCaller(owner)


@shared_task(acks_late=False)
def run_calls(endpoint_id: int = 0) -> None:
    """Call all endpoints with work. A message to a process that is calling already has no effect.

    Messages of earlier releases carry the id of an endpoint.
    """
    has_threads = threading.current_thread() is not threading.main_thread()
    shared.wake(until=math.inf if has_threads else time.monotonic() + SLICE_S)


@worker_shutting_down.connect
def stop_calling(**signal: Any) -> None:
    """Begin no further calls. Those in progress have a few seconds."""
    shared.stop.set()


@jobs.sweeps
def callers_wake() -> None:
    """Wake callers while there are due requests: a broker may have lost the message, or one caller is not enough."""
    if not settings.PRODUCTION:
        return
    endpoints = endpoints_with_work()
    if endpoints and messages_waiting() < LONGEST_BACKLOG:
        messages_send(min(MOST_MESSAGES, len(endpoints)))


def caller_wake() -> None:
    """Wake a caller, unless one was woken a moment ago."""
    if cache.add(WOKEN, True, WOKEN_S):
        messages_send(1)


def messages_send(count: int) -> None:
    """Send so many messages: each one wakes one process at most."""
    try:
        for _ in range(count):
            run_calls.apply_async((), queue=settings.CALL_QUEUE, retry=False)
    except Exception as error:  # noqa: BLE001  the rows are safe; the sweep sends again
        log.warning("broker not reachable, calls wait for the sweep: %s", error)


def messages_waiting() -> int:
    """Return how many messages wait: without a worker of this queue they must not pile up."""
    with current_app.connection_for_write() as broker:
        queue: Any = Queue(settings.CALL_QUEUE, Exchange(settings.CALL_QUEUE), channel=broker.default_channel)
        return int(queue.queue_declare().message_count)


wakers.append(caller_wake)
