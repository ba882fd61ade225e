"""The page of an analysis plan: its values, and the sizes of all settings side by side."""

from typing import Any

import pytest
from django.test import Client

from evalsite.accounts.models import Organisation
from evalsite.boards.analysis_plans import plan_of
from evalsite.campaigns.models import Campaign
from tests.evalsite.cast import run_jobs
from tests.evalsite.live_rows import live_campaign_rows

pytestmark = pytest.mark.django_db
VALUES = {"difference": "0.1", "alpha": "0.05", "power": "0.8", "baseline": "0.8", "discordance": "0.85"}


@pytest.fixture(autouse=True)
def endpoint_keys(settings: Any) -> None:
    settings.ENDPOINT_KEYS = ["the-first-key-of-these-tests-0123456789"]


@pytest.fixture
def draft(organisation: Organisation) -> Campaign:
    return live_campaign_rows(organisation, state="draft", selection="sata")


def test_saving_shows_the_sizes_of_all_settings(draft: Campaign, owner: Client) -> None:
    answer = owner.post("/console/talk/analysis-plan/", {**VALUES, "turns": "667", "stops": "on"})
    assert answer.status_code == 302
    plan = plan_of(draft)
    assert (plan.turns, plan.stops) == (667, True)
    assert 'role="status" hx-get=' in owner.get(answer["Location"]).content.decode()
    run_jobs()
    page = owner.get(answer["Location"]).content.decode()
    assert "pm-soba" in page
    assert ">667<" in page
    assert ">196<" in page
    assert ">126<" in page


def test_a_wrong_value_is_named_and_nothing_is_saved(draft: Campaign, owner: Client) -> None:
    answer = owner.post("/console/talk/analysis-plan/", {**VALUES, "alpha": "2"})
    assert answer.status_code == 400
    assert plan_of(draft).pk is None


def test_static_campaigns_have_no_plan_and_strangers_see_none(
    draft: Campaign, campaign: Campaign, owner: Client, stranger: Client
) -> None:
    assert owner.get(f"/console/{campaign.slug}/analysis-plan/").status_code == 404
    assert stranger.get("/console/talk/analysis-plan/").status_code == 302  # to the log-in
