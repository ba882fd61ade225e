"""Addresses, limits and secrets of webhooks."""

from typing import Any

import pytest

from evalsite.accounts.models import User
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.webhooks.models import Webhook, WebhookSecret
from evalsite.webhooks.services import MOST_WEBHOOKS, webhook_create, webhook_rotate

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hooks.example",
        "ftp://hooks.example/",
        "http://hooks.example/",
        "https://user:pass@hooks.example/",
        "https://hooks.example/#part",
        "https://127.0.0.1/",
        "https://10.0.0.1:8443/",
        "https://[::1]/",
        "https://169.254.169.254/latest/meta-data/",
        f"https://hooks.example/{'x' * 2000}",
    ],
)
def test_address_that_is_not_called_is_refused(alice: User, settings: Any, url: str) -> None:
    settings.ENDPOINT_NETWORKS = ()
    with pytest.raises(InvalidInput) as refused:
        webhook_create(user=alice, url=url)
    assert refused.value.field == "url"
    assert not Webhook.objects.exists()


def test_metadata_address_is_refused_even_in_an_allowed_network(alice: User) -> None:
    with pytest.raises(InvalidInput):
        webhook_create(user=alice, url="http://169.254.169.254/")


def test_number_of_webhooks_is_limited(alice: User) -> None:
    for number in range(MOST_WEBHOOKS):
        webhook_create(user=alice, url=f"https://hooks.example/{number}")
    with pytest.raises(Conflict):
        webhook_create(user=alice, url="https://hooks.example/more")


def test_secret_is_stored_encrypted(alice: User) -> None:
    webhook, secret = webhook_create(user=alice, url="https://hooks.example/")
    stored = webhook.secrets.get()
    assert secret.startswith("whsec_")
    assert secret not in stored.token


def test_repeated_rotation_keeps_one_old_secret(alice: User) -> None:
    webhook, _ = webhook_create(user=alice, url="https://hooks.example/")
    for _ in range(3):
        webhook_rotate(webhook=webhook)
    assert WebhookSecret.objects.count() == 2
    assert WebhookSecret.objects.filter(expires_at=None).count() == 1
