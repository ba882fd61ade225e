"""What ends a campaign: its aim, its budget, its deadline; and what contradicts itself is refused."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from evalsite.accounts.models import User
from evalsite.boards.models import Decision
from evalsite.campaigns.drafts import draft_change
from evalsite.campaigns.limits import Limits, limits_of
from evalsite.campaigns.models import Campaign, StoppingSpec
from evalsite.core import jobs
from evalsite.core.errors import InvalidInput
from evalsite.judgments.models import Annotator, Assignment
from evalsite.judgments.services import annotator_enrol
from evalsite.operations.services import campaign_open
from evalsite.refits.designs import rules_of
from scheduler import Budget, Deadline, Futility, NothingLeft, TargetSE
from tests.evalsite.cast import OPEN, CampaignMaker, assignment_claim, judge, run_only_refits
from tests.evalsite.pages.test_pages import words

LATER = timezone.now() + timedelta(days=3)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"target_se": 0.0}, "target_se"),
        ({"target_se": float("nan")}, "target_se"),
        ({"target_se": float("inf")}, "target_se"),
        ({"target_se": 1e-320}, "target_se"),
        ({"target_se": 0.0009}, "target_se"),
        ({"target_se": 1001.0}, "target_se"),
        ({"min_difference": -0.1}, "min_difference"),
        ({"min_difference": 1e-320}, "min_difference"),
        ({"target_se": 0.2, "min_difference": 0.4}, "min_difference"),
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": 0.5, "power": 0.4}, "power"),
        ({"power": 1.0}, "power"),
        ({"power": float("nan")}, "power"),
        ({"budget": 0}, "budget"),
        ({"deadline": datetime(2090, 1, 1)}, "deadline"),  # noqa: DTZ001  that it has no zone is the point
    ],
)
def test_limits_that_cannot_be_are_refused_by_name(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Limits(**given)
    assert refused.value.field == field
    assert refused.value.hint


@pytest.mark.parametrize(("stored", "read"), [(1e-320, 0.001), (0.2, 0.2), (1e300, 1000.0)])
def test_out_of_range_stored_target_is_read_as_the_nearest(
    make_campaign: CampaignMaker, stored: float, read: float
) -> None:
    campaign = make_campaign(start=False)
    StoppingSpec.objects.update(target_se=stored)
    campaign.stopping.refresh_from_db()
    assert limits_of(campaign.stopping).target_se == read


def test_a_draft_is_not_given_an_aim_out_of_bounds(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(start=False)
    with pytest.raises(InvalidInput, match="nothing to aim at"):
        draft_change(campaign=campaign, changes={"target_se": 1e-320})


@pytest.mark.parametrize("wrong", [{"target_se": 0.2, "min_difference": 0.4}, {"alpha": 0.9}, {"power": 1.0}])
def test_the_database_refuses_them_too(make_campaign: CampaignMaker, wrong: dict[str, float]) -> None:
    make_campaign(start=False)
    with pytest.raises(IntegrityError), transaction.atomic():
        StoppingSpec.objects.update(**wrong)


def test_every_limit_is_a_rule_of_the_scheduler(make_campaign: CampaignMaker) -> None:
    design = replace(OPEN, target_se=None, min_difference=0.5, power=0.9, alpha=0.01, budget=70, deadline=LATER)
    campaign = make_campaign(design=design, start=False)
    aim = TargetSE.for_difference(0.5, power=0.9, alpha=0.01)
    assert rules_of(campaign) == [aim, Futility(aim, stops=False), Budget(70), Deadline(LATER), NothingLeft()]


@pytest.mark.full
def test_a_campaign_stops_when_the_difference_would_be_found(make_campaign: CampaignMaker, alice: User) -> None:
    design = replace(OPEN, target_se=None, min_difference=20.0)
    campaign = make_campaign(design=design, chatbots=3, prompts=12)
    bob = annotator_enrol(campaign=campaign)
    while judge(campaign, bob):
        run_only_refits()
        campaign.refresh_from_db()
    assert campaign.state == "stopped"
    assert "the largest SE between neighbours" in campaign.stop_reason
    decision = Decision.objects.order_by("-pk")[0]
    assert decision.evidence["se"] <= decision.evidence["target"] == TargetSE.for_difference(20.0).value
    client = Client()
    client.force_login(alice)
    page = words(client.get("/console/trial/"))
    assert f"It has ended: {campaign.stop_reason}" in page
    assert "Neighbours that differ by 20 are told apart with power 0.8, alpha 0.05, each pair by itself" in page
    assert campaign.stop_reason in words(client.get("/boards/trial/"))


def test_the_deadline_stops_a_campaign_that_nobody_judges_in(campaign: Campaign, bob: Annotator) -> None:
    StoppingSpec.objects.update(deadline=timezone.now() - timedelta(seconds=1))
    campaign = Campaign.objects.get()
    assert Assignment.objects.filter(state="queued").exists()
    assert assignment_claim(campaign=campaign, annotator=bob) == [], "time is over, whether the worker knows or not"
    jobs.sweep()
    run_only_refits()
    campaign.refresh_from_db()
    assert campaign.state == "stopped"
    assert campaign.stop_reason.startswith("the deadline ")
    jobs.sweep()
    assert run_only_refits() == 0, "what has stopped is not stopped again"


def test_the_aim_is_named_before_the_limits(make_campaign: CampaignMaker) -> None:
    """Both hold at once: the campaign says that it has learnt enough, and not that its money is spent."""
    campaign = make_campaign(design=replace(OPEN, target_se=50.0, budget=5), chatbots=3, prompts=12)
    judge(campaign, annotator_enrol(campaign=campaign), blocks=2)
    run_only_refits()
    campaign.refresh_from_db()
    assert "has reached the target" in campaign.stop_reason
    evidence = Decision.objects.order_by("-pk")[0].evidence
    assert {"se", "judgments", "budget", "open_items"} <= set(evidence)


def test_a_campaign_whose_time_is_over_is_not_launched(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=replace(OPEN, deadline=timezone.now() - timedelta(days=1)), start=False)
    with pytest.raises(InvalidInput, match="has passed"):
        campaign_open(campaign=campaign)
    assert Campaign.objects.get().state == "draft"


def test_board_shows_spent_budget_without_other_limits(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=replace(OPEN, target_se=None, budget=40), chatbots=3, prompts=20)
    judge(campaign, annotator_enrol(campaign=campaign), blocks=2)
    run_only_refits()
    assert ": 6 of 40 judgments" in words(Client().get("/boards/trial/"))
