"""Which work a Celery worker takes first, and what it says when refits may wait for other work."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from kombu import Connection, Message

from evalsite.celery import QUEUES, app
from evalsite.core.tasks import queues_warning
from tests.environment import PATIENCE_S, REDIS_URL
from tests.processes import forget_redis_keys


@pytest.fixture
def broker() -> Iterator[Connection]:
    """The broker with the settings of the production form and keys of its own."""
    prefix = f"touchstone-tests-{uuid.uuid4().hex[:8]}"
    options = {**settings.CELERY_BROKER_TRANSPORT_OPTIONS, "global_keyprefix": f"{prefix}:"}
    with Connection(REDIS_URL, transport_options=options) as connection:
        yield connection
    forget_redis_keys(REDIS_URL, prefix)


@pytest.mark.redis
@pytest.mark.database
def test_worker_of_all_queues_takes_refits_first(broker: Connection) -> None:
    channel: Any = broker.channel()
    taken: list[str] = []
    channel.basic_qos(0, 1, False)  # one at a time, as CELERY_WORKER_PREFETCH_MULTIPLIER says
    queues = [app.conf.task_queues[number].bind(channel) for number in range(len(QUEUES))]
    for queue in queues:
        queue.declare()
    producer = broker.Producer(channel)
    sent = (settings.CALL_QUEUE, settings.INQUIRY_QUEUE, settings.INQUIRY_QUEUE, settings.QUEUE, settings.QUEUE)
    for name in (*sent, settings.SLOW_QUEUE):
        producer.publish({}, routing_key=name, exchange=name)

    def take(body: object, message: Message) -> None:
        taken.append(message.delivery_info["routing_key"])
        message.ack()

    with broker.Consumer(queues, callbacks=[take], channel=channel):
        while len(taken) < 6:
            broker.drain_events(timeout=PATIENCE_S)
    wanted = [settings.QUEUE] * 2 + [settings.SLOW_QUEUE] + [settings.INQUIRY_QUEUE] * 2 + [settings.CALL_QUEUE]
    assert taken == wanted


def test_worker_of_all_queues_says_that_refits_may_wait() -> None:
    assert "a refit waits while it is busy" in queues_warning(QUEUES)


@pytest.mark.parametrize("queue", QUEUES)
def test_worker_of_one_queue_says_nothing(queue: str) -> None:
    assert queues_warning([queue]) == ""
