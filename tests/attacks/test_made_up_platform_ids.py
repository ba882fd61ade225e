"""Completion codes for nothing: made-up ids of a crowd platform, and the code that somebody else has earned."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from json import dumps
from typing import Any, ClassVar
from urllib.parse import urlencode

import pytest
from django.test import Client

from evalsite.campaigns.models import Campaign, Onboarding
from evalsite.campaigns.onboarding import onboarding_set
from evalsite.judgments.arrivals import arrival_secret
from evalsite.judgments.models import Annotator, Arrival
from tests.evalsite.pages.reading import Page, Visitor
from tests.shared import shared

CODE = "DONE-1"
TOKEN = "prolific-token-of-alice"
REAL = {"PROLIFIC_PID": "worker1", "STUDY_ID": "study1", "SESSION_ID": "session1"}


@shared
def study(campaign: Campaign) -> Campaign:
    """A private campaign that Prolific sends people to, for three judgments each."""
    Campaign.objects.update(quota=3, visibility="private", admission="members")
    onboarding_set(campaign=campaign, platform="prolific", code_complete=CODE)
    campaign.refresh_from_db()
    return campaign


@shared
def unchecked(study: Campaign) -> Campaign:
    onboarding_set(campaign=study, secret_required=False)
    return study


def ids(n: int) -> dict[str, str]:
    return {"PROLIFIC_PID": f"fake{n}", "STUDY_ID": "study1", "SESSION_ID": f"fake{n}"}


def knock(client: Client, campaign: Campaign, given: dict[str, str]) -> Page:
    return Page(client.post(f"/arrive/{campaign.public_id}/", given))


def judge(client: Client, campaign: Campaign, count: int = 3) -> Visitor:
    visitor = Visitor(client, f"/judge/{campaign.public_id}/")
    for _ in range(count):
        visitor.answer("A")
    return visitor


class Prolific(BaseHTTPRequestHandler):
    """GET /api/v1/submissions/{id}/ as Prolific documents it."""

    submissions: ClassVar[dict[str, dict[str, Any]]] = {}
    status: ClassVar[int] = 200
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        found = self.submissions.get(self.path.removeprefix("/api/v1/submissions/").rstrip("/"))
        known = self.headers["Authorization"] == f"Token {TOKEN}"
        status = 401 if not known else 404 if found is None else self.status
        body = dumps(found if status == 200 else {"error": {"status": status}}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def prolific(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Prolific]]:
    """A server on loopback that knows one submission; alice's organisation has a token for it."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    one = {"id": "session1", "participant": "worker1", "study_id": "study1", "status": "ACTIVE"}
    Prolific.submissions, Prolific.status, Prolific.asked = {"session1": one}, 200, []
    server = HTTPServer(("127.0.0.1", 0), Prolific)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    settings.PROLIFIC_API = f"http://127.0.0.1:{server.server_port}"
    settings.PROLIFIC_TOKENS = {"alice": TOKEN}
    yield Prolific
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("count", [3, pytest.param(300, marks=pytest.mark.full)])
def test_made_up_ids_are_refused_without_the_secret(study: Campaign, settings: Any, count: int) -> None:
    settings.ENROLMENTS_PER_HOUR = 10_000
    for n in range(count):
        for key in ("", "0" * 32, "ü"):
            page = knock(Client(), study, {**ids(n), "key": key})
            assert page.response.status_code == 403
            assert "lacks the secret of the study" in page.words
    assert not Annotator.objects.exists()


def test_the_way_in_is_not_even_shown_without_the_secret(study: Campaign, stranger: Client) -> None:
    for path in ("", "mturk/"):
        assert stranger.get(f"/arrive/{study.public_id}/{path}?{urlencode(REAL)}").status_code == 403


def test_the_studys_address_lets_in_to_the_code(study: Campaign, stranger: Client) -> None:
    given = {**REAL, "key": arrival_secret(study)}
    page = Page(stranger.get(f"/arrive/{study.public_id}/?{urlencode(given)}"))
    assert page.field("key") == given["key"]
    assert knock(stranger, study, given).response.status_code == 302
    assert CODE in judge(stranger, study).page.words


def test_a_new_secret_ends_the_address_before_it(study: Campaign, owner: Client, stranger: Client) -> None:
    leaked = {**REAL, "key": arrival_secret(study)}
    url = "/console/trial/arrivals/"
    assert arrival_secret(study) in owner.get(url).content.decode()
    assert owner.post(url, {"renew": "yes"}).status_code == 302
    assert knock(stranger, study, leaked).response.status_code == 403
    study = Campaign.objects.get(pk=study.pk)
    assert leaked["key"] not in owner.get(url).content.decode()
    assert knock(stranger, study, {**REAL, "key": arrival_secret(study)}).response.status_code == 302


