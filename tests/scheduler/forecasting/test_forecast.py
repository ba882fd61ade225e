"""forecast: what a campaign will take, before its first judgment and in the middle of it; and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler import CampaignState, InvalidRequest, NotSolvable, plan
from scheduler.estimator import CAMPAIGN_PRIORS
from scheduler.forecasting.forecast import (
    FORECASTABLE_POLICIES,
    Forecast,
    ForecastTerms,
    Range,
    attainable,
    forecast,
    most_of,
    summary,
    unjudged_state,
)
from scheduler.forecasting.goals import AllAbilities, ForecastGoal, Neighbours, Separated
from scheduler.forecasting.inputs import item_numbers
from scheduler.overlap import Overlap
from scheduler.state import no_items
from tests.environment import FULL
from tests.scheduler.cast import CELLS, POSTERIOR, every_item, fresh, items, midway

GOALS: list[ForecastGoal] = [AllAbilities(0.4), Neighbours(0.5), Separated(0.6)]
SE = float(POSTERIOR.se.max())


def of(se: float, *, chatbots: int = 5, prompts: int = 60, **terms: Any) -> Forecast:
    return forecast(unjudged_state(chatbots, prompts), ForecastTerms(AllAbilities(se), **({"batch": 10} | terms)))


@pytest.mark.parametrize(
    ("goal", "policy"),
    [
        pytest.param(
            goal,
            policy,
            id=f"{type(goal).__name__}-{policy}",
            marks=() if GOALS.index(goal) == place % len(GOALS) else pytest.mark.full,
        )
        for goal in GOALS
        for place, policy in enumerate(sorted(FORECASTABLE_POLICIES))
    ],
)
def test_every_goal_is_forecast_under_every_policy_alike_for_equal_arguments(goal: ForecastGoal, policy: str) -> None:
    terms = ForecastTerms(goal, policy=policy, batch=10, price=0.5, per_day=20.0)
    found = forecast(unjudged_state(5, 60), terms)
    assert found == forecast(unjudged_state(5, 60), terms)
    assert 0.0 < found.judgments.low <= found.judgments.middle <= found.judgments.high <= found.most == 600
    assert found.cost is not None
    assert found.days is not None
    assert found.cost.high == pytest.approx(0.5 * found.judgments.high)
    assert found.days.low == pytest.approx(found.judgments.low / 20.0)


@settings(max_examples=8 if FULL else 2)
@given(se=st.floats(0.2, 0.6), closer=st.floats(0.5, 0.95))
def test_a_smaller_se_is_never_cheaper_nor_likelier(se: float, closer: float) -> None:
    easy, hard = of(se), of(se * closer)
    assert hard.judgments.low >= easy.judgments.low
    assert hard.judgments.middle >= easy.judgments.middle
    assert hard.judgments.high >= easy.judgments.high
    assert hard.reached <= easy.reached


def test_choosing_saves_judgments_when_the_ses_are_the_goal() -> None:
    chosen, spread = (of(0.2, chatbots=10, prompts=150, policy=policy) for policy in ("adaptive", "random"))
    assert chosen.judgments.middle < 0.8 * spread.judgments.middle


def test_a_goal_that_the_prompts_can_never_reach_says_where_the_campaigns_end() -> None:
    found = of(0.02, prompts=10)
    assert found.reached == 0.0
    assert found.judgments.low == found.judgments.high == found.most == 100
    assert found.reachable is not None
    assert 0.02 < found.reachable.low < found.reachable.middle < found.reachable.high
    more = of(0.02, prompts=40)
    assert more.reachable is not None
    assert more.reachable.middle < found.reachable.middle


@pytest.mark.parametrize(
    ("goal", "chatbots", "prompts"),
    [
        pytest.param(goal, *size, id=f"{type(goal).__name__}-{size}", marks=() if goal_at == at else pytest.mark.full)
        for goal_at, goal in enumerate(GOALS)
        for at, size in enumerate([(3, 8), (5, 25), (12, 8)])
    ],
)
def test_what_is_attainable_is_about_what_campaigns_reach_without_a_budget(
    goal: ForecastGoal, chatbots: int, prompts: int
) -> None:
    state, terms = unjudged_state(chatbots, prompts), ForecastTerms(goal, batch=20)
    assert attainable(state, replace(terms, budget=1)) == pytest.approx(forecast(state, terms).reached, abs=0.05)


def test_more_votes_of_every_item_reach_further() -> None:
    terms = ForecastTerms(AllAbilities(0.02))
    once, thrice = (forecast(unjudged_state(4, 10, votes_per_item=n), terms) for n in (1, 3))
    assert thrice.most == 3 * once.most
    assert once.reachable is not None
    assert thrice.reachable is not None
    assert thrice.reachable.middle < once.reachable.middle


def test_choosing_does_not_cost_judgments_where_items_are_judged_many_times() -> None:
    """Choosing picks no prompt again before the pair's others had their turn. Of 40 simulated campaigns of each, half
    ended within 87 judgments that were chosen, and 104 at random."""
    chosen, spread = (
        forecast(
            unjudged_state(6, 3, votes_per_item=100),
            ForecastTerms(AllAbilities(0.6), budget=600, policy=policy, batch=20),
        )
        for policy in ("adaptive", "random")
    )
    assert chosen.judgments.middle < spread.judgments.middle
    assert chosen.judgments.middle == pytest.approx(87, rel=0.2)
    assert spread.judgments.middle == pytest.approx(104, rel=0.2)
    assert chosen.reached >= spread.reached


def several(share: float, votes: int, chatbots: int = 5, prompts: int = 60) -> CampaignState:
    return replace(unjudged_state(chatbots, prompts), overlap=Overlap(share, votes))


def test_where_several_judge_an_item_there_is_more_to_ask_and_it_tells_less() -> None:
    terms = ForecastTerms(AllAbilities(0.4), batch=10)
    once, some, all_ = (forecast(several(share, 3), terms) for share in (0.0, 0.3, 1.0))
    assert (once.most, some.most, all_.most) == (600, 960, 1800)
    assert once.judgments.middle < some.judgments.middle < all_.judgments.middle < 3 * once.judgments.middle


@pytest.mark.parametrize(("cell_sd", "times"), [(1e-6, 1.0), (5.0, 1.5)])
def test_a_further_vote_tells_the_less_the_more_it_shares_with_the_first(cell_sd: float, times: float) -> None:
    """Nothing shared: as much as the first. Much shared: a third as much, so that 1.5 times as many are needed. Prompts
    are alike, since votes on one prompt share its discrimination, too."""
    priors = replace(CAMPAIGN_PRIORS, cell_sd=cell_sd, reply_sd=0.0, log_discrimination_sd=0.02)
    terms = ForecastTerms(AllAbilities(0.4 / priors.unit), batch=1, priors=priors)
    once, twice = (forecast(several(share, 2, prompts=600), terms) for share in (0.0, 1.0))
    assert twice.judgments.middle == pytest.approx(times * once.judgments.middle, rel=0.1)


@given(share=st.floats(0.0, 1.0), votes=st.integers(2, 4), begun=st.integers(0, 60), seed=st.integers(0, 9))
def test_what_may_still_be_asked_is_what_a_plan_would_find(share: float, votes: int, begun: int, seed: int) -> None:
    """Exactly so of the items that have votes; of the others the overlap's share is taken."""
    rng = np.random.default_rng(seed)
    state = replace(fresh(), overlap=Overlap(share, votes, seed), retired=np.array([2, 5]))
    cells = rng.permutation(every_item())
    state = replace(state, judged=cells[:begun], closed=cells[70:])
    asked = plan(state, policy="random", count=1000, seed=seed).asks
    open_, times = np.unique(np.array(items(asked)).reshape(-1, 3), axis=0, return_counts=True)
    without = ~np.isin(item_numbers(state, open_), item_numbers(state, state.judged))
    expected = (1.0 + share * (votes - 1)) * without.sum() + times[~without].sum()
    most = most_of(state, ForecastTerms(AllAbilities(0.1)))
    assert abs(most - expected) <= 0.5 + 1e-6
    if share in (0.0, 1.0):
        assert most == times.sum()


