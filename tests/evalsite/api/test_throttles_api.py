"""Of many calls at once over HTTP exactly the allowed number is answered; the others are told when to come again."""

import ipaddress
import threading
import uuid
from collections import Counter
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import override_settings
from django.utils import timezone

from evalsite.campaigns.models import Campaign
from evalsite.judgments.models import Assignment
from tests.evalsite.api.client import CLAIMS, Api, error_of

pytestmark = pytest.mark.database


@pytest.fixture
def address() -> str:
    """An address from which nobody has knocked."""
    return str(ipaddress.IPv6Address(uuid.uuid4().int))


@pytest.mark.django_db(transaction=True)
@time_machine.travel("2030-01-01T12:00:00Z", tick=False)
def test_of_two_hundred_calls_at_once_exactly_the_allowed_number_is_answered(address: str) -> None:
    answers: list[int] = []
    together = threading.Barrier(20)

    def knock() -> None:
        together.wait()
        answers.extend(Api(address=address).get("/api/v1/campaigns").status_code for _ in range(10))
        connection.close()

    with override_settings(READS_PER_MINUTE=37):
        threads = [threading.Thread(target=knock) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert Counter(answers) == {200: 37, 429: 163}


@pytest.mark.parametrize("setting", ["ENROLMENTS_PER_HOUR", "ANSWERS_PER_MINUTE"])
@time_machine.travel("2030-01-01T12:00:00Z", tick=False)
def test_who_comes_too_often_is_told_when_to_come_again(campaign: Campaign, address: str, setting: str) -> None:
    path, body = ("/api/v1/annotators", {"campaign": "trial"}) if setting.startswith("ENROL") else (CLAIMS, None)
    token = Api().post("/api/v1/annotators", {"campaign": "trial"}).json()["token"]
    api = Api(token, address=address)
    with override_settings(**{setting: 1}):
        first, second = api.post(path, body), api.post(path, body)
    assert (first.status_code < 300, second.status_code) == (True, 429)
    assert error_of(second)["code"] == "too_many"
    assert 0 < int(second["Retry-After"]) <= 3600


@pytest.mark.parametrize("what", ["skip", "renewal", "returns", "progress"])
def test_an_annotator_who_skips_renews_returns_or_looks_too_often_is_told_so(api: Api, block: Any, what: str) -> None:
    two = [f"/api/v1/assignments/{one['id']}/{what}" for one in block[:2]]
    paths = two if what in {"skip", "renewal"} else [f"/api/v1/campaigns/trial/{what}"] * 2
    body = {"reason": "broken"} if what == "skip" else None
    setting = "READS_PER_MINUTE" if what == "progress" else "ANSWERS_PER_MINUTE"
    with override_settings(**{setting: 1}), time_machine.travel(timezone.now(), tick=False):
        first, second = (api.get(path) if what == "progress" else api.post(path, body) for path in paths)
    assert (first.status_code, second.status_code) == (200, 429)
    assert error_of(second)["code"] == "too_many"
    assert 0 < int(second["Retry-After"]) <= 60
    assert Assignment.objects.filter(state="returned").count() == {"skip": 1, "returns": len(block)}.get(what, 0)
