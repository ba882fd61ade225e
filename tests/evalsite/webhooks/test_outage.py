"""A receiver that is down for an hour gets each message once it is back, in order for each object."""

import json
import socket
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.db.models import Min, QuerySet
from django.utils import timezone

from evalsite.accounts.models import User
from evalsite.core import jobs
from evalsite.webhooks.models import Delivery
from evalsite.webhooks.selectors import webhooks_of
from evalsite.webhooks.sending import WAITS
from evalsite.webhooks.services import WebhookEvent, delivery_resend, event_record, webhook_create
from tests.evalsite.cast import run_jobs
from tests.evalsite.webhooks.receiver import parts
from tests.servers import RawServer, raw_server, response

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
BACK = NOON + timedelta(hours=1)
OBJECTS = (uuid.UUID(int=1), uuid.UUID(int=2))


@dataclass
class Receiver:
    """A program that closes connections until it is back. It keeps each message once, by its `webhook-id`.

    lost: requests after that which it processes, and whose response gets lost.
    """

    lost: int = 0
    server: RawServer | None = None
    kept: dict[str, tuple[str, int]] = field(default_factory=dict)
    accepted: list[str] = field(default_factory=list)

    def behave(self, connection: socket.socket, ended: threading.Event) -> None:
        assert self.server is not None
        headers, body = parts(self.server.requests[-1])
        if timezone.now() < BACK:
            return
        data, name = json.loads(body)["data"], headers["webhook-id"]
        self.kept.setdefault(name, (data["object"], data["number"]))
        if self.lost:
            self.lost -= 1
            return
        self.accepted.append(name)
        connection.sendall(response(b"ok"))


@pytest.fixture
def receiver(alice: User) -> Iterator[Receiver]:
    made = Receiver()
    with raw_server(made.behave) as server, time_machine.travel(NOON, tick=False):
        made.server = server
        webhook_create(user=alice, url=server.url)
        yield made


def tell(user: User, about: uuid.UUID, number: int) -> None:
    data = {"object": str(about), "number": number}
    event_record(webhooks=webhooks_of(user), event=WebhookEvent("x.changed", about, timezone.now(), lambda: data))


def work() -> None:
    """Do what a worker does in one round."""
    jobs.sweep()
    run_jobs()


def outage(user: User, clock: time_machine.Traveller) -> None:
    """Let an event happen every ten minutes while the receiver is down, and deliver until nothing is queued."""
    for number in range(6):
        tell(user, OBJECTS[number % 2], number)
        work()
        clock.shift(timedelta(minutes=10))
    while queued().exists():
        now = timezone.now()
        due = queued().filter(next_attempt_at__gt=now).aggregate(at=Min("next_attempt_at"))["at"]
        clock.move_to(due or now + timedelta(seconds=2))
        work()


def queued() -> QuerySet[Delivery]:
    return Delivery.objects.filter(state=Delivery.State.QUEUED)


def numbers(receiver: Receiver, about: uuid.UUID) -> list[int]:
    """Return the messages about an object in the order in which the receiver kept them."""
    return [number for name, number in receiver.kept.values() if name == str(about)]


def test_each_message_arrives_once_after_an_outage(alice: User, receiver: Receiver) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        outage(alice, clock)
    assert sorted(receiver.accepted) == sorted(Delivery.objects.values_list("message_id", flat=True))
    assert [numbers(receiver, about) for about in OBJECTS] == [[0, 2, 4], [1, 3, 5]]
    assert not Delivery.objects.exclude(state=Delivery.State.DELIVERED).exists()


def test_message_whose_response_is_lost_keeps_its_place(alice: User, receiver: Receiver) -> None:
    receiver.lost = 2
    with time_machine.travel(NOON, tick=False) as clock:
        outage(alice, clock)
    assert len(receiver.kept) == len(receiver.accepted) == 6
    assert [numbers(receiver, about) for about in OBJECTS] == [[0, 2, 4], [1, 3, 5]]


def test_message_that_is_given_up_lets_the_next_one_go(alice: User, receiver: Receiver) -> None:
    for number in range(2):
        tell(alice, OBJECTS[0], number)
    first, second = Delivery.objects.order_by("pk")
    Delivery.objects.filter(pk=first.pk).update(attempts=len(WAITS))
    work()
    with time_machine.travel(BACK, tick=False):
        work()
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.state, second.state) == (Delivery.State.FAILED, Delivery.State.DELIVERED)


def test_message_that_is_sent_again_waits_for_earlier_ones(alice: User, receiver: Receiver) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        for number in range(2):
            tell(alice, OBJECTS[0], number)
        work()
        clock.move_to(BACK)
        first, second = Delivery.objects.order_by("pk")
        Delivery.objects.filter(pk=first.pk).update(next_attempt_at=BACK + timedelta(hours=1))
        delivery_resend(delivery=second)
        work()
        assert receiver.accepted == []
        delivery_resend(delivery=first)
        work()
    assert numbers(receiver, OBJECTS[0]) == [0, 1]
