"""Attack: come in by the API, past the consent, the qualification, the quota and the admission of the judging page."""

from typing import Any

import pytest

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.onboarding import NewQualificationItem, onboarding_set, qualification_set
from evalsite.judgments.models import Annotator, Enrolment
from evalsite.operations.campaign_status import campaign_status_get
from evalsite.operations.services import campaign_open
from tests.evalsite.api.client import Api, answer, error_of, judgment_url
from tests.evalsite.cast import CampaignMaker, run_jobs

TURNS = [{"speaker": "user", "text": "What is two and two?"}]
ITEMS = [NewQualificationItem(TURNS, "Four.", "Five.", "A", "Two and two are four.")]


def qualified(make_campaign: CampaignMaker) -> Campaign:
    campaign = make_campaign(slug="study", start=False)
    qualification_set(campaign=campaign, items=ITEMS, pass_mark=1)
    campaign_open(campaign=campaign)
    run_jobs()
    campaign.refresh_from_db()
    return campaign


def join(campaign: Campaign, **more: Any) -> Api:
    found = Api().post("/api/v1/annotators", {"campaign": campaign.slug, **more})
    assert found.status_code == 201
    return Api(found.json()["token"])


def claim(campaign: Campaign, api: Api) -> Any:
    return api.post(f"/api/v1/campaigns/{campaign.slug}/claims").json()


def reason(campaign: Campaign, api: Api) -> str:
    found = claim(campaign, api)
    assert found["assignments"] == []
    assert found["campaign"]["hint"]
    return str(found["campaign"]["reason"])


def test_api_enrols_nobody_without_the_required_consent(campaign: Campaign) -> None:
    onboarding_set(campaign=campaign, instructions="We store your answers.", consent_required=True)
    refused = Api().post("/api/v1/annotators", {"campaign": campaign.slug})
    assert (refused.status_code, error_of(refused)["code"]) == (400, "consent_required")
    assert '"consent": true' in error_of(refused)["hint"]
    assert not Annotator.objects.exists()
    api = join(campaign, consent=True)
    assert Enrolment.objects.get().consented_at is not None
    assert claim(campaign, api)["assignments"]


def test_further_campaign_by_api_asks_for_its_consent(campaign: Campaign, make_campaign: CampaignMaker) -> None:
    other = make_campaign(slug="other")
    api = join(campaign)
    onboarding_set(campaign=other, instructions="We store your answers.", consent_required=True)
    address = "/api/v1/campaigns/other/enrolments"
    assert error_of(api.post(address))["code"] == "consent_required"
    assert api.post(address, {"consent": True}).status_code == 200
    assert api.post(address).status_code == 200, "given once, it need not be given again"


def test_token_from_before_the_consent_is_issued_nothing(campaign: Campaign) -> None:
    api = join(campaign)
    onboarding_set(campaign=campaign, instructions="We store your answers.", consent_required=True)
    assert reason(campaign, api) == "consent"
    api.post(f"/api/v1/campaigns/{campaign.slug}/enrolments", {"consent": True})
    assert claim(campaign, api)["assignments"]


def test_api_offers_the_qualification_that_it_asks_for(make_campaign: CampaignMaker) -> None:
    campaign = qualified(make_campaign)
    api, address = join(campaign), "/api/v1/campaigns/study/qualification"
    assert reason(campaign, api) == "qualification"
    asked = api.get(address).json()
    assert (asked["state"], asked["of"], asked["pass_mark"]) == ("open", 1, 1)
    assert "right" not in asked["next"]
    told = api.post(address, {"item": asked["next"]["item"], "attempt": 1, "choice": "A"}).json()
    assert (told["right"], told["qualification"]["state"]) == ("A", "passed")
    assert claim(campaign, api)["assignments"]


def test_qualification_that_nobody_passes_alarms_the_owner(make_campaign: CampaignMaker) -> None:
    campaign = qualified(make_campaign)
    address = "/api/v1/campaigns/study/qualification"
    for _ in range(3):
        api = join(campaign)
        for attempt in (1, 2):
            item = api.get(address).json()["next"]["item"]
            api.post(address, {"item": item, "attempt": attempt, "choice": "B"})
        assert reason(campaign, api) == "not_qualified"
        assert api.get(address).json()["state"] == "failed"
    assert ("unqualified", "3") in [(one.what, one.value) for one in campaign_status_get(campaign).alarms]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"state": "paused"}, "paused"),
        ({"quota": 1}, "quota"),
        ({"visibility": "private"}, None),
    ],
    ids=["paused", "quota", "private"],
)
def test_empty_claim_says_why(campaign: Campaign, change: dict[str, Any], expected: str | None) -> None:
    api = join(campaign)
    first = claim(campaign, api)["assignments"]
    for one in first:
        api.post(judgment_url(one), answer())
    Campaign.objects.filter(pk=campaign.pk).update(**change)
    if expected is None:
        refused = api.post(f"/api/v1/campaigns/{campaign.slug}/claims")
        assert error_of(refused)["code"] == "not_allowed"
        assert api.post("/api/v1/claims").json()["campaign"]["reason"] == "not_admitted"
    else:
        assert reason(campaign, api) == expected
