"""Deliveries to real receivers on this machine: signatures, retries, and receivers that behave badly."""

import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.core import mail
from django.db import transaction
from django.utils import timezone

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.core import jobs
from evalsite.core.errors import Conflict
from evalsite.endpoints.key_rotation import endpoint_keys_rotate
from evalsite.judgments.person_erasure import person_erase
from evalsite.submissions.services import Accepted, submission_withdraw, submissions_accept
from evalsite.webhooks import sending
from evalsite.webhooks.models import Delivery, Webhook
from evalsite.webhooks.selectors import webhooks_of
from evalsite.webhooks.sending import WAITS
from evalsite.webhooks.services import (
    WebhookEvent,
    delivery_resend,
    event_record,
    webhook_create,
    webhook_pause,
    webhook_resume,
    webhook_rotate,
    webhook_test,
)
from evalsite.webhooks.signatures import signature
from tests.environment import PATIENCE_S
from tests.evalsite.cast import run_jobs
from tests.evalsite.submissions.steps import submit
from tests.evalsite.webhooks.receiver import answers, never_ends, parts
from tests.servers import Behaviour, hangs, raw_server

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def tell(user: User) -> None:
    event = WebhookEvent("submission.changed", uuid.uuid4(), timezone.now(), lambda: {"state": "joined"})
    event_record(webhooks=webhooks_of(user), event=event)


def work() -> None:
    """Do what a worker does in one round."""
    jobs.sweep()
    run_jobs()


def the_delivery() -> Delivery:
    return Delivery.objects.get()


def test_published_vector_of_the_specification() -> None:
    signed = signature(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        message_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp=1614265330,
        body='{"test": 2432232314}',
    )
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_message_is_signed_and_delivered(alice: User) -> None:
    with raw_server(answers(204, body=b"")) as server:
        _, secret = webhook_create(user=alice, url=server.url)
        tell(alice)
        run_jobs()
    headers, body = parts(server.requests[0])
    stamp = int(headers["webhook-timestamp"])
    assert headers["webhook-signature"] == signature(
        secret, message_id=headers["webhook-id"], timestamp=stamp, body=body
    )
    assert abs(stamp - timezone.now().timestamp()) < PATIENCE_S
    assert headers["webhook-id"].startswith("msg_")
    message = json.loads(body)
    assert (message["type"], message["data"]) == ("submission.changed", {"state": "joined"})
    delivery = the_delivery()
    assert (delivery.state, delivery.status, delivery.attempts) == ("delivered", 204, 1)


def test_receiver_that_fails_twice_then_accepts(alice: User) -> None:
    with raw_server(answers(500, 503, 200)) as server, time_machine.travel(NOON, tick=False) as clock:
        webhook_create(user=alice, url=server.url)
        tell(alice)
        work()
        assert the_delivery().next_attempt_at == NOON + WAITS[0]
        work()
        assert len(server.requests) == 1, "it waits"
        for wait in WAITS[:2]:
            clock.shift(wait)
            work()
    delivery = the_delivery()
    assert (delivery.state, delivery.attempts, delivery.status, delivery.response) == ("delivered", 3, 200, "ok")
    assert len({parts(request)[0]["webhook-id"] for request in server.requests}) == 1
    assert len({parts(request)[0]["webhook-timestamp"] for request in server.requests}) == 3


