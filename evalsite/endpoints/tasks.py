"""Calls by Celery, in the production form: its queue carries ids of endpoints that have work."""

import logging
import time
from typing import Any

from celery import current_app, shared_task
from django.conf import settings
from kombu import Exchange, Queue

from evalsite.core import jobs
from evalsite.core.tasks import owner
from evalsite.endpoints.caller import calls_run
from evalsite.endpoints.queue import calls_possible, endpoints_with_work, wakers

log = logging.getLogger(__name__)

SLICE_S = 20.0  # a task ends after so long, so that a worker of several queues returns to the others
MOST_MESSAGES, LONGEST_BACKLOG = 8, 500


@shared_task
def run_calls(endpoint_id: int) -> None:
    """Call an endpoint. A duplicate delivery finds nothing to claim, or shares the work."""
    calls_run(endpoint_id, owner=owner(), until=time.monotonic() + SLICE_S)


@jobs.sweeps
def callers_wake() -> None:
    """Wake callers for every endpoint with due requests, because a broker may have lost the message."""
    if not settings.PRODUCTION:
        return
    endpoints = endpoints_with_work()
    if endpoints and messages_waiting() < LONGEST_BACKLOG:
        for number in endpoints:
            callers_send(number)


def callers_send(endpoint_id: int) -> None:
    """Send messages for as many threads as the endpoint may keep busy now."""
    try:
        for _ in range(min(MOST_MESSAGES, calls_possible(endpoint_id))):
            run_calls.apply_async((endpoint_id,), queue=settings.CALL_QUEUE, retry=False)
    except Exception as error:  # noqa: BLE001  the rows are safe; the sweep sends again
        log.warning("broker not reachable, endpoint %s waits for the sweep: %s", endpoint_id, error)


def messages_waiting() -> int:
    """Return how many messages wait: without a worker of this queue they must not pile up."""
    with current_app.connection_for_write() as broker:
        queue: Any = Queue(settings.CALL_QUEUE, Exchange(settings.CALL_QUEUE), channel=broker.default_channel)
        return int(queue.queue_declare().message_count)


wakers.append(callers_send)
