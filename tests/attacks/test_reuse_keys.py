"""Attack: send the keys and tokens of others, or old ones again, to get what was given to somebody else."""

import uuid
from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from evalsite.accounts.models import User
from evalsite.accounts.services import api_token_issue, api_token_revoke
from evalsite.campaigns.models import Campaign
from evalsite.judgments.models import Annotator
from tests.evalsite.api.client import CLAIMS, Api, error_of

pytestmark = pytest.mark.database  # counts in Redis, locks

ENROL = "/api/v1/annotators"
GUESSABLE = ("1", "enrol", "0" * 32, "00000000-0000-4000-8000-000000000000", str(uuid.uuid5(uuid.NAMESPACE_DNS, "a")))


@pytest.mark.parametrize("key", GUESSABLE)
def test_a_guessable_key_gives_nobody_the_token_of_another(campaign: Campaign, key: str) -> None:
    answers = [Api().post(ENROL, {"campaign": campaign.slug}, key=key) for _ in range(2)]
    assert [(one.status_code, error_of(one)["field"]) for one in answers] == [(400, "Idempotency-Key")] * 2
    assert not Annotator.objects.exists()


def test_a_known_key_from_elsewhere_gives_another_annotator(campaign: Campaign) -> None:
    key = str(uuid.uuid4())
    first = Api().post(ENROL, {"campaign": campaign.slug}, key=key).json()
    there = Api(address="192.0.2.7").post(ENROL, {"campaign": campaign.slug}, key=key).json()
    assert {*first.values()}.isdisjoint(there.values())


def test_a_key_of_another_annotator_replays_nothing(campaign: Campaign) -> None:
    key = str(uuid.uuid4())
    mine, other = (Api(Api().post(ENROL, {"campaign": campaign.slug}).json()["token"]) for _ in range(2))
    first = mine.post(CLAIMS, {"count": 1}, key=key)
    stolen = other.post(CLAIMS, {"count": 1}, key=key)
    assert "Idempotent-Replayed" not in stolen
    assert first.json()["assignments"][0]["id"] != stolen.json()["assignments"][0]["id"]


def test_a_revoked_token_stays_revoked_when_the_clock_is_set_back(alice: User, campaign: Campaign) -> None:
    token = api_token_issue(user=alice, name="ci", scopes=["campaigns:read"], days=1)
    api_token_revoke(user=alice, name="ci")
    for moment in (timezone.now(), timezone.now() - timedelta(hours=2)):
        with time_machine.travel(moment, tick=False):
            assert Api(token).get("/api/v1/campaigns").status_code == 401


def test_an_expired_token_is_refused(alice: User, campaign: Campaign) -> None:
    token = api_token_issue(user=alice, name="ci", scopes=["campaigns:read"], days=1)
    assert Api(token).get("/api/v1/campaigns").status_code == 200
    with time_machine.travel(timezone.now() + timedelta(days=2), tick=False):
        assert Api(token).get("/api/v1/campaigns").status_code == 401
