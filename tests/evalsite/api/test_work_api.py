"""A program that judges in several campaigns: it joins them with one token, and asks for work wherever its turn is."""

import uuid
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import campaign_stop
from evalsite.judgments.models import Annotator, AnnotatorToken, Assignment, Enrolment, Judgment
from tests.evalsite.api.client import Api, answer, error_of, judgment_url
from tests.evalsite.cast import OPEN, CampaignMaker
from tests.shared import shared

WORK, NAMES = "/api/v1/claims", ("trial", "spring", "autumn")


def joining(slug: str) -> str:
    return f"/api/v1/campaigns/{slug}/enrolments"


@shared
def campaigns(make_campaign: CampaignMaker) -> dict[str, Campaign]:
    """Three, of blocks of one, two and three."""
    sizes = dict(zip(NAMES, (1, 2, 3), strict=True))
    design = replace(OPEN, batch_size=100)
    return {
        slug: make_campaign(slug=slug, prompts=12, design=replace(design, block_size=size))
        for slug, size in sizes.items()
    }


@pytest.fixture
def api(campaigns: dict[str, Campaign]) -> Api:
    """Somebody who has joined all three."""
    first, *others = NAMES
    program = Api(Api().post("/api/v1/annotators", {"campaign": first}).json()["token"])
    for slug in others:
        assert program.post(joining(slug)).status_code == 200
    return program


def claim(api: Api, **body: int) -> Any:
    response = api.post(WORK, body)
    assert response.status_code == 200
    return response.json()


def judge_next(api: Api) -> str:
    """Answer the next block; the campaign that it was of."""
    work = claim(api)
    for one in work["assignments"]:
        assert api.post(judgment_url(one), answer("tie")).status_code == 201
    return str(work["campaign"]["slug"])


def withdraw_all(campaign: Campaign) -> None:
    Assignment.objects.filter(campaign=campaign, state="queued").update(state="withdrawn")


class TestJoining:
    def test_one_more_campaign_is_joined_as_the_same_annotator(self, campaigns: dict[str, Campaign]) -> None:
        joined = Api().post("/api/v1/annotators", {"campaign": "trial"}).json()
        response = Api(joined["token"]).post(joining("spring"))
        spring = str(campaigns["spring"].public_id)
        assert (response.status_code, response.json()) == (
            200,
            {"annotator": joined["annotator"], "campaign": spring},
        )
        assert Annotator.objects.count() == AnnotatorToken.objects.count() == 1
        assert Api(joined["token"]).post("/api/v1/campaigns/spring/claims").json()["assignments"]

    def test_joining_again_changes_nothing(self, api: Api) -> None:
        assert api.post(joining("spring")).json() == api.post(joining("spring")).json()
        assert Enrolment.objects.count() == len(NAMES)

    def test_under_one_key_it_is_one_request(self, api: Api, make_campaign: CampaignMaker) -> None:
        make_campaign(slug="winter")
        key = str(uuid.uuid4())
        first, again = (api.post(joining("winter"), key=key) for _ in range(2))
        assert (first.json(), again["Idempotent-Replayed"]) == (again.json(), "true")
        reused = api.post(joining("spring"), key=key)
        assert (reused.status_code, error_of(reused)["code"]) == (409, "idempotency_key_reused")

    @pytest.mark.parametrize(
        ("change", "status", "code"),
        [
            ({"visibility": "private"}, 404, "not_found"),
            ({"visibility": "link"}, 404, "not_found"),
            ({"state": "draft"}, 404, "not_found"),
            ({"admission": "members"}, 403, "not_allowed"),
        ],
    )
    def test_it_admits_whom_the_campaign_admits_and_nobody_else(
        self, api: Api, make_campaign: CampaignMaker, change: dict[str, str], status: int, code: str
    ) -> None:
        winter = make_campaign(slug="winter")
        Campaign.objects.filter(pk=winter.pk).update(**change)
        response = api.post(joining("winter"))
        assert (response.status_code, error_of(response)["code"]) == (status, code)
        assert error_of(response)["hint"]
        assert not Enrolment.objects.filter(campaign=winter).exists()

    def test_a_campaign_that_has_stopped_is_not_joined(self, api: Api, make_campaign: CampaignMaker) -> None:
        campaign_stop(campaign=make_campaign(slug="winter"), reason="enough")
        response = api.post(joining("winter"))
        assert (response.status_code, error_of(response)["code"]) == (409, "stopped")

    def test_without_a_token_nothing_is_joined_and_an_unknown_field_is_named(self, api: Api) -> None:
        assert Api().post(joining("spring")).status_code == 401
        response = api.post(joining("spring"), {"kind": "human"})
        assert (response.status_code, error_of(response)["field"]) == (400, "kind")

    @time_machine.travel("2030-01-01T12:00:00Z", tick=False)
    def test_it_counts_among_the_enrolments_of_an_address(self, api: Api) -> None:
        AnnotatorToken.objects.update(expires_at=timezone.now() + timedelta(days=1))
        with override_settings(ENROLMENTS_PER_HOUR=len(NAMES)):
            moved = Api(address="192.0.2.9")
            moved.headers = api.headers
            answers = [moved.post(joining("spring")).status_code for _ in range(len(NAMES) + 1)]
        assert answers == [200, 200, 200, 429]


