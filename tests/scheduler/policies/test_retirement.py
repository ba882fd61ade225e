"""Retirement: what is shown to teach little is asked no more, and comes back with a new chatbot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from irt_engine import Posterior
from scheduler import (
    ALL_POLICIES,
    AdaptiveDesign,
    CampaignState,
    InvalidRequest,
    NothingLeft,
    Placement,
    RetirementRule,
    decide,
    plan,
    with_retired,
)
from scheduler.policies.retirement import uninformative
from tests.scheduler.cast import POSTERIOR, every_item, fresh, items

FLAT = np.where(np.arange(8) == 3, 0.05, 1.0)  # prompt 3 tells nothing
RULE = RetirementRule(votes=10)
JUDGED = np.repeat(every_item(), 2, axis=0)  # 20 votes a prompt


def board(discrimination: np.ndarray = FLAT, se: float = 0.2) -> Posterior:
    """The cast's board with other discriminations; se is that of their logs."""
    return replace(POSTERIOR, discrimination=discrimination, discrimination_se=se * discrimination)


def later(**change: Any) -> CampaignState:
    """All prompts have been judged often."""
    return fresh(**({"posterior": board(), "judged": JUDGED, "votes_per_item": 5} | change))


def test_a_prompt_that_tells_nothing_is_retired_and_no_policy_asks_it() -> None:
    design = AdaptiveDesign(retirement=RULE, placement=None)
    for policy in ("adaptive", "random", "paper"):
        asks = plan(later(), policy=policy, count=300, seed=1, design=design, policies=ALL_POLICIES).asks
        assert {ask.prompt for ask in asks} == {0, 1, 2, 4, 5, 6, 7}
        assert len(asks) == 3 * 70  # nothing else is left out, and the plan ends
    assert 3 in {ask.prompt for ask in plan(later(), policy="random", count=300, seed=1).asks}


def test_without_votes_or_without_certainty_nothing_is_retired() -> None:
    assert uninformative(later(), board(), RULE).tolist() == [3]
    assert uninformative(later(), board(), replace(RULE, votes=21)).tolist() == []
    assert uninformative(later(), board(se=3.0), RULE).tolist() == []  # it may still turn out to be good
    assert uninformative(later(judged=JUDGED[JUDGED[:, 2] != 3]), board(), RULE).tolist() == []


def test_what_a_prompt_may_still_tell_counts_and_not_what_is_expected_of_it() -> None:
    doubtful = replace(
        POSTERIOR,
        discrimination=np.where(np.arange(8) == 3, 0.3, 1.0),
        discrimination_se=np.where(np.arange(8) == 3, 0.6 * 0.3, 0.05),
    )
    rule = replace(RULE, share=0.4)
    assert uninformative(later(), doubtful, rule).tolist() == []
    assert uninformative(later(), doubtful, replace(rule, level=0.5)).tolist() == [3]


def test_at_most_half_of_the_prompts_go_however_flat_they_are() -> None:
    falling = board(np.exp(-2.0 * np.arange(8)), se=0.01)
    gone = uninformative(later(), falling, replace(RULE, share=0.99))
    assert gone.tolist() == [4, 5, 6, 7]


def test_a_prompt_comes_back_when_votes_speak_for_it() -> None:
    first = with_retired(later(), RULE)
    assert first.retired.tolist() == [3]
    assert with_retired(later(posterior=board(np.ones(8))), RULE).retired.tolist() == []


def test_all_prompts_come_back_while_a_new_chatbot_finds_its_place() -> None:
    """Median votes of a chatbot here: 64, so a placement of 20 votes is one of a board that stands."""
    names, placement = (*POSTERIOR.chatbots, "zz-new"), Placement(anchor=5, neighbours=5)
    joined = CampaignState(names, POSTERIOR.prompts, board(), judged=JUDGED, votes_per_item=5)
    assert with_retired(joined, RULE, placement).retired.tolist() == []
    met = np.array([[m % 5, 5, m % 8] for m in range(10)])
    placed = replace(joined, judged=np.concatenate([JUDGED, met]))
    assert with_retired(placed, RULE, placement).retired.tolist() == [3]


def test_what_a_campaign_has_retired_itself_stays_so() -> None:
    state = with_retired(later(retired=np.array([5])), RULE)
    assert state.retired.tolist() == [3, 5]


def test_all_prompts_retired_is_an_empty_plan_with_its_reason_and_the_end() -> None:
    state = fresh(retired=np.arange(8))
    made = plan(state, policy="adaptive", count=5, seed=0)
    assert made.asks == ()
    assert str(made.reason) == "all prompts are retired"
    assert decide(state, rules=[NothingLeft()]).stop
    some = fresh(retired=np.array([0]), closed=every_item()[every_item()[:, 2] != 0])
    assert "its prompt is retired" in str(plan(some, policy="adaptive", count=5, seed=0).reason)
    assert decide(some, rules=[NothingLeft()]).stop


def test_where_only_retired_prompts_are_left_plan_and_decision_agree() -> None:
    state = later(closed=every_item()[every_item()[:, 2] != 3])
    made = plan(state, policy="adaptive", count=5, seed=0, design=AdaptiveDesign(retirement=RULE))
    assert made.asks == ()
    assert "its prompt is retired" in str(made.reason)
    assert decide(with_retired(state, RULE), rules=[NothingLeft()]).stop


def test_before_the_first_fit_nothing_is_shown_yet() -> None:
    state = fresh(judged=JUDGED, votes_per_item=5)
    assert with_retired(state, RULE) is state
    assert items(plan(state, policy="adaptive", count=5, seed=0, design=AdaptiveDesign(retirement=RULE)).asks)


@pytest.mark.parametrize("change", [{"votes": 0}, {"share": 0.0}, {"share": 1.0}, {"level": 1.0}, {"level": 0.4}])
def test_a_rule_that_cannot_be_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        RetirementRule(**change)
