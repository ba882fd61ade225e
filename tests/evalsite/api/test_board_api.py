"""The board over HTTP: honest uncertainty, a 304 when nothing changed, and nothing for strangers."""

import pytest
from django.test import Client

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import entrant_withdraw
from evalsite.judgments.models import Annotator
from tests.evalsite.cast import judge, run_jobs

URL = "/api/v1/boards/trial"


def test_a_board_without_judgments_is_empty_and_says_so(campaign: Campaign, stranger: Client) -> None:
    body = stranger.get(URL).json()
    assert (body["judgments"], body["snapshot"], body["chatbots"]) == (0, None, [])
    assert body["state"] == "running"


def test_every_chatbot_comes_with_its_interval_and_rank_bounds(
    campaign: Campaign, bob: Annotator, stranger: Client
) -> None:
    judge(campaign, bob, blocks=2)
    run_jobs()
    body = stranger.get(URL).json()
    assert body["judgments"] == 6
    assert body["snapshot"]["judgments"] == 5
    assert body["decision"]["reason"]
    assert body["decision"]["reason_code"] == "target_se_missed"
    for row in body["chatbots"]:
        assert row["lower"] < row["ability"] < row["upper"]
        assert row["se"] > 0
        assert 1 <= row["rank_lower"] <= row["rank"] <= row["rank_upper"]


def test_withdrawn_chatbots_are_apart_without_a_rank(
    campaign: Campaign, bob: Annotator, alice: User, stranger: Client
) -> None:
    judge(campaign, bob, blocks=2)
    run_jobs()
    whole = stranger.get(URL).json()
    first = campaign.entrants.get(version__public_id=whole["chatbots"][0]["version"])
    entrant_withdraw(campaign=campaign, entrant=first, reason="its maker asked", by=alice)
    body = stranger.get(URL).json()
    without = [max(1, row["rank"] - 1) for row in whole["chatbots"][1:]]  # others may have shared the first rank
    assert [row["rank"] for row in body["chatbots"]] == without
    [gone] = body["withdrawn"]
    assert (gone["version"], gone["reason"]) == (whole["chatbots"][0]["version"], "its maker asked")
    assert not [name for name in gone if name.startswith("rank")]


def test_an_unchanged_board_is_a_304_and_a_judgment_changes_it(
    campaign: Campaign, bob: Annotator, stranger: Client
) -> None:
    etag = stranger.get(URL)["ETag"]
    for sent in (etag, f"W/{etag}"):
        again = stranger.get(URL, headers={"If-None-Match": sent})
        assert (again.status_code, again.content) == (304, b"")
    judge(campaign, bob)
    assert stranger.get(URL, headers={"If-None-Match": etag}).status_code == 200


@pytest.mark.parametrize(
    ("visibility", "by_slug", "by_id"), [("public", 200, 200), ("link", 404, 200), ("private", 404, 404)]
)
def test_who_may_see_a_board_is_the_campaigns_choice(
    campaign: Campaign, stranger: Client, visibility: str, by_slug: int, by_id: int
) -> None:
    Campaign.objects.update(visibility=visibility)
    public_id = campaign.default_board.public_id
    assert stranger.get(URL).status_code == by_slug
    assert stranger.get(f"/api/v1/boards/{public_id}").status_code == by_id


def test_a_private_board_opens_for_a_member_and_not_for_somebody_else(
    campaign: Campaign, alice: User, charlie: User, stranger: Client
) -> None:
    Campaign.objects.update(visibility="private")
    stranger.force_login(charlie)
    assert stranger.get(URL).status_code == 404
    stranger.force_login(alice)
    assert stranger.get(URL).status_code == 200