def test_three_campaigns_get_the_same_number_of_answers_however_long_their_blocks_are(api: Api) -> None:
    blocks = Counter(judge_next(api) for _ in range(22))
    assert blocks == {"trial": 12, "spring": 6, "autumn": 4}
    judged = Counter(Judgment.objects.values_list("assignment__campaign__slug", flat=True))
    assert judged == dict.fromkeys(NAMES, 12)


def test_the_answer_is_that_of_a_named_claim_and_says_whose_block_it_is(
    api: Api, campaigns: dict[str, Campaign]
) -> None:
    work = claim(api)
    named = api.post(f"/api/v1/campaigns/{work['campaign']['id']}/claims").json()
    assert work["assignments"] == named["assignments"] != []
    assert work["campaign"] == {
        "id": str(campaigns["trial"].public_id),
        "slug": "trial",
        **named["campaign"],
    }


def test_as_many_are_given_as_are_asked_for(api: Api) -> None:
    Campaign.objects.exclude(slug="autumn").update(state="paused")
    assert len(claim(api, count=2)["assignments"]) == 2


def test_an_open_block_comes_first_whosever_turn_it_is(api: Api) -> None:
    opened = api.post("/api/v1/campaigns/autumn/claims").json()["assignments"]
    assert claim(api)["assignments"] == opened
    api.post(judgment_url(opened[0]), answer())
    work = claim(api)
    assert (work["campaign"]["slug"], work["assignments"]) == ("autumn", opened[1:])


def test_one_that_has_nothing_to_ask_is_passed_over_and_loses_no_turn(api: Api, campaigns: dict[str, Campaign]) -> None:
    withdraw_all(campaigns["trial"])
    assert Counter(judge_next(api) for _ in range(5)) == {"spring": 3, "autumn": 2}
    Assignment.objects.filter(campaign=campaigns["trial"], state="withdrawn").update(state="queued")
    assert [judge_next(api) for _ in range(6)] == ["trial"] * 6


def test_one_that_became_private_stopped_or_excludes_the_annotator_gives_nothing_new(
    api: Api, campaigns: dict[str, Campaign]
) -> None:
    Campaign.objects.filter(slug="trial").update(visibility="private")
    campaign_stop(campaign=campaigns["spring"], reason="enough")
    assert {judge_next(api) for _ in range(3)} == {"autumn"}
    Enrolment.objects.filter(campaign=campaigns["autumn"]).update(paused_at=timezone.now())
    assert claim(api)["assignments"] == []


def test_what_is_open_in_one_that_has_stopped_may_still_be_answered(api: Api, campaigns: dict[str, Campaign]) -> None:
    opened = claim(api)
    campaign_stop(campaign=campaigns["trial"], reason="enough")
    again = claim(api)
    assert again["assignments"] == opened["assignments"]
    assert again["campaign"]["state"] == "stopped"
    assert judge_next(api) == "trial"
    assert judge_next(api) == "spring"


