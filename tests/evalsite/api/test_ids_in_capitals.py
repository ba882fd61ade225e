"""An id is the same id in capitals, in an address as in a body or a query; a slug is as it was given."""

from typing import Any

import pytest

from evalsite.campaigns.models import Campaign
from tests.evalsite.api.client import Api, answer, judgment_url


def test_an_assignment_is_answered_and_held_and_skipped_by_its_id_in_capitals(api: Api, block: Any) -> None:
    first, second, third = ({"id": one["id"].upper()} for one in block)
    assert api.post(judgment_url(first), answer()).status_code == 201
    assert api.post(judgment_url(block[0]), answer()).status_code == 200
    assert api.post(f"/api/v1/assignments/{second['id']}/renewal").status_code == 200
    skipped = api.post(f"/api/v1/assignments/{third['id']}/skip", {"reason": "broken"})
    assert skipped.json() == {"skipped": block[2]["id"]}


@pytest.mark.parametrize("path", ["campaigns/{}", "campaigns/{}/chatbots", "boards/{}", "boards/{}/snapshots"])
def test_a_campaign_and_its_board_are_found_by_their_ids_in_capitals(campaign: Campaign, path: str) -> None:
    key = str((campaign if path.startswith("campaigns") else campaign.default_board).public_id)
    given, capitals = (Api().get("/api/v1/" + path.format(each)) for each in (key, key.upper()))
    assert (given.status_code, capitals.status_code) == (200, 200)
    assert capitals.json() == given.json()
    assert Api().get("/api/v1/" + path.format(campaign.slug)).status_code == 200
    for other in (campaign.slug.upper(), key.replace("-", "").upper()):
        assert Api().get("/api/v1/" + path.format(other)).status_code == 404


def test_a_campaign_is_joined_and_claimed_from_by_its_id_in_capitals(campaign: Campaign) -> None:
    key = str(campaign.public_id).upper()
    joined = Api().post("/api/v1/annotators", {"campaign": key})
    assert joined.status_code == 201
    claimed = Api(joined.json()["token"]).post(f"/api/v1/campaigns/{key}/claims")
    assert len(claimed.json()["assignments"]) == campaign.block_size