def test_a_budget_ends_a_campaign_and_none_is_none() -> None:
    assert of(0.05, budget=70).judgments.high == 70.0
    assert of(0.05, budget=70).most == 70
    nothing = of(0.05, budget=0)
    assert (nothing.judgments.low, nothing.judgments.high, nothing.reached) == (0.0, 0.0, 0.0)
    assert nothing.reachable is not None
    assert nothing.reachable.middle == pytest.approx(
        1.5 / CAMPAIGN_PRIORS.unit * np.sqrt(0.8)
    )  # about the mean of five


def test_judgments_come_in_batches() -> None:
    assert of(0.5, batch=77).judgments.low % 77 == 0.0


def test_two_chatbots_on_one_prompt_are_forecast_too() -> None:
    found = forecast(unjudged_state(2, 1), ForecastTerms(AllAbilities(0.1)))
    assert (found.judgments.low, found.judgments.high, found.reached) == (1.0, 1.0, 0.0)


def test_in_the_middle_of_a_campaign_only_what_is_missing_is_forecast() -> None:
    done = forecast(midway(), ForecastTerms(AllAbilities(SE * 1.001), batch=1))
    assert (done.judgments.high, done.reached) == (0.0, 1.0)
    nearly = forecast(midway(), ForecastTerms(AllAbilities(SE * 0.97), batch=1))
    assert 0.0 < nearly.judgments.middle < 20.0
    assert nearly.most == 40