def test_where_none_has_work_it_says_when_to_ask_again_and_when_there_is_nothing_more(
    api: Api, campaigns: dict[str, Campaign]
) -> None:
    for campaign in campaigns.values():
        withdraw_all(campaign)
    nothing = {"id": None, "slug": None, "state": "running", "retry_after_s": 1.0}
    found = claim(api)
    assert {name: found["campaign"][name] for name in nothing} == nothing
    assert (found["assignments"], found["campaign"]["reason"]) == ([], "planning")
    for campaign in campaigns.values():
        campaign_stop(campaign=campaign, reason="enough")
    ended = claim(api)["campaign"]
    assert (ended["state"], ended["reason"]) == ("stopped", "nothing_joined")


def test_one_that_refuses_the_annotator_is_not_waited_for(api: Api) -> None:
    Campaign.objects.update(visibility="private")
    assert claim(api)["campaign"]["state"] == "stopped"


def test_a_block_whose_lease_has_ended_goes_back_and_the_next_is_of_the_next_campaign(api: Api) -> None:
    first = claim(api)["campaign"]["slug"]
    with time_machine.travel(timezone.now() + timedelta(hours=1), tick=False):
        assert claim(api)["campaign"]["slug"] != first


def test_a_claim_sent_again_gets_its_block_although_it_is_answered(api: Api) -> None:
    key = str(uuid.uuid4())
    first = api.post(WORK, key=key)
    for one in first.json()["assignments"]:
        api.post(judgment_url(one), answer())
    again = api.post(WORK, key=key)
    assert (again.json(), again["Idempotent-Replayed"]) == (first.json(), "true")
    assert claim(api)["campaign"]["slug"] == "spring"
    other = api.post(WORK, {"count": 1}, key=key)
    assert (other.status_code, error_of(other)["code"]) == (409, "idempotency_key_reused")


def test_under_a_key_campaigns_are_passed_over_too(api: Api, campaigns: dict[str, Campaign]) -> None:
    Campaign.objects.filter(slug="trial").update(visibility="private")
    withdraw_all(campaigns["spring"])
    assert api.post(WORK, key=str(uuid.uuid4())).json()["campaign"]["slug"] == "autumn"


@time_machine.travel("2030-01-01T12:00:00Z", tick=False)
def test_it_counts_among_the_claims_of_a_minute(api: Api) -> None:
    AnnotatorToken.objects.update(expires_at=timezone.now() + timedelta(days=1))
    with override_settings(ANSWERS_PER_MINUTE=2):
        answers = [api.post(path).status_code for path in (WORK, "/api/v1/campaigns/trial/claims", WORK)]
    assert answers == [200, 200, 429]


@pytest.mark.parametrize("token", ["", "wrong"])
def test_without_a_token_in_force_nothing_is_claimed(campaigns: dict[str, Campaign], token: str) -> None:
    response = Api(token).post(WORK)
    assert response.status_code == 401
    assert error_of(response)["hint"]


@pytest.mark.parametrize("body", [{"count": 0}, {"count": "2"}, {"count": 101}, {"campaign": "trial"}])
def test_a_body_of_the_wrong_shape_names_its_field(api: Api, body: dict[str, Any]) -> None:
    response = api.post(WORK, body)
    assert (response.status_code, error_of(response)["field"]) == (400, next(iter(body)))
    assert not Assignment.objects.filter(state="issued").exists()


def test_it_costs_little_more_than_a_named_claim_however_many_are_joined(api: Api) -> None:
    costs = []
    for path in ("/api/v1/campaigns/trial/claims", WORK):
        with CaptureQueriesContext(connection) as asked:
            block = api.post(path).json()["assignments"]
        costs.append(sum("SAVEPOINT" not in (query["sql"] or "") for query in asked))
        for one in block:
            api.post(judgment_url(one), answer())
    assert costs[0] < costs[1] <= costs[0] + 3
