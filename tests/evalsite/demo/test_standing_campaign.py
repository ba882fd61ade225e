"""The campaign that stays open beside the demonstration: visitors who come after its stop can judge."""

import re
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.onboarding import onboarding_set
from evalsite.campaigns.services import campaign_stop, refit_key
from evalsite.chatbots.models import Version
from evalsite.core.jobs import job_run_now
from evalsite.demo.services import OPEN_SLUG, SLUG, demonstration_load, open_campaign_load
from evalsite.judgments.services import annotator_enrol
from evalsite.prompts.models import PromptSet
from tests.evalsite.cast import CampaignMaker, judge, run_jobs
from tests.evalsite.pages.test_pages import words
from tests.shared import shared


@shared
def demonstration() -> Campaign:
    demonstration_load()
    open_campaign_load()
    assert job_run_now(key=refit_key(Campaign.objects.get(slug=OPEN_SLUG)), owner="test")
    campaign = Campaign.objects.get(slug=SLUG)
    campaign_stop(campaign=campaign, reason="enough")
    return campaign


@pytest.mark.full
def test_who_comes_after_the_stop_is_led_to_the_open_campaign(demonstration: Campaign, stranger: Client) -> None:
    page = stranger.get(f"/judge/{SLUG}/")
    assert "These campaigns are open: Small chatbots, your turn" in words(page)
    assert f'href="/judge/{OPEN_SLUG}/"' in page.content.decode()
    german = Client(headers={"Accept-Language": "de"}).get(f"/judge/{SLUG}/")
    assert "Diese Kampagnen sind offen:" in words(german)


def test_the_open_campaign_gives_an_item_after_the_stop(demonstration: Campaign, stranger: Client) -> None:
    assert "Start judging" in words(stranger.get(f"/judge/{OPEN_SLUG}/"))
    page = stranger.post(f"/judge/{OPEN_SLUG}/begin/", follow=True).content.decode()
    assert re.search(r'id="stage"[^>]*data-state="item"', page)


@pytest.mark.full
def test_batches_of_the_open_campaign_make_a_board_and_no_stop(demonstration: Campaign) -> None:
    campaign = Campaign.objects.get(slug=OPEN_SLUG)
    given = judge(campaign, annotator_enrol(campaign=campaign), blocks=4)
    run_jobs()
    campaign.refresh_from_db()
    snapshot = campaign.default_board.snapshots.latest("number")
    assert (given, snapshot.judgments, campaign.state) == (20, 20, Campaign.State.RUNNING)
    assert campaign.standing


def test_it_shares_chatbots_and_prompts_and_is_loaded_once(demonstration: Campaign) -> None:
    out = StringIO()
    call_command("load_demonstration", stdout=out)
    assert f"/judge/{OPEN_SLUG}/" in out.getvalue()
    assert (Campaign.objects.count(), Version.objects.count(), PromptSet.objects.count()) == (2, 8, 1)
    assert Campaign.objects.get(slug=OPEN_SLUG).entrants.count() == 8


@pytest.mark.django_db
def test_a_database_from_before_gets_the_open_campaign() -> None:
    demonstration_load()
    assert not Campaign.objects.filter(slug=OPEN_SLUG).exists()
    call_command("load_demonstration", stdout=StringIO())
    assert Campaign.objects.get(slug=OPEN_SLUG).collecting


@shared
def other(make_campaign: CampaignMaker) -> Campaign:
    """A campaign has ended, and this one is open."""
    campaign_stop(campaign=make_campaign(slug="ended"), reason="enough")
    return make_campaign(slug="other")


def test_only_open_public_campaigns_are_offered(other: Campaign, stranger: Client) -> None:
    closed = {
        "visibility": Campaign.Visibility.LINK,
        "admission": Campaign.Admission.MEMBERS,
        "state": Campaign.State.PAUSED,
    }
    for field, value in closed.items():
        assert "These campaigns are open: Other" in words(stranger.get("/judge/ended/"))
        Campaign.objects.filter(pk=other.pk).update(**{field: value})
        assert "These campaigns are open" not in words(stranger.get("/judge/ended/"))
        Campaign.objects.filter(pk=other.pk).update(**{field: getattr(other, field)})


def test_people_of_a_crowd_platform_are_led_nowhere(
    other: Campaign, make_campaign: CampaignMaker, stranger: Client
) -> None:
    onboarding_set(campaign=other, platform="prolific", code_complete="C1", code_screened_out="C2", code_failed="C3")
    assert "These campaigns are open" not in words(stranger.get("/judge/ended/"))
    third = make_campaign(slug="third")
    assert third.name in words(stranger.get("/judge/ended/"))
