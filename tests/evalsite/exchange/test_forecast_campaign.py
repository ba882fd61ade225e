"""What a campaign will still take, from the command line."""

import io
import json
from dataclasses import replace

import pytest
from django.core.management import CommandError, call_command

from evalsite.campaigns.models import Campaign
from tests.evalsite.cast import OPEN, CampaignMaker


def said(*arguments: str) -> str:
    out = io.StringIO()
    call_command("forecast_campaign", *arguments, stdout=out)
    return out.getvalue()


def test_it_tells_judgments_cost_days_and_the_chance_of_the_goal(make_campaign: CampaignMaker) -> None:
    make_campaign(design=replace(OPEN, target_se=0.4, budget=120), prompts=40, start=False)
    Campaign.objects.update(pay_rate="0.5", currency="EUR")
    lines = said("trial", "--per-day", "20").splitlines()
    assert [line.split()[0] for line in lines] == ["Judgments", "Cost", "Days", "The", "is", "In"]
    assert "of 120 that remain possible" in lines[0]
    assert lines[1].endswith("EUR")
    found = json.loads(said("trial", "--json"))
    assert found["most"] == 120
    assert found["cost"]["high"] == found["judgments"]["high"] / 2
    assert found["days"] is None


def test_it_names_what_it_is_a_forecast_of(make_campaign: CampaignMaker) -> None:
    make_campaign(design=replace(OPEN, target_se=0.4, budget=120), prompts=40, start=False)
    told = said("trial")
    assert "The goal, the largest SE of at most 0.4,\nis reached in" in told
    assert "In the others, the largest SE ends at" in told


def test_without_an_aim_it_says_that_the_campaign_goes_on(make_campaign: CampaignMaker) -> None:
    make_campaign(design=replace(OPEN, target_se=None, budget=120), prompts=40, start=False)
    told = said("trial")
    assert "The forecast ends when 80% of the pairs are separated,\nwhich is reached in" in told
    assert "goal" not in told


def test_what_cannot_be_forecast_is_said(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=OPEN, start=False)
    Campaign.objects.filter(pk=campaign.pk).update(policy="swiss")
    for name, words in (("nothing", "no campaign"), ("trial", "no quick forecast")):
        with pytest.raises(CommandError, match=words) as refused:
            said(name)
        assert refused.value.returncode == 2
