"""Webhooks of a campaign by the API: added, listed, tested, rotated, deleted; and what their log says of failures."""

from typing import Any

import pytest

from evalsite.accounts.models import ApiToken, User
from evalsite.accounts.services import api_token_issue
from evalsite.campaigns.models import Campaign
from evalsite.core.models import AuditEntry, IdempotencyKey
from evalsite.webhooks import sending
from evalsite.webhooks.models import Webhook
from tests.evalsite.api.client import Api, error_of
from tests.evalsite.cast import run_jobs
from tests.evalsite.webhooks.receiver import answers
from tests.servers import Behaviour, hangs, raw_server

pytestmark = pytest.mark.django_db
PLACE = "/api/v1/campaigns/trial/webhooks"
URL = "https://hooks.example/secret-path"


@pytest.fixture
def api(alice: User, campaign: Campaign) -> Api:
    scopes = [ApiToken.Scope.CAMPAIGNS, ApiToken.Scope.ACTS]
    return Api(api_token_issue(user=alice, name="t", scopes=scopes, days=1))


def test_webhook_is_added_listed_and_deleted(api: Api) -> None:
    made = api.post(PLACE, {"url": URL, "events": ["board.published", "campaign.changed"]})
    assert made.status_code == 201
    secret = made.json().pop("secret")
    assert secret.startswith("whsec_")
    (listed,) = api.get(PLACE).json()["results"]
    assert (listed["url"], listed["events"]) == (URL, ["campaign.changed", "board.published"])
    assert secret not in api.get(f"{PLACE}/{listed['id']}").content.decode()
    assert api.client.delete(f"{PLACE}/{listed['id']}", headers=api.headers).status_code == 200
    assert not Webhook.objects.exists()


def test_secret_is_not_stored_with_an_idempotency_key(api: Api) -> None:
    secret = api.post(PLACE, {"url": URL}, key="a").json()["secret"]
    assert not IdempotencyKey.objects.filter(body__contains=secret).exists()


def test_rotation_shows_another_secret(api: Api) -> None:
    made = api.post(PLACE, {"url": URL}).json()
    rotated = api.post(f"{PLACE}/{made['id']}/secret").json()
    assert rotated["secret"] != made["secret"]
    assert Webhook.objects.get().secrets.count() == 2


def test_acts_stand_in_the_log_without_the_path_of_the_address(api: Api, campaign: Campaign, alice: User) -> None:
    made = api.post(PLACE, {"url": URL}).json()
    api.post(f"{PLACE}/{made['id']}/secret")
    api.client.delete(f"{PLACE}/{made['id']}", headers=api.headers)
    found = AuditEntry.objects.filter(subject=campaign.public_id, act__endswith="_webhook").order_by("pk")
    assert [(one.act, one.target, one.actor) for one in found] == [
        (act, "hooks.example", alice.public_id) for act in ("add_webhook", "rotate_webhook", "delete_webhook")
    ]


@pytest.mark.parametrize(
    ("body", "field", "sentence"),
    [
        ({"url": "https://10.0.0.1/"}, "url", "a network that this site does not call"),
        ({"url": "ftp://hooks.example/"}, "url", "https"),
        ({"url": URL, "events": ["x.changed"]}, "events", "not a valid choice"),
        ({"url": URL, "events": []}, "events", "empty"),
        ({}, "url", "required"),
    ],
    ids=["private address", "ftp", "unknown event", "no event", "no address"],
)
def test_wrong_webhook_is_refused(api: Api, settings: Any, body: Any, field: str, sentence: str) -> None:
    settings.ENDPOINT_NETWORKS = ()
    answer = api.post(PLACE, body)
    assert answer.status_code == 400
    error = error_of(answer)
    assert error["field"].startswith(field)
    assert sentence in error["message"]
    assert not Webhook.objects.exists()


@pytest.mark.parametrize(
    ("behaviour", "status", "sentence"),
    [
        (answers(302, headers=["Location: http://169.254.169.254/"]), 302, "The server redirects. Redirects are not"),
        (hangs, None, "No complete response arrived in time."),
        (answers(500), 500, ""),
    ],
    ids=["redirect", "hang", "failure"],
)
def test_log_says_why_a_message_was_not_delivered(
    api: Api, monkeypatch: pytest.MonkeyPatch, behaviour: Behaviour, status: int | None, sentence: str
) -> None:
    monkeypatch.setattr(sending, "TIMEOUT_S", 0.5 if behaviour is not hangs else 0.1)
    with raw_server(behaviour) as server:
        made = api.post(PLACE, {"url": server.url}).json()
        assert api.post(f"{PLACE}/{made['id']}/test").status_code == 202
        run_jobs()
    (logged,) = api.get(f"{PLACE}/{made['id']}/deliveries").json()["results"]
    assert (logged["event"], logged["state"], logged["status"]) == ("webhook.test", "queued", status)
    assert logged["error"].startswith(sentence)
    assert logged["next_attempt_at"]


def test_message_is_sent_again_under_its_id(api: Api) -> None:
    with raw_server(answers(200)) as server:
        made = api.post(PLACE, {"url": server.url}).json()
        sent = api.post(f"{PLACE}/{made['id']}/test").json()
        run_jobs()
        again = api.post(f"{PLACE}/{made['id']}/deliveries/{sent['id']}/again").json()
        run_jobs()
    assert again["message_id"] == sent["message_id"]
    assert len(server.requests) == 2


def test_paused_webhook_sends_no_test(api: Api) -> None:
    made = api.post(PLACE, {"url": URL}).json()
    assert api.post(f"{PLACE}/{made['id']}/pause").json()["state"] == "paused"
    assert error_of(api.post(f"{PLACE}/{made['id']}/test"))["message"] == "This webhook is not active."
    assert api.post(f"{PLACE}/{made['id']}/resume").json()["state"] == "active"


def test_webhook_of_another_campaign_is_not_found(api: Api, alice: User) -> None:
    webhook = Webhook.objects.create(user=alice, url=URL)
    for path in ("", "/deliveries"):
        assert api.get(f"{PLACE}/{webhook.public_id}{path}").status_code == 404
