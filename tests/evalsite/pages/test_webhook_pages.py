"""The pages of webhooks: added and shown once, listed, tested, paused, rotated, deleted; the log sends again."""

import re
from typing import Any

import pytest
from django.test import Client

from evalsite.accounts.models import User
from evalsite.webhooks.models import Delivery, Webhook
from evalsite.webhooks.services import webhook_create, webhook_test
from tests.evalsite.pages.reading import Page

LIST = "/account/webhooks/"
URL = "https://hooks.example/in"


@pytest.fixture(autouse=True)
def keys(settings: Any) -> None:
    """Let both forms keep secrets."""
    settings.ENDPOINT_KEYS = ["the-first-key-of-these-tests-0123456789"]


@pytest.fixture
def webhook(alice: User) -> Webhook:
    return webhook_create(user=alice, url=URL)[0]


@pytest.fixture
def page(webhook: Webhook) -> str:
    return f"{LIST}{webhook.public_id}/"


def secret_in(html: str) -> str:
    found = re.search(r'id="secret"[^>]*value="(whsec_[^"]+)"', html)
    return found.group(1) if found else ""


def test_added_webhook_shows_its_secret_once(owner: Client) -> None:
    secret = secret_in(Page(owner.post(LIST, {"url": URL})).html)
    assert secret
    listed = owner.get(LIST)
    assert URL in listed.content.decode()
    assert secret not in listed.content.decode()
    assert "no-store" in listed["Cache-Control"]


def test_address_of_a_private_network_is_refused_on_the_page(owner: Client) -> None:
    answer = owner.post(LIST, {"url": "https://169.254.169.254/"})
    assert answer.status_code == 400
    assert "does not call" in Page(answer).words
    assert not Webhook.objects.exists()


def test_test_message_appears_in_the_log(owner: Client, page: str) -> None:
    words = Page(owner.post(f"{page}test/", follow=True)).words
    assert "webhook.test" in words
    assert "queued" in words


def test_log_escapes_the_response_and_sends_again(owner: Client, webhook: Webhook, page: str) -> None:
    delivery = webhook_test(webhook=webhook)
    Delivery.objects.update(state="failed", status=500, attempts=10, response="<script>alert(1)</script>")
    html = owner.get(page).content.decode()
    assert "<script>alert" not in html
    assert "status 500" in html
    owner.post(f"{page}deliveries/{delivery.public_id}/again/")
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts) == ("queued", 0)


def test_webhook_is_paused_and_resumed(owner: Client, webhook: Webhook, page: str) -> None:
    for act, state in (("pause", "paused"), ("resume", "active")):
        owner.post(f"{page}{act}/")
        webhook.refresh_from_db()
        assert webhook.state == state


def test_rotation_and_deletion_ask_first(owner: Client, webhook: Webhook, page: str) -> None:
    assert owner.get(f"{page}secret/").status_code == 200
    assert webhook.secrets.count() == 1
    assert secret_in(owner.post(f"{page}secret/").content.decode())
    assert webhook.secrets.count() == 2
    assert owner.get(f"{page}delete/").status_code == 200
    assert Webhook.objects.exists()
    owner.post(f"{page}delete/")
    assert not Webhook.objects.exists()


def test_webhook_of_somebody_else_is_not_found(webhook: Webhook, page: str, charlie: User) -> None:
    client = Client()
    client.force_login(charlie)
    delivery = webhook_test(webhook=webhook)
    assert client.get(page).status_code == 404
    for act in ("test", "pause", "resume", "secret", "delete", f"deliveries/{delivery.public_id}/again"):
        assert client.post(f"{page}{act}/").status_code == 404
    webhook.refresh_from_db()
    assert (webhook.state, webhook.secrets.count(), Delivery.objects.count()) == ("active", 1, 1)


def test_reading_changes_nothing(owner: Client, webhook: Webhook, page: str) -> None:
    for act in ("test", "pause", "resume"):
        assert owner.get(f"{page}{act}/").status_code == 405
    assert not Delivery.objects.exists()


def test_visitor_is_asked_to_log_in(stranger: Client, page: str) -> None:
    for address in (LIST, page):
        assert stranger.get(address).status_code == 302
