"""What a campaign's plans want and keep to: refused with a hint where it contradicts itself, kept where it does not."""

from dataclasses import replace
from typing import Any

import pytest

import scheduler
from evalsite.campaigns.models import Campaign, PlanSpec
from evalsite.campaigns.plans import BASELINES, POLICIES, PlanOptions
from evalsite.campaigns.services import Design, campaign_start, plan_options, plan_set
from evalsite.core.errors import InvalidInput
from evalsite.core.models import Job
from tests.evalsite.cast import OPEN, CampaignMaker, run_jobs


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"target": "fame"}, "target"),
        ({"target": "top"}, "top"),
        ({"top": 2}, "top"),
        ({"target": "top", "top": 0}, "top"),
        ({"target": "newcomer"}, "newcomer"),
        ({"overlap_share": 1.1}, "overlap_share"),
        ({"overlap_share": float("nan")}, "overlap_share"),
        ({"overlap_votes": 1}, "overlap_votes"),
        ({"overlap_votes": 1001}, "overlap_votes"),
        ({"votes_per_pair": 0}, "votes_per_pair"),
        ({"pair_share": 0.0}, "pair_share"),
        ({"floor": -0.1}, "floor"),
        ({"exposure": 0.5}, "exposure"),
        ({"exposure": float("inf")}, "exposure"),
        ({"balance": {"sums": 0.5, "trivia": 0.4}}, "balance"),
        ({"balance": {"sums": 1.5, "trivia": -0.5}}, "balance"),
        ({"retire_after": 0}, "retire_after"),
        ({"retire_below": 1.0}, "retire_below"),
    ],
)
def test_an_option_that_cannot_be_is_refused_by_its_name(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        PlanOptions(**options)
    assert refused.value.field == field
    assert refused.value.hint


@pytest.mark.parametrize(
    ("options", "votes_per_item", "field"),
    [
        (PlanOptions(votes_per_pair=2), 3, "votes_per_pair"),
        (PlanOptions(votes_per_pair=2, overlap_share=0.1, overlap_votes=3), 1, "votes_per_pair"),
        (PlanOptions(overlap_share=0.1, overlap_votes=2), 2, "overlap_votes"),
    ],
)
def test_caps_that_contradict_each_other_are_refused(
    make_campaign: CampaignMaker, options: PlanOptions, votes_per_item: int, field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        make_campaign(design=replace(OPEN, plan=options, votes_per_item=votes_per_item))
    assert (refused.value.code, refused.value.field) == ("contradictory_caps", field)
    assert refused.value.hint
    assert not Campaign.objects.exists()


@pytest.mark.parametrize(
    ("options", "code", "field"),
    [
        (PlanOptions(target="top", top=4), "invalid", "top"),
        (PlanOptions(balance={"general": 0.5, "sums": 0.5}), "unknown_category", "balance"),
    ],
)
def test_a_plan_that_does_not_fit_the_campaign_does_not_start(
    make_campaign: CampaignMaker, options: PlanOptions, code: str, field: str
) -> None:
    campaign = make_campaign(design=replace(OPEN, plan=options), start=False)
    with pytest.raises(InvalidInput) as refused:
        campaign_start(campaign=campaign)
    assert (refused.value.code, refused.value.field) == (code, field)


def test_exposure_limits_the_votes_of_a_category() -> None:
    options = PlanOptions(balance={"sums": 0.5, "trivia": 0.5}, exposure=2.0)
    options.check_categories({"sums": 10, "trivia": 10})
    with pytest.raises(InvalidInput) as refused:
        options.check_categories({"sums": 1, "trivia": 19})
    assert refused.value.code == "contradictory_caps"


def test_a_policy_that_there_is_not_is_refused(make_campaign: CampaignMaker) -> None:
    with pytest.raises(InvalidInput, match="no policy"):
        make_campaign(design=replace(OPEN, policy="best"))


def test_policies_and_baselines_are_those_of_the_scheduler() -> None:
    assert (set(POLICIES), set(BASELINES)) == (set(scheduler.POLICIES), set(scheduler.BASELINES))


@pytest.mark.parametrize("policy", BASELINES)
def test_new_campaign_cannot_choose_a_baseline(make_campaign: CampaignMaker, policy: str) -> None:
    with pytest.raises(InvalidInput, match="baseline") as refused:
        make_campaign(design=replace(OPEN, policy=policy))
    assert refused.value.field == "policy"


def test_campaign_whose_stored_policy_is_a_baseline_keeps_it(campaign: Campaign) -> None:
    Campaign.objects.filter(pk=campaign.pk).update(policy="swiss")
    campaign.refresh_from_db()
    plan_set(campaign=campaign, options=PlanOptions(floor=0.2), policy="swiss")
    run_jobs()
    assert set(campaign.assignments.filter(state="queued").values_list("policy", flat=True)) == {"swiss"}


def test_default_plan_is_adaptive_with_one_vote_per_item() -> None:
    assert (Design().policy, Design().votes_per_item) == ("adaptive", 1)


def test_options_are_kept_as_they_were_given(make_campaign: CampaignMaker) -> None:
    options = PlanOptions(overlap_share=0.2, overlap_votes=3, votes_per_pair=5, balance={"general": 1.0})
    campaign = make_campaign(design=replace(OPEN, plan=options), start=False)
    assert plan_options(campaign) == options
    assert PlanSpec.objects.get().campaign == campaign


def test_changed_plan_of_a_running_campaign_is_replanned(campaign: Campaign) -> None:
    newcomer = campaign.entrants.order_by("pk")[3]
    plan_set(campaign=campaign, options=PlanOptions(target="newcomer", newcomer=newcomer.pk), policy="random")
    assert Job.objects.filter(kind="refit", state=Job.State.QUEUED).exists()
    run_jobs()
    assert set(campaign.assignments.filter(state="queued").values_list("policy", flat=True)) == {"random"}


def test_a_change_that_does_not_fit_changes_nothing(campaign: Campaign) -> None:
    before = plan_options(campaign)
    with pytest.raises(InvalidInput):
        plan_set(campaign=campaign, options=PlanOptions(target="top", top=9), policy="random")
    campaign.refresh_from_db()
    assert (plan_options(campaign), campaign.policy) == (before, "adaptive")


def test_votes_per_item_beyond_the_forecast_limit_are_refused(make_campaign: CampaignMaker) -> None:
    with pytest.raises(InvalidInput) as refused:
        make_campaign(design=replace(OPEN, votes_per_item=1_000_001))
    assert (refused.value.field, refused.value.hint) == ("votes_per_item", "Give at most 1000000.")
    assert not Campaign.objects.exists()
