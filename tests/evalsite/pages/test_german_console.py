"""A German reader of the console reads German, also where the service itself said something without a reader."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from evalsite.accounts.models import User
from evalsite.adaptive.checks import check_ask
from evalsite.adaptive.models import FullCheck
from evalsite.campaigns.models import Campaign, Pilot
from evalsite.core.models import AuditEntry, Inquiry
from tests.evalsite.adaptive.test_screening import crowd
from tests.evalsite.cast import CampaignMaker, run_jobs
from tests.evalsite.pages.test_pages import words

GERMAN = {"Accept-Language": "de-CH,de;q=0.9,en;q=0.5"}


@pytest.fixture
def german(alice: User) -> Client:
    """alice, whose browser asks for German."""
    client = Client(headers=GERMAN)
    client.force_login(alice)
    return client


def test_why_the_screening_excludes_somebody_is_german_wherever_it_is_shown(
    german: Client, make_campaign: CampaignMaker
) -> None:
    _, adversary = crowd(make_campaign, Campaign.Screening.ACT)
    pages = [words(german.get(f"/console/trial/{page}/")) for page in ("annotators", "log")]
    pages.append(german.get(f"/console/trial/act/exclude/?annotator={adversary.public_id}").content.decode())
    for page in pages:
        assert "sorgfältigen Bewertenden" in page
        assert "Korrelation mit den anderen −" in page
        assert "careful annotators" not in page
        assert "correlation" not in page
    kept = AuditEntry.objects.get(act="exclude").reason
    assert "careful annotators" in kept, "what is kept is a fact, which no wording changes"


def test_what_a_forecast_advises_is_german(german: Client, make_campaign: CampaignMaker) -> None:
    draft = make_campaign(chatbots=3, prompts=4, start=False)
    asked = f"/console/{draft.public_id}/forecast/"
    german.post(asked, {"target_se": "0.05", "budget": "10"})
    run_jobs()
    page = words(german.post(asked, {"target_se": "0.05", "budget": "10"}))
    assert re.search(r"Das Ziel ist nicht zu erreichen: Nach allen \d+ Urteilen gilt: der größte SE ist \d,\d+", page)
    assert "Mehr Prompts helfen nicht genug" in page
    english = words(german.post(asked, {"target_se": "0.05", "budget": "10"}, headers={"Accept-Language": "en"}))
    assert "The goal is out of reach: after all" in english
    assert "The goal" not in page


def test_what_the_worker_could_not_do_is_german(german: Client, make_campaign: CampaignMaker, alice: User) -> None:
    campaign = make_campaign(chatbots=3, prompts=4, start=False)
    asked = f"/console/{campaign.public_id}/forecast/"
    german.post(asked, {"target_se": "0.05", "budget": "10"})
    trouble = "This could not be worked out. The server's log says why."
    Inquiry.objects.update(trouble=trouble, answered_at=timezone.now())
    answer = words(german.get(f"{asked}{Inquiry.objects.get().public_id}/"))
    assert answer == "Das ließ sich nicht ausrechnen. Das Protokoll des Servers sagt, warum."


def test_what_a_pilot_could_not_forecast_is_german(german: Client, make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(chatbots=3, prompts=4)
    trouble = "policy 'thompson' has no quick forecast (simulate it, or use one of adaptive, random)"
    taught = {"judgments": 10, "annotators": 2, "seconds": 8, "tie_share": 0.5, "shared": 0, "agreement": None}
    summary = {**taught, "suspects": 0, "forecast": None, "hours": None, "trouble": trouble}
    Pilot.objects.create(campaign=campaign, judgments=10, ended_at=timezone.now(), summary=summary)
    page = words(german.get("/console/trial/"))
    assert "für die Strategie &#x27;thompson&#x27; gibt es keine schnelle Prognose" in page.replace("'", "&#x27;")
    assert "quick forecast" not in page


def test_why_a_full_check_was_not_made_is_german(german: Client, make_campaign: CampaignMaker, alice: User) -> None:
    campaign, _ = crowd(make_campaign, Campaign.Screening.PROPOSE)
    check = check_ask(campaign=campaign, by=alice)
    trouble = "Its workers died again and again; the server's log says more."
    FullCheck.objects.filter(pk=check.pk).update(trouble=trouble, finished_at=timezone.now() + timedelta(seconds=1))
    page = words(german.get("/console/trial/check/"))
    assert "Die Worker dafür sind immer wieder abgebrochen" in page
    assert "again and again" not in page
