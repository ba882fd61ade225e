"""simulate: whole campaigns, from nothing or from the middle of one, to the stop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from irt_engine.simulate import all_cells, draw_votes
from irt_engine.truth import draw_truth
from scheduler import CampaignState, InvalidRequest, TargetSE
from scheduler.campaign_simulation import GoalReachedRule, run, simulate, stopping_rule_of
from scheduler.estimator import CAMPAIGN_PRIORS, estimate
from scheduler.forecasting.forecast import ForecastTerms, forecast, unjudged_state
from scheduler.forecasting.goals import AllAbilities, Neighbours, Separated
from scheduler.overlap import Overlap
from tests.environment import FULL
from tests.scheduler.cast import CELLS, fresh, midway

TERMS = ForecastTerms(AllAbilities(0.4), batch=30)
SMALL = unjudged_state(4, 40)
CAMPAIGNS = 12 if FULL else 4


def test_a_campaign_runs_until_its_goal_is_reached() -> None:
    found = run(SMALL, TERMS, seed=1)
    assert found.reached
    assert found.measure <= 0.4
    assert found.judgments % 30 == 0


def test_campaigns_that_miss_their_goal_end_with_everything_judged_or_the_budget_spent() -> None:
    found = run(unjudged_state(3, 5), ForecastTerms(AllAbilities(0.01), batch=10), seed=1)
    assert (found.judgments, found.reached) == (15, False)
    assert run(SMALL, ForecastTerms(AllAbilities(0.01), batch=30, budget=45), seed=1).judgments == 45
    nothing = run(SMALL, ForecastTerms(AllAbilities(0.01), budget=0), seed=1)
    assert (nothing.judgments, nothing.reached) == (0, False)
    assert nothing.measure == pytest.approx(1.5 / CAMPAIGN_PRIORS.unit * np.sqrt(0.75))


@pytest.mark.parametrize(
    "policy",
    [
        "adaptive",
        "paper",
        pytest.param("random", marks=pytest.mark.full),
        pytest.param("swiss", marks=pytest.mark.full),
    ],
)
def test_every_policy_can_be_simulated(policy: str) -> None:
    assert run(unjudged_state(4, 20), ForecastTerms(AllAbilities(0.6), batch=30, policy=policy), seed=2).judgments > 0


@pytest.mark.full
def test_equal_seeds_give_equal_campaigns_and_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    state, terms = unjudged_state(4, 20), ForecastTerms(AllAbilities(0.6), batch=10)
    found = simulate(state, terms, campaigns=3, seed=4, progress=lambda *step: told.append(step))
    assert found == simulate(state, terms, campaigns=3, seed=4)
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert found.campaigns == 3
    assert run(state, terms, seed=5) != run(state, terms, seed=6)


@pytest.mark.full
def test_the_two_speeds_agree() -> None:
    """On a few campaigns of a small design; `tests/benchmarks/forecast.py` has the real comparison."""
    quick, slow = forecast(SMALL, TERMS), simulate(SMALL, TERMS, campaigns=CAMPAIGNS, seed=1)
    assert quick.judgments.middle == pytest.approx(slow.judgments.middle, rel=0.5)
    assert quick.most == slow.most == 240


def test_the_two_speeds_agree_where_several_judge_every_item() -> None:
    """A goal within reach keeps the case of a usual run short."""
    state = replace(SMALL, overlap=Overlap(1.0, 3))
    terms = TERMS if FULL else ForecastTerms(AllAbilities(0.6), batch=30)
    quick, slow = forecast(state, terms), simulate(state, terms, campaigns=CAMPAIGNS, seed=1)
    assert quick.judgments.middle == pytest.approx(slow.judgments.middle, rel=0.5)
    assert quick.most == slow.most == 720


def test_a_campaign_that_has_begun_goes_on_from_its_own_votes() -> None:
    votes = draw_votes(draw_truth(5, 8, seed=1, form="vote"), CELLS, seed=3)
    state = CampaignState(votes.chatbots, votes.prompts, estimate(votes), judged=CELLS, judgments=len(CELLS))
    assert state.posterior is not None
    reached = run(state, ForecastTerms(AllAbilities(float(state.posterior.se.max()) * 1.001)), votes=votes, seed=1)
    assert (reached.judgments, reached.reached) == (0, True)
    missed = run(state, ForecastTerms(AllAbilities(0.01), batch=25), votes=votes, seed=1)
    assert (missed.judgments, missed.reached) == (40, False)
    assert missed.measure < state.posterior.se.max()


def test_a_campaign_without_anything_left_to_ask_ends_where_it_stands() -> None:
    terms = ForecastTerms(AllAbilities(0.01), batch=10)
    for state in (
        replace(SMALL, retired=np.arange(40)),
        replace(SMALL, closed=all_cells(4, 40)),
    ):
        found, quick = simulate(state, terms, campaigns=2), forecast(state, terms)
        assert (found.judgments, found.reached, found.most) == (quick.judgments, quick.reached, quick.most)
        assert found.judgments.high == 0.0
    votes = draw_votes(draw_truth(5, 8, seed=1, form="vote"), CELLS, seed=3)
    over = CampaignState(
        votes.chatbots, votes.prompts, estimate(votes), judged=CELLS, judgments=len(CELLS), retired=np.arange(8)
    )
    assert over.posterior is not None
    reached = run(over, ForecastTerms(AllAbilities(float(over.posterior.se.max()) * 1.001)), votes=votes, seed=1)
    missed = run(over, terms, votes=votes, seed=1)
    assert (reached.judgments, reached.reached) == (0, True)
    assert (missed.judgments, missed.reached) == (0, False)
    assert missed.measure == reached.measure == pytest.approx(over.posterior.se.max())


@pytest.mark.parametrize("names", ["chatbots", "prompts"])
def test_votes_on_others_are_refused(names: str) -> None:
    votes = draw_votes(draw_truth(5, 8, seed=1, form="vote"), CELLS, seed=3)
    state = CampaignState(votes.chatbots, votes.prompts, estimate(votes), judged=CELLS, judgments=len(CELLS))
    changed: dict[str, Any] = {names: tuple(f"other {name}" for name in getattr(votes, names))}
    others = replace(votes, **changed)
    with pytest.raises(InvalidRequest) as refused:
        run(state, TERMS, votes=others, seed=1)
    assert (refused.value.code, bool(refused.value.hint)) == ("other_votes", True)


def test_votes_that_are_missing_or_no_campaigns_are_refused() -> None:
    with pytest.raises(InvalidRequest) as refused:
        run(midway(), TERMS, seed=1)
    assert refused.value.code == "no_votes"
    with pytest.raises(InvalidRequest) as refused:
        run(fresh(judged=CELLS), TERMS, seed=1)
    assert refused.value.code == "no_votes"
    with pytest.raises(InvalidRequest):
        simulate(SMALL, TERMS, campaigns=0)
    with pytest.raises(InvalidRequest) as refused:
        simulate(unjudged_state(1, 3), TERMS)
    assert refused.value.code == "one_chatbot"


@pytest.mark.parametrize("goal", [AllAbilities, Neighbours])
def test_goals_of_ses_stop_campaigns_by_their_own_rule(goal: type[AllAbilities] | type[Neighbours]) -> None:
    evidence = stopping_rule_of(goal(1.0)).decide(midway()).evidence
    for value, met in ((evidence["se"] * 0.99, False), (evidence["se"] * 1.01, True)):
        assert stopping_rule_of(goal(value)).decide(midway()).stop is met
        assert GoalReachedRule(goal(value)).decide(midway()).stop is met
    assert isinstance(stopping_rule_of(goal(0.3)), TargetSE)


def test_other_goals_stop_campaigns_by_their_measure() -> None:
    assert not GoalReachedRule(Separated(0.5)).decide(fresh()).stop
    assert stopping_rule_of(Separated(0.5)) == GoalReachedRule(Separated(0.5))
    separated = GoalReachedRule(Separated(0.1)).decide(midway()).evidence["measure"]
    assert GoalReachedRule(Separated(separated)).decide(midway()).stop
