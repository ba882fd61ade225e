"""A draft is there for nobody but its members, whatever it will be shown as: by its slug, by its link, on any page."""

import pytest
from django.test import Client

from evalsite.accounts.models import ApiToken, User
from evalsite.accounts.services import api_token_issue
from evalsite.campaigns.models import Campaign
from evalsite.judgments.models import Annotator
from tests.evalsite.api.client import Api
from tests.evalsite.cast import CampaignMaker, judge, run_jobs
from tests.shared import shared

PAGES = (
    *("/boards/{board}/", "/boards/{board}/live/", "/boards/{board}/ranking/", "/boards/{board}/charts/"),
    *("/boards/{board}/charts/intervals.csv", "/boards/{board}/method/", "/boards/{board}/badge.svg"),
    *("/judge/{key}/", "/console/{key}/"),
)
CALLS = (
    *("campaigns/{key}", "campaigns/{key}/chatbots", "campaigns/{key}/prompts", "campaigns/{key}/judgments"),
    *("campaigns/{key}/judgments.csv", "campaigns/{key}/judgments.jsonl"),
    *("boards/{board}", "boards/{board}/snapshots", "boards/{board}/snapshots/1"),
)


@shared
def judged(campaign: Campaign, bob: Annotator) -> Campaign:
    judge(campaign, bob, blocks=2)
    run_jobs()
    return campaign


@pytest.fixture(params=["public", "link"])
def draft(request: pytest.FixtureRequest, judged: Campaign) -> Campaign:
    """A draft with all that a campaign can have, so that nothing is missing for want of rows."""
    Campaign.objects.update(state="draft", visibility=request.param)
    judged.refresh_from_db()
    return judged


def addresses(draft: Campaign, patterns: tuple[str, ...]) -> list[str]:
    """Each by the slugs, and by the secret links."""
    board = draft.default_board
    keys = [(draft.slug, board.slug), (str(draft.public_id), str(board.public_id))]
    return [pattern.format(key=key, board=of_board) for pattern in patterns for key, of_board in keys]


def test_no_page_tells_a_stranger_or_another_account_of_it(draft: Campaign, stranger: Client, charlie: User) -> None:
    other = Client()
    other.force_login(charlie)
    pages = addresses(draft, PAGES)
    assert {other.get(page).status_code for page in pages} == {404}
    open_pages = [page for page in pages if not page.startswith("/console/")]  # which asks everybody to log in
    assert {stranger.get(page).status_code for page in open_pages} == {404}
    assert draft.name not in stranger.get("/").content.decode()


def test_no_call_tells_a_stranger_or_another_account_of_it(draft: Campaign, charlie: User) -> None:
    token = api_token_issue(user=charlie, name="t", scopes=ApiToken.Scope.values, days=1)
    for api in (Api(), Api(token)):
        answers = [api.get(f"/api/v1/{call}") for call in addresses(draft, CALLS)]
        assert {answer.status_code for answer in answers} == {404}
        assert [api.get(f"/api/v1/{name}").json()["results"] for name in ("campaigns", "boards")] == [[], []]
        assert api.post("/api/v1/annotators", {"campaign": draft.slug}).status_code == 404
        assert api.post("/api/v1/annotators", {"campaign": str(draft.public_id)}).status_code == 404
    acts = [f"/api/v1/campaigns/{key}/acts/refit" for key in (draft.slug, draft.public_id)]
    assert {Api(token).post(act).status_code for act in acts} == {404}


def test_it_is_answered_like_one_that_never_was(draft: Campaign, stranger: Client) -> None:
    call = "/api/v1/campaigns/{}"
    assert Api().get(call.format(draft.public_id)).json() == Api().get(call.format("nothing-here")).json()
    page = "/boards/{}/"
    seen = stranger.get(page.format(draft.slug)).content.replace(draft.slug.encode(), b"nothing-here")
    assert seen == stranger.get(page.format("nothing-here")).content


def test_its_members_see_all_of_it(draft: Campaign, alice: User) -> None:
    client = Client()
    client.force_login(alice)
    assert [page for page in addresses(draft, PAGES) if client.get(page).status_code != 200] == []
    token = api_token_issue(user=alice, name="t", scopes=ApiToken.Scope.values, days=1)
    assert {Api(token).get(f"/api/v1/{call}").status_code for call in addresses(draft, CALLS)} == {200}


def test_a_joint_board_with_a_draft_among_its_campaigns_is_not_listed(
    draft: Campaign, make_campaign: CampaignMaker, stranger: Client
) -> None:
    other = make_campaign(slug="other")
    leads_there = 'href="/boards/other/"'
    assert leads_there in stranger.get("/").content.decode()
    other.default_board.campaigns.add(draft)
    assert Api().get("/api/v1/boards").json()["results"] == []
    assert leads_there not in stranger.get("/").content.decode()
    assert stranger.get("/boards/other/").status_code == 404