def test_chatbots_and_prompts_that_the_board_has_not_seen_are_forecast_from_the_priors() -> None:
    state = CampaignState(
        (*POSTERIOR.chatbots, "new"), (*POSTERIOR.prompts, "more"), POSTERIOR, judged=CELLS, judgments=len(CELLS)
    )
    one = forecast(state, ForecastTerms(AllAbilities(SE * 1.001), batch=1))
    assert one.judgments.low > 0.0
    assert one.most == 15 * 9 - 40


def test_what_is_closed_is_never_counted_on() -> None:
    shut = forecast(fresh(closed=every_item()[:50]), ForecastTerms(AllAbilities(0.01)))
    assert shut.most == 30
    assert forecast(fresh(closed=every_item()), ForecastTerms(AllAbilities(0.01))).most == 0
    assert forecast(midway(closed=CELLS[:10]), ForecastTerms(AllAbilities(0.01))).most == 40
    assert forecast(fresh(votes_per_pair=3), ForecastTerms(AllAbilities(0.01))).most == 30
    assert forecast(midway(votes_per_item=2), ForecastTerms(AllAbilities(0.01))).most == 120
    pending = midway(pending=np.array([[0, 1, 0]]))
    assert forecast(pending, ForecastTerms(AllAbilities(0.01))).most == 40


