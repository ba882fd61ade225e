"""decide: the contract of every stopping rule, and the order in which they are asked."""

from __future__ import annotations

import math

import numpy as np
import pytest

from irt_engine import ResponseTable, fit
from scheduler import Budget, CampaignState, InvalidRequest, NothingLeft, StoppingRule, TargetSE, decide
from tests.scheduler.cast import POSTERIOR, every_item, fresh, midway

SE = float(POSTERIOR.se.max())
MET = [
    (TargetSE(SE * 1.01), midway()),
    (Budget(40), midway()),
    (NothingLeft(), fresh(closed=every_item())),
]
UNMET = [
    (TargetSE(SE * 0.5), midway()),
    (TargetSE(0.1), fresh()),
    (Budget(41), midway()),
    (NothingLeft(), midway()),
    (NothingLeft(), fresh(judged=every_item()[1:], pending=every_item()[:1])),
]


@pytest.mark.parametrize(("rule", "state"), MET)
def test_a_rule_that_is_met_stops_with_reason_and_evidence(rule: StoppingRule, state: CampaignState) -> None:
    found = decide(state, rules=[rule])
    assert found.stop
    assert found.reason
    assert all(math.isfinite(value) for value in found.evidence.values())


@pytest.mark.parametrize(("rule", "state"), UNMET)
def test_a_rule_that_is_not_met_goes_on_and_says_what_is_missing(rule: StoppingRule, state: CampaignState) -> None:
    found = decide(state, rules=[rule])
    assert not found.stop
    assert found.reason
    assert found == rule.decide(state)


def test_the_target_comes_before_the_budget_and_the_budget_before_nothing_left() -> None:
    state = midway(closed=every_item())
    rules: list[StoppingRule] = [NothingLeft(), Budget(1), TargetSE(10.0)]
    assert "target" in str(decide(state, rules=rules).reason)
    assert "budget" in str(decide(state, rules=rules[:2]).reason)
    assert set(decide(state, rules=rules).evidence) >= {"se", "budget", "open_items"}


def test_an_end_before_the_target_says_what_is_missing() -> None:
    """A target that the prompts can never reach: the campaign ends when all is asked, with the SE that they reached."""
    state = midway(judged=every_item(), judgments=80)
    found = decide(state, rules=[NothingLeft(), TargetSE(0.01)])
    assert found.stop
    assert str(found.reason) == f"nothing is left to ask; the largest SE {SE:.3f} is above the target 0.01"
    assert found.evidence["se"] == pytest.approx(SE)
    spent = decide(state, rules=[Budget(80), TargetSE(0.01)])
    assert str(spent.reason).startswith("the budget of 80 judgments is spent; the largest SE ")
    assert str(decide(fresh(), rules=[Budget(0), TargetSE(0.1)]).reason).endswith("; there is no fit yet")


def test_progress_is_the_share_of_the_needed_precision() -> None:
    evidence = decide(midway(), rules=[TargetSE(SE / 2)]).evidence
    assert evidence["progress"] == pytest.approx(0.25)
    assert evidence["judgments_to_go"] == pytest.approx(120, abs=1)
    assert decide(fresh(), rules=[TargetSE(0.1)]).evidence["progress"] == 0.0
    assert decide(midway(), rules=[TargetSE(SE * 2)]).evidence["progress"] == 1.0


def test_separate_parts_and_unseen_entrants_keep_a_target_from_being_met() -> None:
    apart = fit(ResponseTable.from_votes(["a", "c"], ["b", "d"], ["p", "p"], [1, 1]))
    state = CampaignState(apart.chatbots, apart.prompts, apart, judgments=2)
    assert "separate" in str(decide(state, rules=[TargetSE(100.0)]).reason)
    more = CampaignState((*POSTERIOR.chatbots, "zz-new"), POSTERIOR.prompts, POSTERIOR)
    assert "zz-new" in str(decide(more, rules=[TargetSE(100.0)]).reason)


def test_without_rules_it_goes_on() -> None:
    assert not decide(fresh(), rules=[]).stop


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_a_target_that_is_no_positive_number_is_refused(value: float) -> None:
    with pytest.raises(InvalidRequest):
        TargetSE(value)


def test_a_budget_of_nothing_stops_at_once_and_a_negative_one_is_refused() -> None:
    assert decide(fresh(), rules=[Budget(0)]).stop
    with pytest.raises(InvalidRequest):
        Budget(-1)


def test_every_item_is_counted() -> None:
    assert decide(fresh(), rules=[NothingLeft()]).evidence["open_items"] == len(np.unique(every_item(), axis=0)) == 80
