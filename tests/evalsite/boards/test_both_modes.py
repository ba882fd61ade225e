"""A board of static and live judgments together: linked by an owner, shown while a test finds no difference."""

from typing import Any

import pytest
from django.test import Client

from evalsite.accounts.models import Membership
from evalsite.accounts.services import user_create
from evalsite.boards.live_report import live_report_content
from evalsite.boards.live_reports import live_report_store
from evalsite.boards.mode_results import mode_result, mode_result_of
from evalsite.boards.models import LiveReport, Slice
from evalsite.boards.selectors import snapshot_current
from evalsite.campaigns.live import static_campaign_set
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import entrant_add
from evalsite.chatbots.models import Reply
from evalsite.chatbots.services import replies_add, version_create
from evalsite.core.errors import Conflict
from evalsite.judgments.services import annotator_enrol
from evalsite.operations.services import campaign_open
from evalsite.refits.both_modes import both_modes_request
from tests.evalsite.boards.test_modes import endpoint_keys, fitted, talk
from tests.evalsite.cast import CampaignMaker, judge, run_jobs
from tests.evalsite.pages.test_pages import words
from tests.shared import shared

pytestmark = pytest.mark.django_db
_ = (endpoint_keys, talk)  # the fixtures of static and live campaigns


@shared
def static(make_campaign: CampaignMaker, talk: Campaign) -> Campaign:
    """A judged public static campaign with other versions of the same chatbots, and one more chatbot."""
    campaign = make_campaign(slug="fixed", organisation=talk.organisation, start=False, chatbots=1, prompts=12)
    for entrant in talk.entrants.order_by("pk"):
        version = version_create(chatbot=entrant.version.chatbot, label="files")
        texts: dict[Any, str | None] = {
            prompt: f"{version} on {prompt}" for prompt in campaign.prompt_set.prompts.order_by("pk")
        }
        replies_add(version=version, replies=texts, origin=Reply.Origin.FILE)
        entrant_add(campaign=campaign, version=version)
    Campaign.objects.filter(pk=campaign.pk).update(
        visibility="public", admission="open", vetting_votes=0, batch_size=5, quota=None
    )
    campaign.refresh_from_db()
    campaign_open(campaign=campaign)
    run_jobs()
    annotator = annotator_enrol(campaign=campaign)
    for choice in "ABAB":
        judge(campaign, annotator, choice)
        run_jobs()
    return campaign


def reported(live: Campaign) -> None:
    """Store the live report anew, and fit the boards that follow from it."""
    content, cleaning = live_report_content(live)
    live_report_store(campaign=live, mark="", content=content, cleaning=cleaning)
    both_modes_request()
    run_jobs()


@pytest.fixture
def linked(talk: Campaign, static: Campaign) -> Campaign:
    static_campaign_set(campaign=talk, static=static)
    return talk


@shared
def together(talk: Campaign, static: Campaign) -> Campaign:
    """A test has found no difference between the two that are linked."""
    static_campaign_set(campaign=talk, static=static)
    fitted(static, 0.0)
    reported(talk)
    return talk


def test_board_of_both_ranks_all_chatbots_by_all_judgments(together: Campaign) -> None:
    both = together.default_board.slices.get(by=Slice.By.MODE)
    assert both.own is not None
    snapshot = snapshot_current(both.own)
    assert snapshot is not None
    assert len(snapshot.rows) == 3, "versions of the same chatbot are one"
    assert snapshot.judgments == both.judgments > 12 * 9


@pytest.mark.usefixtures("together")
def test_reader_sees_the_board_of_both_and_why(stranger: Client) -> None:
    page = words(stranger.get("/boards/talk/"))
    assert "One board ranks judgments of fixed prompts and of conversations together" in page
    assert "count here together" in page
    alone = words(stranger.get("/boards/talk/?mode=own"))
    assert "count here together" not in alone
    assert "One board ranks judgments" in words(stranger.get("/boards/fixed/"))
    assert len(stranger.get("/api/v1/boards/talk?mode=both").json()["chatbots"]) == 3


def test_difference_makes_two_boards(together: Campaign, static: Campaign, stranger: Client) -> None:
    fitted(static, 3.0)
    reported(together)
    result = mode_result(together)
    assert result is not None
    assert (result.enough, result.together) == (True, False)
    page = words(stranger.get("/boards/talk/"))
    assert "So there are two boards." in page
    assert "count here together" not in page
    assert "two boards" in words(stranger.get("/boards/talk/?mode=both"))


@pytest.mark.usefixtures("linked")
def test_two_boards_stand_until_a_test_could_find_a_difference(stranger: Client) -> None:
    assert "There are two boards until a test could find a difference of 0.5" in words(stranger.get("/boards/talk/"))


def test_few_judgments_leave_two_boards(together: Campaign) -> None:
    report = LiveReport.objects.get()
    report.content["modes"][0]["largest_se"] = 0.3
    report.save()
    result = mode_result(together)
    assert result is not None
    assert (result.test is not None, result.enough, result.together) == (True, False, False)


def test_unlinked_board_says_nothing(talk: Campaign, static: Campaign, stranger: Client) -> None:
    fitted(static, 0.0)
    reported(talk)
    assert mode_result_of(talk) is mode_result_of(static) is None
    assert not Slice.objects.filter(by=Slice.By.MODE).exists()
    static_campaign_set(campaign=talk, static=static)
    static_campaign_set(campaign=talk, static=None)
    assert "boards" not in words(stranger.get("/boards/talk/")).split("Ranking")[0]


def test_only_a_static_campaign_is_linked(talk: Campaign, make_campaign: CampaignMaker) -> None:
    other = make_campaign(slug="others", start=False)
    with pytest.raises(Conflict, match="no conversations"):
        static_campaign_set(campaign=other, static=talk)
    with pytest.raises(Conflict, match="fixed prompts"):
        static_campaign_set(campaign=talk, static=talk)


@pytest.mark.parametrize(("role", "status"), [("owner", 302), ("manager", 403), ("viewer", 403)])
def test_owner_links_in_the_console(talk: Campaign, static: Campaign, client: Client, role: str, status: int) -> None:
    user = user_create(username="olga", password=None)
    Membership.objects.create(organisation=talk.organisation, user=user, role=role)
    client.force_login(user)
    form = {"static_campaign": str(static.public_id)}
    assert client.post(f"/console/{talk.public_id}/static-campaign/", form).status_code == status
    talk.refresh_from_db()
    assert (talk.live.static_campaign == static) == (status == 302)
    if status == 302:
        fitted(static, 0.0)
        assert "Board of both modes" in words(client.get(f"/console/{talk.public_id}/live-report/"))
