"""The Idempotency-Key header: the same request again gets the first answer; another one under its key is refused."""

import threading
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from evalsite.campaigns.models import Campaign
from evalsite.core.idempotency import expired_keys_delete
from evalsite.core.models import IdempotencyKey
from evalsite.judgments.models import Annotator, AnnotatorToken, Judgment
from evalsite.judgments.services import token_issue, token_recover
from tests.evalsite.api.client import CLAIMS, Api, answer, error_of, judgment_url
from tests.evalsite.cast import CampaignMaker

pytestmark = pytest.mark.database


@pytest.fixture
def key() -> str:
    return str(uuid.uuid4())


def test_the_same_request_gets_the_first_answer(api: Api, assignment: Any, key: str) -> None:
    first = api.post(judgment_url(assignment), answer("A"), key=key)
    again = api.post(judgment_url(assignment), answer("A"), key=key)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert ("Idempotent-Replayed" in first, again["Idempotent-Replayed"]) == (False, "true")
    assert Judgment.objects.count() == 1


def test_a_claim_sent_again_gets_its_block_although_it_is_answered(api: Api, key: str) -> None:
    first = api.post(CLAIMS, {"count": 1}, key=key).json()
    api.post(judgment_url(first["assignments"][0]), answer())
    assert api.post(CLAIMS, {"count": 1}, key=key).json() == first
    assert api.post(CLAIMS, {"count": 1}).json() != first


def test_another_body_under_the_same_key_is_refused_and_does_nothing(api: Api, assignment: Any, key: str) -> None:
    first = api.post(judgment_url(assignment), answer("A"), key=key).json()
    response = api.post(judgment_url(assignment), answer("B", supersedes=first["judgment"]), key=key)
    assert (response.status_code, error_of(response)["code"]) == (409, "idempotency_key_reused")
    assert Judgment.objects.count() == 1


def test_another_address_under_the_same_key_is_refused(api: Api, block: Any, key: str) -> None:
    api.post(judgment_url(block[0]), answer(), key=key)
    assert api.post(judgment_url(block[1]), answer(), key=key).status_code == 409


def test_the_order_of_the_fields_makes_no_other_request(api: Api, assignment: Any, key: str) -> None:
    body = answer()
    api.post(judgment_url(assignment), body, key=key)
    assert api.post(judgment_url(assignment), dict(reversed(body.items())), key=key).status_code == 201


def test_two_annotators_may_choose_the_same_key(api: Api, campaign: Campaign, key: str) -> None:
    other = Api(Api().post("/api/v1/annotators", {"campaign": campaign.slug}).json()["token"])
    blocks = [one.post(CLAIMS, key=key).json()["assignments"] for one in (api, other)]
    assert blocks[0][0]["id"] != blocks[1][0]["id"]


ENROL = "/api/v1/annotators"


def test_joining_sent_again_makes_one_annotator_with_one_token_that_is_stored_nowhere(
    campaign: Campaign, key: str
) -> None:
    first, again = (Api().post(ENROL, {"campaign": campaign.slug}, key=key) for _ in range(2))
    assert (first.status_code, again.status_code, again["Idempotent-Replayed"]) == (201, 201, "true")
    assert first.json() == again.json()
    assert Annotator.objects.count() == AnnotatorToken.objects.count() == 1
    token = again.json()["token"]
    assert Api(token).post(CLAIMS).status_code == 200
    assert token not in str([list(AnnotatorToken.objects.values()), list(IdempotencyKey.objects.values())])


def test_joining_under_another_key_or_from_another_address_is_another_annotator(campaign: Campaign, key: str) -> None:
    senders = [(Api(), key), (Api(), str(uuid.uuid4())), (Api(address="192.0.2.7"), key)]
    joined = [one.post(ENROL, {"campaign": campaign.slug}, key=chosen).json() for one, chosen in senders]
    assert len({one["annotator"] for one in joined}) == len({one["token"] for one in joined}) == 3
    assert "192.0.2.7" not in str(list(IdempotencyKey.objects.values()))


def test_joining_otherwise_under_the_same_key_is_refused(campaign: Campaign, key: str) -> None:
    Api().post(ENROL, {"campaign": campaign.slug}, key=key)
    response = Api().post(ENROL, {"campaign": campaign.slug, "kind": "model"}, key=key)
    assert (response.status_code, error_of(response)["code"]) == (409, "idempotency_key_reused")
    assert Annotator.objects.count() == 1


def test_a_key_that_is_used_again_after_a_day_makes_another_annotator(campaign: Campaign, key: str) -> None:
    first = Api().post(ENROL, {"campaign": campaign.slug}, key=key).json()
    IdempotencyKey.objects.all().delete()
    later = Api().post(ENROL, {"campaign": campaign.slug}, key=key)
    assert later.status_code == 201
    assert {*first.values()}.isdisjoint(later.json().values())


def test_the_token_is_found_again_after_the_sites_secret_has_changed(
    campaign: Campaign, key: str, bob: Annotator, settings: Any
) -> None:
    token = token_issue(annotator=bob, again=key)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another " * 10, [settings.SECRET_KEY]
    assert token_recover(annotator_id=bob.public_id, again=key) == token


def test_a_token_that_has_ended_is_not_given_again(campaign: Campaign, key: str) -> None:
    Api().post(ENROL, {"campaign": campaign.slug}, key=key)
    AnnotatorToken.objects.all().delete()
    response = Api().post(ENROL, {"campaign": campaign.slug}, key=key)
    assert (response.status_code, error_of(response)["code"]) == (409, "token_ended")
    assert error_of(response)["hint"]


def test_a_request_that_was_refused_leaves_its_key_free(api: Api, assignment: Any, key: str) -> None:
    assert api.post(judgment_url(assignment), answer("C"), key=key).status_code == 400
    assert not IdempotencyKey.objects.exists()
    assert api.post(judgment_url(assignment), answer("A"), key=key).status_code == 201


@pytest.mark.parametrize("bad", ["", "x" * 256, "smörgås", "a\tb"])
def test_a_key_that_cannot_be_one_is_refused(api: Api, bad: str) -> None:
    response = api.post(CLAIMS, key=bad)
    assert (response.status_code, error_of(response)["field"]) == (400, "Idempotency-Key")


def test_keys_are_forgotten_after_a_day(api: Api, key: str) -> None:
    api.post(CLAIMS, key=key)
    expired_keys_delete()
    assert IdempotencyKey.objects.count() == 1
    IdempotencyKey.objects.update(created_at=timezone.now() - timedelta(hours=25))
    expired_keys_delete()
    assert not IdempotencyKey.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_ten_requests_at_once_under_one_key_are_one(make_campaign: CampaignMaker, key: str) -> None:
    campaign = make_campaign()
    api = Api(Api().post("/api/v1/annotators", {"campaign": campaign.slug}).json()["token"])
    assignment = api.post(CLAIMS).json()["assignments"][0]
    answers: list[tuple[int, str]] = []
    together = threading.Barrier(10)

    def post() -> None:
        together.wait()
        response = api.post(judgment_url(assignment), answer("B"), key=key)
        answers.append((response.status_code, response.content.decode()))
        connection.close()

    threads = [threading.Thread(target=post) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 10
    assert {status for status, _ in answers} == {201}
    assert len({body for _, body in answers}) == 1
    assert Judgment.objects.count() == 1
