"""The annotators' API over HTTP: enrol, claim, answer, skip; and every bad input with its documented answer."""

import uuid
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.onboarding import onboarding_set
from evalsite.campaigns.services import NewAspect, campaign_stop
from evalsite.judgments.models import Annotator, AnnotatorToken, Comment, Judgment, Skip
from tests.evalsite.api.client import CLAIMS, Api, answer, error_of, judgment_url
from tests.evalsite.cast import OPEN, CampaignMaker


def test_a_claim_shows_what_is_judged_and_never_who_wrote_it(api: Api, campaign: Campaign) -> None:
    response = api.post(CLAIMS, {"count": 2})
    assert response.status_code == 200
    block = response.json()
    assert len(block["assignments"]) == 2
    assert block["campaign"]["state"] == "running"
    first = block["assignments"][0]
    assert [candidate["label"] for candidate in first["candidates"]] == ["A", "B"]
    assert first["context"]["turns"][-1]["speaker"] == "user"
    assert first["aspects"][0]["choices"] == ["A", "tie", "B", "both_bad"]
    assert "trial bot" not in response.content.decode()


def test_an_answer_is_created_once_and_repeated_with_200(api: Api, assignment: Any) -> None:
    first = api.post(judgment_url(assignment), answer("A"))
    again = api.post(judgment_url(assignment), answer("A"))
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert Judgment.objects.count() == 1


def test_another_answer_is_a_conflict_unless_it_takes_back_what_stands(api: Api, assignment: Any) -> None:
    first = api.post(judgment_url(assignment), answer("A")).json()["judgment"]
    other = api.post(judgment_url(assignment), answer("B"))
    assert (other.status_code, error_of(other)["code"]) == (409, "answered")
    assert error_of(other)["hint"]
    assert Judgment.objects.count() == 1
    second = api.post(judgment_url(assignment), answer("B", supersedes=first))
    same = api.post(judgment_url(assignment), answer("B", supersedes=first))
    assert (second.status_code, same.status_code) == (201, 200)
    assert same.json() == second.json()
    stale = api.post(judgment_url(assignment), answer("tie", supersedes=first))
    assert (stale.status_code, error_of(stale)["code"], error_of(stale)["field"]) == (409, "superseded", "supersedes")
    assert Judgment.objects.count() == 2


def test_a_skip_gives_the_assignment_back(api: Api, assignment: Any) -> None:
    response = api.post(
        f"/api/v1/assignments/{assignment['id']}/skip", {"reason": "broken", "note": "B ends in mid-sentence"}
    )
    assert response.status_code == 200
    skip = Skip.objects.get()
    assert (skip.reason, skip.note.text) == ("broken", "B ends in mid-sentence")
    assert error_of(api.post(judgment_url(assignment), answer()))["code"] == "returned"


def test_the_database_holds_no_token_that_could_be_stolen(api: Api) -> None:
    token = api.headers["Authorization"].split()[1]
    assert token not in str(list(AnnotatorToken.objects.values()))


@pytest.mark.parametrize("token", ["", "wrong", "ts_unknown", "ä"])
def test_without_a_valid_token_nothing_is_claimed(campaign: Campaign, token: str) -> None:
    response = Api(token).post(CLAIMS)
    assert response.status_code == 401
    assert error_of(response)["hint"]


def test_an_expired_token_is_refused(api: Api) -> None:
    AnnotatorToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert api.post(CLAIMS).status_code == 401