def test_another_studys_participants_are_not_let_in(study: Campaign, stranger: Client) -> None:
    onboarding_set(campaign=study, study="study1")
    key = arrival_secret(study)
    assert knock(stranger, study, {**REAL, "STUDY_ID": "study2", "key": key}).response.status_code == 404
    assert knock(stranger, study, {**REAL, "key": key}).response.status_code == 302


@pytest.mark.parametrize("state", ["finished", "halfway"])
def test_a_code_is_not_collected_by_another_session(unchecked: Campaign, stranger: Client, state: str) -> None:
    knock(stranger, unchecked, REAL)
    judge(stranger, unchecked, 3 if state == "finished" else 2)
    thief = Client()
    for session in ("session1", "made-up"):
        page = knock(thief, unchecked, {**REAL, "SESSION_ID": session})
        assert page.response.status_code == 409
        assert CODE not in page.html
    assert thief.get(f"/judge/{unchecked.public_id}/").status_code == 404
    assert CODE in judge(stranger, unchecked, 0 if state == "finished" else 1).page.words


def test_a_browser_that_lost_its_visit_sees_no_code(study: Campaign, stranger: Client) -> None:
    given = {**REAL, "key": arrival_secret(study)}
    knock(stranger, study, given)
    judge(stranger, study, 2)
    other = Client()
    knock(other, study, given)
    assert CODE in judge(other, study, 1).page.words
    page = Page(stranger.get(f"/judge/{study.public_id}/"))
    assert CODE not in page.html
    assert "Your code is shown in the browser in which you finished" in page.words


def test_what_began_before_browsers_were_told_apart_ends_there(unchecked: Campaign, stranger: Client) -> None:
    knock(stranger, unchecked, REAL)
    Arrival.objects.update(browser="")
    assert CODE in judge(stranger, unchecked).page.words
    page = knock(Client(), unchecked, REAL)
    assert (page.response.status_code, CODE in page.html) == (409, False)


def test_prolific_is_asked_about_each_arrival(unchecked: Campaign, prolific: type[Prolific], stranger: Client) -> None:
    assert knock(stranger, unchecked, REAL).response.status_code == 302
    assert prolific.asked == ["/api/v1/submissions/session1/"]
    assert knock(stranger, unchecked, REAL).response.status_code == 302
    assert len(prolific.asked) == 1, "not again for the browser that has begun"
    assert CODE in judge(stranger, unchecked).page.words


@pytest.mark.parametrize(
    "wrong", [{"SESSION_ID": "made-up"}, {"PROLIFIC_PID": "made-up"}, {"STUDY_ID": "made-up"}], ids=str
)
def test_ids_that_prolific_does_not_know_are_refused(
    unchecked: Campaign, prolific: type[Prolific], stranger: Client, wrong: dict[str, str]
) -> None:
    page = knock(stranger, unchecked, {**REAL, **wrong})
    assert page.response.status_code == 403
    assert "Prolific does not know this submission" in page.words
    assert not Annotator.objects.exists()


@pytest.mark.parametrize("status", ["RETURNED", "TIMED-OUT", "REJECTED"])
def test_a_submission_that_is_over_is_refused(
    unchecked: Campaign, prolific: type[Prolific], stranger: Client, status: str
) -> None:
    prolific.submissions["session1"]["status"] = status
    assert knock(stranger, unchecked, REAL).response.status_code == 403


@pytest.mark.parametrize("trouble", ["token", "limit", "away", "nonsense"])
def test_nobody_is_let_in_unchecked(
    unchecked: Campaign, prolific: type[Prolific], stranger: Client, settings: Any, trouble: str
) -> None:
    if trouble == "token":
        settings.PROLIFIC_TOKENS = {"alice": "another"}
    elif trouble == "limit":
        prolific.status = 429
    elif trouble == "away":
        settings.PROLIFIC_API = "http://127.0.0.1:1"
    else:
        prolific.submissions["session1"] = []  # type: ignore[assignment]
    page = knock(stranger, unchecked, REAL)
    assert page.response.status_code == (403 if trouble == "nonsense" else 503)
    assert not Annotator.objects.exists()
    assert TOKEN not in page.html


def test_console_says_when_codes_are_there_for_anybody(unchecked: Campaign, owner: Client) -> None:
    said = "Anybody can make up an address of this study"
    for page in ("annotators/", "arrivals/"):
        assert said in Page(owner.get(f"/console/trial/{page}")).words
    assert owner.post("/console/trial/arrivals/", {"save": "yes", "secret_required": "on"}).status_code == 302
    for page in ("annotators/", "arrivals/"):
        assert said not in Page(owner.get(f"/console/trial/{page}")).words
    assert Onboarding.objects.get().secret_required


def test_console_says_nothing_of_it_where_prolific_is_asked(
    unchecked: Campaign, owner: Client, prolific: type[Prolific]
) -> None:
    words = Page(owner.get("/console/trial/arrivals/")).words
    assert "Anybody can make up" not in words
    assert "Each arrival is checked with Prolific" in words