def test_owner_is_told_after_the_last_failure(alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    with raw_server(answers(500)) as server, time_machine.travel(NOON, tick=False) as clock:
        webhook_create(user=alice, url=server.url)
        tell(alice)
        work()
        for wait in WAITS:
            assert the_delivery().state == Delivery.State.QUEUED
            assert mail.outbox == []
            clock.shift(wait)
            work()
        tell(alice)
        clock.shift(timedelta(days=2))
        work()
    assert Delivery.objects.filter(state=Delivery.State.FAILED).get().attempts == len(WAITS) + 1
    assert [sent.to for sent in mail.outbox] == [["alice@example.org"]]
    assert "/account/webhooks/" in mail.outbox[0].body


def test_gone_disables_the_webhook(alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    with raw_server(answers(410)) as server:
        webhook, _ = webhook_create(user=alice, url=server.url)
        tell(alice)
        run_jobs()
        tell(alice)
        run_jobs()
        webhook.refresh_from_db()
        assert webhook.state == Webhook.State.DISABLED
        assert len(server.requests) == 1
        assert Delivery.objects.get().state == Delivery.State.FAILED
        assert "410" in mail.outbox[0].body
        with pytest.raises(Conflict):
            webhook_test(webhook=webhook)
        webhook_resume(webhook=webhook)
        webhook_test(webhook=webhook)


@pytest.mark.parametrize(
    ("behaviour", "error", "status"),
    [
        (answers(302, headers=["Location: http://169.254.169.254/latest/meta-data/"]), "redirect", 302),
        (never_ends, "too_large", 500),
        (hangs, "timeout", None),
    ],
    ids=["redirect to metadata", "endless body", "hang"],
)
def test_hostile_receiver_does_not_hold_up_others(
    alice: User, monkeypatch: pytest.MonkeyPatch, behaviour: Behaviour, error: str, status: int | None
) -> None:
    if behaviour is hangs:
        monkeypatch.setattr(sending, "TIMEOUT_S", 0.1)
    with raw_server(behaviour) as hostile, raw_server(answers(200)) as good:
        webhook_create(user=alice, url=hostile.url)
        webhook_create(user=alice, url=good.url)
        tell(alice)
        tell(alice)
        run_jobs()
    assert len(hostile.requests) == 1, "after a failure its other messages wait for the next round"
    assert len(good.requests) == 2
    failed = Delivery.objects.filter(webhook__url=hostile.url).order_by("pk")[0]
    assert (failed.state, failed.error, failed.status) == ("queued", error, status)
    assert len(failed.response) <= 1000


def test_name_that_leads_to_a_private_network_is_not_called(alice: User, settings: Any) -> None:
    webhook, _ = webhook_create(user=alice, url="https://localhost:8443/")
    settings.ENDPOINT_NETWORKS = ()
    webhook_test(webhook=webhook)
    run_jobs()
    delivery = the_delivery()
    assert (delivery.error, delivery.status) == ("address_refused", None)


def test_long_response_is_cut(alice: User) -> None:
    with raw_server(answers(500, body=b"\0\xff" + b"x" * 5000)) as server:
        webhook_create(user=alice, url=server.url)
        tell(alice)
        run_jobs()
    assert the_delivery().response == "\ufffd\ufffd" + "x" * 998


def test_rotated_secret_signs_for_a_day(alice: User) -> None:
    with raw_server(answers(200)) as server, time_machine.travel(NOON, tick=False) as clock:
        webhook, old = webhook_create(user=alice, url=server.url)
        new = webhook_rotate(webhook=webhook)
        webhook_test(webhook=webhook)
        work()
        clock.shift(timedelta(hours=24))
        webhook_test(webhook=webhook)
        work()
    signed = []
    for request in server.requests:
        headers, body = parts(request)
        stamp = int(headers["webhook-timestamp"])
        made = {
            signature(secret, message_id=headers["webhook-id"], timestamp=stamp, body=body): name
            for name, secret in {"old": old, "new": new}.items()
        }
        signed.append([made[one] for one in headers["webhook-signature"].split(" ")])
    assert signed == [["new", "old"], ["new"]]


def test_rotation_of_the_site_keys_keeps_the_secret(alice: User, settings: Any) -> None:
    with raw_server(answers(200)) as server:
        webhook, secret = webhook_create(user=alice, url=server.url)
        settings.ENDPOINT_KEYS = ["the-second-key-of-these-tests-012345678", *settings.ENDPOINT_KEYS]
        assert endpoint_keys_rotate().secrets == 1
        settings.ENDPOINT_KEYS = settings.ENDPOINT_KEYS[:1]
        webhook_test(webhook=webhook)
        run_jobs()
    headers, body = parts(server.requests[0])
    stamp = int(headers["webhook-timestamp"])
    assert headers["webhook-signature"] == signature(
        secret, message_id=headers["webhook-id"], timestamp=stamp, body=body
    )


def test_unreadable_secret_is_named_and_nothing_is_sent(alice: User, settings: Any) -> None:
    with raw_server(answers(200)) as server:
        webhook, _ = webhook_create(user=alice, url=server.url)
        settings.ENDPOINT_KEYS = ["the-third-key-of-these-tests-0123456789"]
        webhook_test(webhook=webhook)
        run_jobs()
    assert server.requests == []
    assert the_delivery().error == Delivery.Error.SECRET


def test_send_again_keeps_the_id_of_the_message(alice: User) -> None:
    with raw_server(answers(200)) as server:
        webhook_create(user=alice, url=server.url)
        tell(alice)
        run_jobs()
        delivery_resend(delivery=the_delivery())
        run_jobs()
    first, second = (parts(request) for request in server.requests)
    assert first[0]["webhook-id"] == second[0]["webhook-id"]
    assert first[1] == second[1]


def test_paused_webhook_gets_nothing_until_it_is_resumed(alice: User) -> None:
    with raw_server(answers(200)) as server:
        webhook, _ = webhook_create(user=alice, url=server.url)
        tell(alice)
        webhook_pause(webhook=webhook)
        tell(alice)
        work()
        assert server.requests == []
        webhook_resume(webhook=webhook)
        run_jobs()
    assert len(server.requests) == 1, "events during the pause are not recorded"


def test_submitter_is_told_each_change(alice: User, charlie: User, campaign: Campaign) -> None:
    submissions_accept(campaign=campaign, accepted=Accepted(admission="moderated"))
    with raw_server(answers(200)) as server:
        webhook_create(user=charlie, url=server.url)
        webhook_create(user=alice, url=f"{server.url}/of-the-owner")
        made = submit(campaign, charlie)
        submission_withdraw(submission=made, reason="It was a mistake.", by=charlie)
        run_jobs()
    told = [json.loads(parts(request)[1]) for request in server.requests]
    states = list(made.events.values_list("state", flat=True))
    assert [message["data"]["state"] for message in told] == states
    assert {message["data"]["submission"] for message in told} == {str(made.public_id)}
    assert told[-1]["data"]["reason"] == "It was a mistake."


def test_event_of_a_rolled_back_transaction_is_not_told(alice: User) -> None:
    webhook_create(user=alice, url="https://hooks.example/")
    with transaction.atomic():
        tell(alice)
        transaction.set_rollback(True)
    assert not Delivery.objects.exists()


def test_old_deliveries_are_deleted(alice: User) -> None:
    webhook, _ = webhook_create(user=alice, url="https://hooks.example/")
    tell(alice)
    webhook_pause(webhook=webhook)
    Delivery.objects.update(created_at=timezone.now() - timedelta(days=31))
    sending.old_deliveries_delete()
    assert not Delivery.objects.exists()


def test_erasure_of_a_person_deletes_their_webhooks(charlie: User) -> None:
    webhook_create(user=charlie, url="https://hooks.example/")
    tell(charlie)
    person_erase(user=charlie, parts=[])
    assert not Webhook.objects.exists()
    assert not Delivery.objects.exists()
