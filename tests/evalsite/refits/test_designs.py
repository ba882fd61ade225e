"""A campaign's options reach the scheduler: its plans keep to them, and its forecasts are of the same design."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsite.campaigns import plans
from evalsite.campaigns.limits import Limits
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.plans import PlanOptions
from evalsite.campaigns.services import plan_set
from evalsite.core.errors import InvalidInput
from evalsite.judgments.item_keys import item_parts
from evalsite.judgments.models import Assignment
from evalsite.judgments.services import annotator_enrol
from evalsite.refits.designs import design_of, overlap_of
from evalsite.refits.forecasts import campaign_forecast
from evalsite.refits.mapping import Planner
from scheduler import (
    DEFAULT_DESIGN,
    AllAbilities,
    CampaignState,
    CombinedTarget,
    ForecastTerms,
    LargestSETarget,
    NewEntrantTarget,
    PrecisionTarget,
    TopKTarget,
    forecast,
    plan,
)
from scheduler.overlap import MOST_VOTES
from tests.environment import FULL
from tests.evalsite.cast import OPEN, CampaignMaker, judge, run_only_refits

ENTRANTS = [11, 12, 13, 14, 15]
shares = st.sampled_from([0.0, 0.05, 0.3, 0.5, 1.0])


def test_set_up_and_scheduler_allow_the_overlap_the_same_votes() -> None:
    assert plans.MOST_OVERLAP_VOTES == MOST_VOTES


@st.composite
def wishes(draw: st.DrawFn) -> dict[str, Any]:
    """What somebody may ask for, sense or not."""
    target = draw(st.sampled_from(["aim", "ranking", "precision", "top", "newcomer"]))
    return {
        "target": target,
        "top": draw(st.integers(0, 6)) if target == "top" else None,
        "newcomer": draw(st.sampled_from(ENTRANTS)) if target == "newcomer" else None,
        "overlap_share": draw(shares),
        "overlap_votes": draw(st.integers(1, 4)),
        "votes_per_pair": draw(st.none() | st.integers(0, 4)),
        "pair_share": draw(shares),
        "floor": draw(shares),
        "exposure": draw(st.sampled_from([0.5, 1.0, 1.5, 4.0])),
        "balance": draw(st.sampled_from([None, {}, {"x": 0.5, "y": 0.5}, {"x": 0.1, "y": 0.9}, {"z": 1.0}])),
        "retire_after": draw(st.none() | st.integers(0, 3)),
        "retire_below": draw(shares),
    }


@given(wishes(), st.integers(1, 3))
@settings(max_examples=300 if FULL else 60)
def test_what_is_accepted_of_a_campaign_the_scheduler_accepts_too(wish: dict[str, Any], votes_per_item: int) -> None:
    try:
        options = PlanOptions(**wish)
        options.check_votes(votes_per_item)
        options.check_categories({"x": 3, "y": 5})
    except InvalidInput:
        return
    state = CampaignState(
        chatbots=tuple(map(str, ENTRANTS)),
        prompts=tuple("abcdefgh"),
        votes_per_item=votes_per_item,
        votes_per_pair=options.votes_per_pair,
        overlap=overlap_of(options, seed=1),
        categories=tuple("xxxyyyyy"),
    )
    made = plan(state, policy="adaptive", count=12, seed=1, design=design_of(options, Limits(), ENTRANTS))
    assert made.asks


AIMS = {
    Limits(target_se=0.2): LargestSETarget(),
    Limits(min_difference=0.5): LargestSETarget("neighbours"),
    Limits(budget=100): DEFAULT_DESIGN.target,
}


@pytest.mark.parametrize("limits", AIMS, ids=str)
def test_a_campaign_without_wishes_learns_what_ends_it(limits: Limits) -> None:
    assert design_of(PlanOptions(), limits, ENTRANTS) == replace(DEFAULT_DESIGN, target=AIMS[limits])


@pytest.mark.parametrize("limits", AIMS, ids=str)
def test_what_its_owner_chose_stays_whatever_ends_it(limits: Limits) -> None:
    assert design_of(PlanOptions(target="ranking"), limits, ENTRANTS) == DEFAULT_DESIGN
    assert isinstance(design_of(PlanOptions(target="precision"), limits, ENTRANTS).target, PrecisionTarget)


@pytest.mark.full
def test_plans_and_forecasts_of_a_campaign_follow_its_aim(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=replace(OPEN, target_se=0.5), prompts=30)
    planner = Planner(campaign)
    assert planner.design.target == LargestSETarget()
    of_aim = ForecastTerms(
        AllAbilities(0.5), batch=campaign.batch_size, design=replace(DEFAULT_DESIGN, target=LargestSETarget())
    )
    found_for_aim = campaign_forecast(campaign)
    assert found_for_aim == forecast(planner.state(None, 0), of_aim, seed=1)
    plan_set(campaign=campaign, options=PlanOptions(target="ranking"))
    of_ranking = replace(of_aim, design=DEFAULT_DESIGN)
    found_for_ranking = campaign_forecast(campaign)
    assert found_for_ranking == forecast(planner.state(None, 0), of_ranking, seed=1)
    assert found_for_ranking != found_for_aim


def test_a_campaign_without_wishes_has_the_schedulers_own_design() -> None:
    assert design_of(PlanOptions(), Limits(), ENTRANTS) == DEFAULT_DESIGN


def test_each_target_is_the_schedulers() -> None:
    assert isinstance(design_of(PlanOptions(target="precision"), Limits(), ENTRANTS).target, PrecisionTarget)
    assert design_of(PlanOptions(target="newcomer", newcomer=13), Limits(), ENTRANTS).target == NewEntrantTarget(2)
    top = design_of(PlanOptions(target="top", top=2), Limits(), ENTRANTS).target
    assert isinstance(top, CombinedTarget)
    assert top.first == TopKTarget(2)


def test_a_target_that_withdrawals_have_emptied_gives_way_to_the_ranking() -> None:
    assert design_of(PlanOptions(target="newcomer", newcomer=99), Limits(), ENTRANTS).target == DEFAULT_DESIGN.target
    assert design_of(PlanOptions(target="top", top=5), Limits(), ENTRANTS).target == DEFAULT_DESIGN.target


def test_the_overlap_gets_its_votes_and_says_so(make_campaign: CampaignMaker) -> None:
    options = PlanOptions(overlap_share=0.5, overlap_votes=2)
    campaign = make_campaign(design=replace(OPEN, plan=options, batch_size=100), chatbots=3, prompts=12)
    queued = Assignment.objects.filter(state=Assignment.State.QUEUED)
    times = Counter(queued.values_list("item", flat=True))
    shared = set(queued.filter(purpose=Assignment.Purpose.OVERLAP).values_list("item", flat=True))
    assert set(times) - shared
    assert {item for item, count in times.items() if count == 2} == shared
    for _ in range(2):
        annotator = annotator_enrol(campaign=campaign)
        while judge(campaign, annotator):
            pass
    run_only_refits()
    answered = Counter(Assignment.objects.filter(state=Assignment.State.ANSWERED).values_list("item", flat=True))
    assert set(answered.values()) == {1, 2}
    assert all(answered[item] == (2 if item in shared else 1) for item in answered)


def test_a_pair_gets_no_more_votes_than_its_cap(make_campaign: CampaignMaker) -> None:
    options = PlanOptions(votes_per_pair=3)
    campaign = make_campaign(design=replace(OPEN, plan=options), chatbots=3, prompts=12)
    bob = annotator_enrol(campaign=campaign)
    while judge(campaign, bob):
        run_only_refits()
    items = Assignment.objects.filter(annotator=bob).values_list("item", flat=True)
    pairs = Counter(item_parts(item)[1] for item in items)
    assert set(pairs.values()) == {3}


@pytest.mark.full
def test_a_forecast_is_of_the_design_that_plans_are_made_with(make_campaign: CampaignMaker) -> None:
    options = PlanOptions(target="top", top=1, floor=0.9)
    campaign = make_campaign(design=replace(OPEN, plan=options, target_se=0.5), chatbots=3, prompts=20)
    planner = Planner(campaign)
    of_goal = ForecastTerms(AllAbilities(0.5), batch=campaign.batch_size)
    expected = [forecast(planner.state(None, 0), replace(of_goal, design=d), seed=1) for d in (planner.design, None)]
    assert campaign_forecast(campaign) == expected[0]
    assert campaign_forecast(campaign) != expected[1]


def test_a_forecast_goes_on_from_what_is_judged(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=replace(OPEN, target_se=0.5, budget=50, batch_size=10), chatbots=3, prompts=20)
    before = campaign_forecast(campaign, per_day=10)
    given = judge(campaign, annotator_enrol(campaign=campaign), blocks=5)
    run_only_refits()
    after = campaign_forecast(Campaign.objects.get(), per_day=10)
    assert after.most == before.most - given
    assert before.days is not None
    assert before.days.high == pytest.approx(before.judgments.high / 10)
