"""Webhooks of a campaign in the console: added and shown once, tested, paused, rotated, deleted; the log."""

import re
from typing import Any

import pytest
from django.test import Client

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.webhooks import campaign_webhook_create
from evalsite.webhooks.models import Delivery, Webhook
from evalsite.webhooks.services import webhook_test
from tests.evalsite.pages.reading import Page

LIST = "/console/trial/webhooks/"
URL = "https://hooks.example/in"
SENT = {"url": URL, "events": ["campaign.changed"]}


@pytest.fixture(autouse=True)
def keys(settings: Any) -> None:
    """Let both forms keep secrets."""
    settings.ENDPOINT_KEYS = ["the-first-key-of-these-tests-0123456789"]


@pytest.fixture
def webhook(campaign: Campaign, alice: User) -> Webhook:
    return campaign_webhook_create(campaign=campaign, url=URL, by=alice)[0]


@pytest.fixture
def page(webhook: Webhook) -> str:
    return f"{LIST}{webhook.public_id}/"


def secret_in(html: str) -> str:
    found = re.search(r'id="secret"[^>]*value="(whsec_[^"]+)"', html)
    return found.group(1) if found else ""


def test_added_webhook_shows_its_secret_once(owner: Client, campaign: Campaign) -> None:
    secret = secret_in(Page(owner.post(LIST, SENT)).html)
    assert secret
    listed = Page(owner.get(LIST)).html
    assert URL in listed
    assert secret not in listed
    assert Webhook.objects.get().subject == campaign.public_id


@pytest.mark.usefixtures("campaign")
def test_wrong_form_says_what_to_change(owner: Client) -> None:
    for sent, sentence in (
        ({**SENT, "url": "https://169.254.169.254/"}, "does not call"),
        ({"url": URL}, "This field is required"),
        ({**SENT, "events": ["x"]}, "x is not one of the available choices"),
    ):
        answer = owner.post(LIST, sent)
        assert answer.status_code == 400
        assert sentence in Page(answer).words
    assert not Webhook.objects.exists()


def test_log_lists_messages_and_sends_them_again(owner: Client, webhook: Webhook, page: str) -> None:
    assert "webhook.test" in Page(owner.post(f"{page}test/", follow=True)).words
    Delivery.objects.update(state="failed", status=500, attempts=10, response="<script>alert(1)</script>")
    html = owner.get(page).content.decode()
    assert "<script>alert" not in html
    assert "status 500" in html
    owner.post(f"{page}deliveries/{Delivery.objects.get().public_id}/again/")
    assert Delivery.objects.get().state == "queued"


def test_webhook_is_paused_resumed_rotated_and_deleted(owner: Client, webhook: Webhook, page: str) -> None:
    for act, state in (("pause", "paused"), ("resume", "active")):
        owner.post(f"{page}{act}/")
        webhook.refresh_from_db()
        assert webhook.state == state
    assert secret_in(owner.post(f"{page}secret/").content.decode())
    assert owner.post(f"{page}delete/")["Location"] == LIST
    assert not Webhook.objects.exists()


def test_reading_changes_nothing(owner: Client, page: str) -> None:
    for act in ("test", "pause", "resume", "secret", "delete"):
        assert owner.get(f"{page}{act}/").status_code == 405
    assert owner.post(f"{page}other/").status_code == 404


def test_personal_webhook_is_not_one_of_the_campaign(owner: Client, campaign: Campaign, alice: User) -> None:
    personal = Webhook.objects.create(user=alice, url=URL)
    assert owner.get(f"{LIST}{personal.public_id}/").status_code == 404
    of_campaign = campaign_webhook_create(campaign=campaign, url="https://hooks.example/", by=alice)[0]
    assert owner.get(f"/account/webhooks/{of_campaign.public_id}/").status_code == 404


def test_manager_may_and_viewer_may_not(campaign: Campaign, charlie: User, webhook: Webhook, page: str) -> None:
    delivery = webhook_test(webhook=webhook)
    client = Client()
    client.force_login(charlie)
    for role, status in (("viewer", 403), ("manager", 200)):
        campaign.roles.update_or_create(user=charlie, defaults={"role": role})
        assert client.get(page).status_code == status
        assert client.get(LIST).status_code == status
    campaign.roles.all().delete()
    assert client.post(f"{page}deliveries/{delivery.public_id}/again/").status_code == 403