def test_a_budget_counts_the_judgments_that_are_in() -> None:
    assert forecast(midway(), ForecastTerms(AllAbilities(0.01), budget=50)).most == 10
    assert forecast(midway(), ForecastTerms(AllAbilities(0.01), budget=10)).most == 0


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (unjudged_state(1, 10), "one_chatbot"),
        (unjudged_state(0, 10), "one_chatbot"),
        (unjudged_state(3, 0), "no_prompts"),
        (CampaignState(("a", "b"), (), judged=no_items()), "no_prompts"),
    ],
)
def test_a_campaign_that_cannot_compare_anything_is_refused(state: CampaignState, code: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        forecast(state, ForecastTerms(AllAbilities(0.1)))
    assert refused.value.code == code
    assert refused.value.hint


@pytest.mark.parametrize(
    ("terms", "code"),
    [
        ({"budget": -1}, "bad_budget"),
        ({"batch": 0}, "bad_budget"),
        ({"batch": 2.5}, "bad_budget"),
        ({"batch": float("nan")}, "bad_budget"),
        ({"budget": float("nan")}, "bad_budget"),
        ({"budget": 99.5}, "bad_budget"),
        ({"price": -0.1}, "bad_price"),
        ({"price": float("nan")}, "bad_price"),
        ({"price": 1e308}, "bad_price"),
        ({"per_day": 1e-320}, "bad_pace"),
        ({"per_day": float("inf")}, "bad_pace"),
        ({"per_day": 0.0}, "bad_pace"),
        ({"policy": "swiss"}, "no_forecast"),
        ({"policy": "best"}, "no_forecast"),
    ],
)
def test_terms_that_make_no_sense_are_refused(terms: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        of(0.1, **terms)
    assert refused.value.code == code


def test_goals_and_numbers_that_make_no_sense_are_refused() -> None:
    for se in (0.0, -1.0, float("nan"), float("inf")):
        for goal in (AllAbilities, Neighbours):
            with pytest.raises(InvalidRequest):
                goal(se)
    for share, level in ((0.0, 0.95), (1.1, 0.95), (float("nan"), 0.95), (0.5, 1.0)):
        with pytest.raises(InvalidRequest):
            Separated(share, level)
    with pytest.raises(InvalidRequest):
        unjudged_state(-1, 3)
    with pytest.raises(InvalidRequest):
        forecast(unjudged_state(3, 3), ForecastTerms(AllAbilities(0.1)), seed=-1)
    with pytest.raises(InvalidRequest, match="seed -1"):
        attainable(unjudged_state(3, 3), ForecastTerms(AllAbilities(0.1)), seed=-1)


def test_goals_measure_what_they_say() -> None:
    ability = np.array([[0.0, 3.0, 1.0]])
    covariance = np.diag([0.04, 0.09, 0.16])[None]
    assert AllAbilities(0.2).measure(ability, covariance)[0] == pytest.approx(0.4)
    assert AllAbilities(0.2).shortfall(ability, covariance)[0] == pytest.approx(2.0)
    assert Neighbours(1.0).measure(ability, covariance)[0] == pytest.approx(0.5)  # between the third and the second
    # |z| of the pairs: 3 / .36 and 1 / .45 and 2 / .5
    assert Separated(1.0).measure(ability, covariance)[0] == 1.0
    assert Separated(1.0).shortfall(ability, covariance)[0] == pytest.approx(1.96 * np.sqrt(0.2), rel=1e-3)
    assert Separated(0.6).shortfall(ability, covariance)[0] == pytest.approx(1.96 / 4.0, rel=1e-3)


def range_of(measures: np.ndarray) -> Range:
    """Return the range in which campaigns end when all of them miss their goal."""
    nothing = np.zeros(len(measures))
    found = summary(nothing, nothing.astype(bool), measures, 100, ForecastTerms(AllAbilities(0.1))).reachable
    assert found is not None
    return found


def test_a_range_is_that_of_quantiles_where_no_two_campaigns_end_alike() -> None:
    values = np.random.default_rng(1).permutation(np.arange(1.0, 100.0))
    found = range_of(values)
    assert (found.low, found.middle, found.high) == pytest.approx((10.0, 50.0, 90.0))


def test_campaigns_that_stop_at_the_same_batch_lie_half_on_either_side() -> None:
    """Of 200 campaigns by whole batches of 40, four of five: as of the same ones without batches."""
    exact = 40.0 * np.exp(1.5 + 0.4 * np.random.default_rng(2).standard_normal(4000))
    batched = np.ceil(exact / 40.0) * 40.0
    found, fine = range_of(batched), range_of(exact)
    assert found.low - fine.low == pytest.approx(20.0, abs=6.0)  # half a batch later, as all of them are
    assert found.high - fine.high == pytest.approx(20.0, abs=6.0)
    held = float(np.mean((found.low <= batched) & (batched <= found.high)))
    assert 0.7 < held < 0.9 < float(np.mean((batched >= 80.0) & (batched <= 320.0)))


@pytest.mark.parametrize(
    ("ask", "chatbots", "prompts"),
    [
        (forecast, 2, 3),
        pytest.param(attainable, 2, 3, marks=pytest.mark.full),
        pytest.param(attainable, 4, 30, marks=pytest.mark.full),
        pytest.param(attainable, 46, 3, marks=pytest.mark.full),
    ],
)
def test_what_floats_cannot_tell_is_an_error_with_a_hint_and_not_one_of_the_algebra(
    ask: Any, chatbots: int, prompts: int
) -> None:
    with pytest.raises(NotSolvable, match="too large or too far apart") as refused:
        ask(unjudged_state(chatbots, prompts, votes_per_item=10**18), ForecastTerms(AllAbilities(0.15)))
    assert (refused.value.code, bool(refused.value.hint)) == ("not_solvable", True)
