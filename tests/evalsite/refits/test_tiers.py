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


@shared
def fitted(six: Campaign) -> Campaign:
    refit_request(six)
    run_jobs()
    return six


def posterior_of(campaign: Campaign) -> Posterior:
    snapshot = snapshot_current(campaign.default_board)
    assert snapshot is not None
    assert {row.get("tier") for row in snapshot.rows} == {1, 2}
    return Posterior.from_bytes(bytes(snapshot.posterior))


def test_board_of_six_chatbots_has_two_tiers(fitted: Campaign) -> None:
    assert sorted(set(posterior_of(fitted).tier.tolist())) == [0, 1]
    found = Findings.objects.get(campaign=fitted)
    assert found.prompts
    assert all(len(one["by_tier"]) == 2 and min(one["by_tier"]) > 0 for one in found.prompts)


def test_campaign_without_tiers_is_fitted_without_in_another_snapshot(fitted: Campaign) -> None:
    assert posterior_of(fitted).tier.size
    PlanSpec.objects.filter(campaign=fitted).update(tiers=1)
    refit_request(fitted)
    run_jobs()
    assert posterior_of(fitted).tier.size == 0
    assert all(one["by_tier"] == [] for one in Findings.objects.get(campaign=fitted).prompts)
    assert snapshot_current(fitted.default_board).number == 2  # type: ignore[union-attr]


@pytest.mark.parametrize("path", ["/boards/{slug}/prompts/", "/console/{slug}/prompts/"])
def test_pages_of_prompts_show_the_discrimination_by_tier(
    fitted: Campaign, client: Client, alice: User, path: str
) -> None:
    client.force_login(alice)
    assert b"by tier:" in client.get(path.format(slug=fitted.slug)).content
