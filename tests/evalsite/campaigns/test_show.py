"""Who sees a board, and what of it, can be changed while it is judged and after: at once, and never in silence."""

from dataclasses import replace

import pytest
from django.test import Client

from evalsite.accounts.models import ApiToken, Membership, User
from evalsite.accounts.services import api_token_issue
from evalsite.boards.services import board_default
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.permissions import Act
from evalsite.core.audit import audit_of
from evalsite.core.errors import Conflict, InvalidInput, NotAllowed
from evalsite.judgments.conflict_of_interest import is_left_out
from evalsite.judgments.models import Annotator, Judgment
from evalsite.judgments.services import annotator_enrol
from evalsite.operations.actions import ActionArguments, act_perform
from tests.evalsite.api.client import Api
from tests.evalsite.cast import OPEN, CampaignMaker, judge, run_only_refits
from tests.evalsite.pages.reading import Visitor
from tests.evalsite.pages.test_pages import words
from tests.shared import shared

BOARD = "/boards/trial/"


def show(campaign: Campaign, by: User, **given: object) -> Campaign:
    return act_perform(key=campaign.slug, act=Act.SHOW, user=by, given=ActionArguments(**given))  # type: ignore[arg-type]


@shared
def closed(make_campaign: CampaignMaker, charlie: User) -> Campaign:
    """Judged by alice and charlie, who alone see it."""
    campaign = make_campaign(design=replace(OPEN, visibility=Campaign.Visibility.PRIVATE), chatbots=3)
    Membership.objects.create(user=charlie, organisation=campaign.organisation, role=Membership.Role.MANAGER)
    judge(campaign, annotator_enrol(campaign=campaign, user=charlie))
    run_only_refits()
    return campaign


def statuses(client: Client, campaign: Campaign) -> tuple[int, int]:
    """Of its board by name, and by link."""
    return client.get(BOARD).status_code, client.get(
        f"/boards/{board_default(campaign=campaign).public_id}/"
    ).status_code


def test_a_board_opens_to_everybody_and_closes_again_at_once(closed: Campaign, alice: User, stranger: Client) -> None:
    assert statuses(stranger, closed) == (404, 404)
    show(closed, alice, visibility="public")
    assert statuses(stranger, closed) == (200, 200)
    assert BOARD in stranger.get("/").content.decode(), "and it is listed"
    show(closed, alice, visibility="link")
    assert statuses(stranger, closed) == (404, 200)
    show(closed, alice, visibility="private")
    assert statuses(stranger, closed) == (404, 404)
    assert BOARD not in stranger.get("/").content.decode()


def test_its_prompts_are_read_as_long_as_that_stands(closed: Campaign, alice: User, stranger: Client) -> None:
    show(closed, alice, visibility="public")
    assert stranger.get(f"{BOARD}prompts/").status_code == 404
    show(closed, alice, shows_prompts=True)
    assert stranger.get(f"{BOARD}prompts/").status_code == 200
    show(closed, alice, shows_prompts=False)
    assert stranger.get(f"{BOARD}prompts/").status_code == 404


def test_the_log_says_what_changed_and_nothing_where_nothing_did(closed: Campaign, alice: User) -> None:
    show(closed, alice, visibility="link", shows_prompts=True, shows_replies=False)
    show(closed, alice, visibility="link")
    (entry,) = audit_of(closed.public_id).filter(act="show")
    assert (entry.before, entry.after) == (
        {"visibility": "private", "shows_prompts": False},
        {"visibility": "link", "shows_prompts": True},
    )
    assert entry.actor == alice.public_id


def test_members_judge_own_chatbots_only_on_a_private_board(closed: Campaign, alice: User, charlie: User) -> None:
    assert not is_left_out(closed, charlie)
    assert is_left_out(show(closed, alice, visibility="link"), charlie)
    assert not is_left_out(show(closed, alice, visibility="private"), charlie)


def test_non_members_stop_judging_when_the_board_closes(campaign: Campaign, bob: Annotator, alice: User) -> None:
    assert judge(campaign, bob)
    show(campaign, alice, visibility="private")
    run_only_refits()
    with pytest.raises(NotAllowed):
        judge(campaign, bob)


@pytest.mark.parametrize("visibility", ["link", "private"])
def test_open_assignment_is_answered_after_the_board_closes(campaign: Campaign, alice: User, visibility: str) -> None:
    visitor = Visitor(Client(), "/judge/trial/")
    visitor.begin()
    show(campaign, alice, visibility=visibility)
    for number in (1, 2, 3):
        assert f"{number} of 3" in visitor.page.words
        visitor.answer("A")
    assert "3 of 3 judged" in visitor.page.words
    assert Judgment.objects.count() == 3
    assert visitor.client.get("/judge/trial/").status_code == 404, "and now there is nothing more for them"


@pytest.mark.parametrize(("admission", "stalls"), [("members", True), ("open", False)])
def test_its_page_says_who_would_judge(closed: Campaign, owner: Client, admission: str, stalls: bool) -> None:
    Campaign.objects.update(admission=admission)
    page = words(owner.get(f"/console/{closed.slug}/act/show/"))
    closed.refresh_from_db()
    assert f"Who judges stays as it was set up: {closed.get_admission_display()}." in page
    assert ("here there are no two others" in page) is stalls


def test_a_draft_is_shown_by_its_set_up(make_campaign: CampaignMaker, alice: User) -> None:
    draft = make_campaign(start=False)
    with pytest.raises(Conflict) as refused:
        show(draft, alice, visibility="link")
    assert refused.value.hint == "Change it in its set-up."
    assert not audit_of(draft.public_id).filter(act="show").exists()


def test_what_is_no_visibility_is_refused_with_those_that_are(closed: Campaign, alice: User) -> None:
    with pytest.raises(InvalidInput) as refused:
        show(closed, alice, visibility="secret")
    assert (refused.value.field, refused.value.hint) == ("visibility", "Use one of: private, link, public.")


def test_the_page_begins_with_how_things_stand(closed: Campaign, owner: Client) -> None:
    address = f"/console/{closed.slug}/act/show/"
    Campaign.objects.update(shows_prompts=True)
    page = owner.get(address)
    assert (page.context["form"]["visibility"].value(), page.context["form"]["shows_prompts"].value()) == (
        "private",
        True,
    )
    assert (
        owner.post(address, {"visibility": "public", "shows_prompts": "on", "shows_replies": "on"}).status_code == 302
    )
    closed.refresh_from_db()
    assert (closed.visibility, closed.shows_prompts, closed.shows_replies) == ("public", True, True)


def test_a_program_says_true_or_false(closed: Campaign, alice: User) -> None:
    api = Api(api_token_issue(user=alice, name="t", scopes=ApiToken.Scope.values, days=1))
    refused = api.post("/api/v1/campaigns/trial/acts/show", {"shows_prompts": "yes"})
    assert refused.status_code == 400
    assert "true or false" in refused.content.decode()
    changed = api.post("/api/v1/campaigns/trial/acts/show", {"visibility": "public"})
    assert changed.json()["visibility"] == "public"
