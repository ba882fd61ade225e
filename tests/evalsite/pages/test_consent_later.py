"""The judging page asks those for a consent who joined before it was required."""

import pytest
from django.test import Client

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.onboarding import onboarding_set
from evalsite.judgments.models import Annotator, Assignment, Enrolment
from tests.evalsite.cast import empty_queue


@pytest.fixture
def joined(campaign: Campaign) -> Client:
    browser = Client()
    browser.post("/judge/trial/begin/")
    for one in Assignment.objects.filter(state="issued"):
        browser.post("/judge/trial/answer/", {"assignment": str(one.public_id), "choice": "A"})
    onboarding_set(campaign=campaign, instructions="We store your answers.", consent_required=True)
    return browser


def test_page_issues_nothing_before_the_consent(joined: Client) -> None:
    assert 'name="consent"' in joined.get("/judge/trial/").content.decode()
    refused = joined.post("/judge/trial/begin/")
    assert refused.status_code == 400
    assert not Assignment.objects.filter(state="issued").exists()


def test_page_goes_on_with_the_same_annotator_after_it(joined: Client) -> None:
    joined.post("/judge/trial/begin/", {"consent": "on"})
    assert Assignment.objects.filter(state="issued").exists()
    assert Enrolment.objects.get().consented_at is not None
    assert Annotator.objects.count() == 1


def test_page_says_why_newcomers_of_one_network_wait(campaign: Campaign, settings: object) -> None:
    settings.NEWCOMER_PERCENT = 1  # type: ignore[attr-defined]
    first, second = Client(), Client()
    first.post("/judge/trial/begin/")
    page = second.post("/judge/trial/begin/", headers={"HX-Request": "true"}).content.decode()
    assert "Newcomers on your network hold as many questions as they may" in page


def test_page_says_that_the_next_plan_is_waited_for(campaign: Campaign) -> None:
    empty_queue(campaign)
    page = Client().post("/judge/trial/begin/", headers={"HX-Request": "true"}).content.decode()
    assert "Everything that is planned so far is being judged" in page
