"""Tiers of chatbots in the service: the fit, the findings, and the pages of prompts."""

import pytest
from django.test import Client

from evalsite.accounts.models import User
from evalsite.boards.selectors import snapshot_current
from evalsite.campaigns.models import Campaign, PlanSpec
from evalsite.campaigns.services import refit_request
from evalsite.judgments.services import annotator_enrol
from evalsite.refits.models import Findings
from irt_engine import Posterior
from tests.evalsite.cast import CampaignMaker, by_number, judge_as, run_jobs
from tests.shared import shared


@shared
def six(make_campaign: CampaignMaker) -> Campaign:
    """Six chatbots with some judgments and no fit yet."""
    campaign = make_campaign(chatbots=6, prompts=8)
    Campaign.objects.update(shows_prompts=True)
    annotators = [annotator_enrol(campaign=campaign) for _ in range(2)]
    for _ in range(4):
        for annotator in annotators:
            judge_as(campaign, annotator, by_number)
    return Campaign.objects.get(pk=campaign.pk)


def posterior_of(campaign: Campaign) -> Posterior:
    refit_request(campaign)
    run_jobs()
    snapshot = snapshot_current(campaign.default_board)
    assert snapshot is not None
    assert {row.get("tier") for row in snapshot.rows} == {1, 2}
    return Posterior.from_bytes(bytes(snapshot.posterior))


def test_board_of_six_chatbots_has_two_tiers(six: Campaign) -> None:
    assert sorted(set(posterior_of(six).tier.tolist())) == [0, 1]
    found = Findings.objects.get(campaign=six)
    assert found.prompts
    assert all(len(one["by_tier"]) == 2 and min(one["by_tier"]) > 0 for one in found.prompts)


def test_campaign_without_tiers_is_fitted_without(six: Campaign) -> None:
    PlanSpec.objects.filter(campaign=six).update(tiers=1)
    assert posterior_of(Campaign.objects.get(pk=six.pk)).tier.size == 0
    assert all(one["by_tier"] == [] for one in Findings.objects.get(campaign=six).prompts)


def test_other_tiers_make_another_snapshot(six: Campaign) -> None:
    first = posterior_of(six)
    PlanSpec.objects.filter(campaign=six).update(tiers=1)
    second = posterior_of(Campaign.objects.get(pk=six.pk))
    assert first.tier.size
    assert not second.tier.size
    assert snapshot_current(six.default_board).number == 2  # type: ignore[union-attr]


@pytest.mark.parametrize("path", ["/boards/{slug}/prompts/", "/console/{slug}/prompts/"])
def test_pages_of_prompts_show_the_discrimination_by_tier(
    six: Campaign, client: Client, alice: User, path: str
) -> None:
    posterior_of(six)
    client.force_login(alice)
    assert b"by tier:" in client.get(path.format(slug=six.slug)).content
