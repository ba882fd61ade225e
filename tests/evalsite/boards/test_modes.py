"""Static and live judgments of the same chatbots: one board or two, in the live report."""

from typing import Any

import numpy as np
import pytest
from django.test import Client

from evalsite.accounts.models import Membership, Organisation
from evalsite.accounts.services import user_create
from evalsite.boards.live_report import live_report_content
from evalsite.boards.live_reports import live_report_get, live_report_store, report_mark, static_boards
from evalsite.boards.models import Snapshot
from evalsite.boards.services import board_default
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import entrant_add
from evalsite.chatbots.services import version_create
from tests.evalsite.cast import CampaignMaker
from tests.evalsite.live_rows import conversation_rows, live_campaign_rows
from tests.evalsite.pages.test_pages import words
from tests.irt_engine.posteriors import made_up
from tests.shared import shared

pytestmark = pytest.mark.django_db
MIXED = ["10", "01", "11", "10", "00", "10", "01", "10", "11"]


@pytest.fixture(autouse=True)
def endpoint_keys(settings: Any) -> None:
    settings.ENDPOINT_KEYS = ["the-first-key-of-these-tests-0123456789"]


@shared
def talk(organisation: Organisation) -> Campaign:
    """Twelve conversations of two chatbots that are about equally good."""
    campaign = live_campaign_rows(organisation, selection="sata")
    for start in range(6):
        pattern = [*MIXED[start:], *MIXED[:start]]
        conversation_rows(campaign, pattern)
        conversation_rows(campaign, [one[::-1] for one in pattern])
    board_default(campaign=campaign)
    return campaign


@shared
def static(make_campaign: CampaignMaker, talk: Campaign) -> Campaign:
    """A public static campaign with other versions of the same chatbots."""
    campaign = make_campaign(slug="fixed", organisation=talk.organisation, start=False, chatbots=1, prompts=1)
    for entrant in talk.entrants.order_by("pk"):
        entrant_add(campaign=campaign, version=version_create(chatbot=entrant.version.chatbot, label="files"))
    Campaign.objects.filter(pk=campaign.pk).update(state="running", visibility="public")
    campaign.refresh_from_db()
    return campaign


def fitted(static: Campaign, difference: float) -> Snapshot:
    """A snapshot in which the first of the two shared chatbots leads by so many logits."""
    other, first, second = static.entrants.order_by("pk").values_list("version", flat=True)
    ability = np.array([0.0, difference / 2, -difference / 2])
    posterior = made_up(ability, 0.01 * np.eye(3), chatbots=(str(other), str(first), str(second)))
    board = board_default(campaign=static)
    numbers = {"seed": 0, "judgments": 300, "annotators": 9, "seconds": 0.1, "converged": True, "engine": "1"}
    return Snapshot.objects.create(
        board=board,
        number=board.snapshots.count() + 1,
        input_sha256=str(difference),
        rows=[],
        posterior=posterior.to_bytes(),
        **numbers,
    )


@pytest.mark.full
def test_equal_abilities_share_one_board(talk: Campaign, static: Campaign) -> None:
    fitted(static, 0.0)
    (found,) = live_report_content(talk)[0]["modes"]
    assert (found["name"], found["chatbots"], found["one_board"]) == (static.name, ["talk A", "talk B"], True)
    assert (found["test"], found["df"]) == ("Wald (F)", [1, 11])
    assert abs(found["shifts"]["talk A"]) < 0.05


def test_other_abilities_need_two_boards(talk: Campaign, static: Campaign) -> None:
    fitted(static, 3.0)
    (found,) = live_report_content(talk)[0]["modes"]
    assert found["one_board"] is False
    assert found["p"] < 0.01
    assert found["shifts"]["talk A"] == pytest.approx(-1.5, abs=0.1)


def test_the_newest_snapshot_counts_and_renews_the_report(talk: Campaign, static: Campaign) -> None:
    before = report_mark(talk)
    fitted(static, 3.0)
    middle = report_mark(talk)
    newest = fitted(static, 0.0)
    Campaign.objects.filter(pk=static.pk).update(state="stopped", stopped_at=newest.created_at)
    assert len({before, middle, report_mark(talk)}) == 3
    (found,) = live_report_content(talk)[0]["modes"]
    assert (found["snapshot"], found["one_board"]) == (newest.number, True)


def test_campaigns_with_one_shared_chatbot_are_not_compared(talk: Campaign, static: Campaign) -> None:
    fitted(static, 0.0)
    assert [board.default_of for board in static_boards(talk)] == [static]
    static.entrants.order_by("-pk")[0].delete()
    assert not static_boards(talk)
    assert live_report_content(talk)[0]["modes"] == []


def test_a_private_campaign_is_named_to_its_members_alone(
    talk: Campaign, static: Campaign, organisation: Organisation, client: Client
) -> None:
    fitted(static, 0.0)
    content, cleaning = live_report_content(talk)
    live_report_store(campaign=talk, mark="", content=content, cleaning=cleaning)
    page, api = "/boards/talk/live-report/", "/api/v1/boards/talk/live-report"
    assert "one board" in words(client.get(page))
    Campaign.objects.filter(pk=static.pk).update(visibility="private")
    assert static.name not in words(client.get(page))
    assert client.get(api).json()["modes"] == []
    assert static.name not in client.get("/boards/talk/live-report.csv").content.decode()
    user = user_create(username="olga", password=None)
    Membership.objects.create(organisation=organisation, user=user, role="viewer")
    client.force_login(user)
    assert static.name in words(client.get(page))
    assert len(client.get(api).json()["modes"]) == 1
    assert len((live_report_get(talk, user).content or {})["modes"]) == 1