def test_a_private_campaign_is_as_if_it_were_not_there(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(start=False)
    Campaign.objects.update(visibility="private")
    answers = [Api().post("/api/v1/annotators", {"campaign": key}) for key in (campaign.slug, "no-such-campaign")]
    assert [response.status_code for response in answers] == [404, 404]
    assert answers[0].json() == answers[1].json()


def test_a_campaign_by_link_is_found_by_its_public_id_only(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign()
    Campaign.objects.update(visibility="link")
    assert Api().post("/api/v1/annotators", {"campaign": campaign.slug}).status_code == 404
    assert Api().post("/api/v1/annotators", {"campaign": str(campaign.public_id)}).status_code == 201


def test_a_campaign_for_members_admits_no_stranger(campaign: Campaign) -> None:
    Campaign.objects.update(admission="members")
    response = Api().post("/api/v1/annotators", {"campaign": campaign.slug})
    assert response.status_code == 403
    assert error_of(response)["code"] == "not_allowed"


def test_a_campaign_that_has_stopped_takes_no_new_annotators(campaign: Campaign) -> None:
    campaign_stop(campaign=campaign, reason="enough")
    response = Api().post("/api/v1/annotators", {"campaign": campaign.slug})
    assert (response.status_code, error_of(response)["code"], error_of(response)["field"]) == (
        409,
        "stopped",
        "campaign",
    )
    assert error_of(response)["hint"]
    assert not Annotator.objects.exists()


def test_claiming_in_a_campaign_that_was_not_joined_is_not_found(api: Api, make_campaign: CampaignMaker) -> None:
    make_campaign(slug="other")
    assert api.post("/api/v1/campaigns/other/claims").status_code == 404


def test_the_assignment_of_another_annotator_is_not_found(assignment: Any, campaign: Campaign) -> None:
    token = Api().post("/api/v1/annotators", {"campaign": campaign.slug}).json()["token"]
    of_other = Api(token).post(judgment_url(assignment), answer())
    of_nobody = Api(token).post(judgment_url({"id": uuid.uuid4()}), answer())
    assert (of_other.status_code, of_nobody.status_code) == (404, 404)
    assert of_other.json() == of_nobody.json()
    assert not Judgment.objects.exists()


def test_a_comment_is_kept_only_where_the_campaign_asks_for_comments(campaign: Campaign, api: Api, block: Any) -> None:
    assert api.post(judgment_url(block[0]), answer(comment="unasked")).status_code == 201
    assert not Comment.objects.exists()
    onboarding_set(campaign=campaign, comments=True)
    assert api.post(judgment_url(block[1]), answer(comment="asked")).status_code == 201
    assert Comment.objects.get().text == "asked"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "answers"),
        ({"answers": []}, "answers"),
        ({"answers": "A"}, "answers"),
        ({"answers": [{"aspect": "overall"}]}, "answers.0.choice"),
        ({"answers": [{"aspect": "overall", "choice": 1}]}, "answers.0.choice"),
        ({"answers": [{"aspect": "overall", "choice": "C"}]}, "answers.0.choice"),
        ({"answers": [{"aspect": "humour", "choice": "A"}]}, "answers"),
        ({"answers": [{"aspect": "overall", "choice": "A"}] * 2}, "answers"),
        ({**answer(), "client_ms": "900"}, "client_ms"),
        ({**answer(), "client_ms": True}, "client_ms"),
        ({**answer(), "client_ms": -1}, "client_ms"),
        ({**answer(), "client_ms": 10**30}, "client_ms"),
        ({**answer(), "winner": "A"}, "winner"),
        ({**answer(), "comment": "x" * 2001}, "comment"),
    ],
)
def test_a_body_of_the_wrong_shape_names_its_field_and_writes_nothing(
    api: Api, assignment: Any, body: Any, field: str
) -> None:
    response = api.post(judgment_url(assignment), body)
    assert response.status_code == 400
    assert error_of(response)["field"].startswith(field)
    assert not Judgment.objects.exists()


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b'"A"',
        b"[" * 200_000,
        b'{"a":' * 100_000,
        b"\xff\xfe",
        b'{"count": NaN}',
        b'{"count": ' + b"9" * 5000 + b"}",
        b'{"kind": "\\ud800"}',
        b'{"kind": "\\u0000"}',
    ],
)
def test_a_malformed_body_is_a_bad_request_and_not_a_fault_of_ours(api: Api, body: bytes) -> None:
    response = api.raw(CLAIMS, body)
    assert response.status_code == 400
    error_of(response)


def test_an_unknown_verdict_is_named_by_its_place_in_the_request(make_campaign: CampaignMaker) -> None:
    aspects = (NewAspect("overall", "Which is better?"), NewAspect("clear", "Which is clearer?"))
    make_campaign(design=replace(OPEN, aspects=aspects))
    api = Api(Api().post("/api/v1/annotators", {"campaign": "trial"}).json()["token"])
    given = [{"aspect": "clear", "choice": "A"}, {"aspect": "overall", "choice": "C"}]
    response = api.post(judgment_url(api.post(CLAIMS).json()["assignments"][0]), {"answers": given})
    assert (response.status_code, error_of(response)["field"]) == (400, "answers.1.choice")
