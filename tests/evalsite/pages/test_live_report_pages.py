"""The live report on the page of a board, in the console, in the API and as a file."""

import csv
import io
from typing import Any

import pytest
from django.test import Client

from evalsite.accounts.models import Organisation, User
from evalsite.boards.analysis_plans import plan_freeze, plan_set
from evalsite.boards.live_reports import live_report_request
from evalsite.boards.services import board_default
from evalsite.campaigns.models import Campaign
from tests.evalsite.cast import run_jobs
from tests.evalsite.live_rows import conversation_rows, live_campaign_rows
from tests.shared import shared

pytestmark = pytest.mark.django_db
MIXED = ["10", "01", "11", "10", "00", "10", "01"]


@pytest.fixture(autouse=True)
def endpoint_keys(settings: Any) -> None:
    settings.ENDPOINT_KEYS = ["the-first-key-of-these-tests-0123456789"]


@shared
def talk(organisation: Organisation) -> Campaign:
    """A running live campaign with a plan, two conversations, a careless one, and a stored report."""
    campaign = live_campaign_rows(organisation, selection="sata", state="draft")
    plan_set(campaign=campaign, values={"turns": 667})
    plan_freeze(campaign)
    Campaign.objects.filter(pk=campaign.pk).update(state="running")
    campaign.refresh_from_db()
    board_default(campaign=campaign)
    conversation_rows(campaign, MIXED, failed=1)
    conversation_rows(campaign, MIXED[::-1])
    conversation_rows(campaign, ["11"] * 6, message="ok")
    live_report_request(campaign)
    run_jobs()
    return campaign


def test_anybody_reads_the_report_of_a_public_board(talk: Campaign, client: Client) -> None:
    page = client.get("/boards/talk/live-report/").content.decode()
    assert "PM-SATA-Random" in page
    assert "McNemar with continuity correction" in page
    assert page.count("planned") >= 1
    assert "exploratory" in page
    assert "proposals" not in page.lower(), "cleaning is for the console"


def test_private_boards_have_no_report_for_strangers(talk: Campaign, client: Client, owner: Client) -> None:
    Campaign.objects.filter(pk=talk.pk).update(visibility=Campaign.Visibility.PRIVATE)
    for address in ("/boards/talk/live-report/", "/boards/talk/live-report.csv", "/api/v1/boards/talk/live-report"):
        assert client.get(address).status_code == 404
        assert owner.get(address).status_code == 200


def test_static_boards_have_no_live_report(campaign: Campaign, owner: Client) -> None:
    for address in (
        f"/boards/{campaign.slug}/live-report/",
        f"/boards/{campaign.slug}/live-report.csv",
        f"/api/v1/boards/{campaign.slug}/live-report",
        f"/console/{campaign.slug}/live-report/",
    ):
        assert owner.get(address).status_code == 404


def test_console_offers_to_exclude_careless_annotators(talk: Campaign, owner: Client) -> None:
    page = owner.get("/console/talk/live-report/").content.decode()
    careless = talk.conversations.order_by("pk").last()
    assert careless is not None
    assert f"/console/talk/act/exclude/?annotator={careless.annotator.public_id}" in page
    assert "the same positions selected in every turn" in page


def test_api_has_the_numbers_of_the_report(talk: Campaign, client: Client) -> None:
    found = client.get("/api/v1/boards/talk/live-report").json()
    setting = found["settings"]["PM-SATA-Random"]
    a, b = (rate["rate"] for rate in setting["win_rates"].values())
    assert a + b - setting["ties"]["tie_win"] + setting["ties"]["tie_loss"] == pytest.approx(1.0)
    assert found["plan"]["content"]["turns"] == 667
    assert len(found["plan"]["sha256"]) == 64
    assert found["failures"]["talk B"]["failed"] == 1


def test_file_has_one_number_in_each_row(talk: Campaign, client: Client) -> None:
    rows = list(csv.DictReader(io.StringIO(client.get("/boards/talk/live-report.csv").content.decode())))
    found = {(row["table"], row["chatbot"], row["measure"]): row["value"] for row in rows}
    assert found["samples", "", "before_dialogues"] == "3"
    assert float(found["win_rates", "talk A", "rate"]) > 0
    assert ("failures", "talk B", "rate") in found


def test_arms_of_a_study_stand_side_by_side(talk: Campaign, organisation: Organisation, client: Client) -> None:
    from evalsite.campaigns.models import LiveSettings, Study

    study = Study.objects.create(organisation=organisation, name="study", seed=1)
    other = live_campaign_rows(organisation, slug="other", selection="sata", study=study, repetition=2)
    conversation_rows(other, MIXED)
    LiveSettings.objects.filter(campaign=talk).update(study=study)
    live_report_request(other)
    run_jobs()
    assert "All arms of the study side by side" in client.get("/boards/talk/live-report/").content.decode()
    assert list(client.get("/api/v1/boards/talk/live-report").json()["arms"]) == [str(other.public_id)]


def test_report_is_german_for_german_readers(talk: Campaign, client: Client) -> None:
    page = client.get("/boards/talk/live-report/", headers={"accept-language": "de"}).content.decode()
    assert "Gewinnrate" in page
    assert "Win rate" not in page


def test_roles_read_the_console_page(talk: Campaign, alice: User, charlie: User, stranger: Client) -> None:
    address = "/console/talk/live-report/"
    assert stranger.get(address).status_code == 302, "to the login"
    stranger.force_login(charlie)
    assert stranger.get(address).status_code in (403, 404)
    stranger.force_login(alice)
    assert stranger.get(address).status_code == 200
