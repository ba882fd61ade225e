"""The contract that every stopping rule passes by being listed in RULES, and what is particular to each."""

from __future__ import annotations

import dataclasses
import math
import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irt_engine import Posterior, ResponseTable, fit
from irt_engine.models.priors import DEFAULT_PRIORS
from irt_engine.posterior.sequential_tests import log_p_equal
from irt_engine.power import binomial_size
from irt_engine.power.campaign_goals import CampaignDesign
from scheduler import (
    DEFAULT_DESIGN,
    RULES,
    AllAbilities,
    Budget,
    CampaignState,
    CombinedTarget,
    Deadline,
    Equivalence,
    Futility,
    InvalidRequest,
    InvalidState,
    LargestSETarget,
    Neighbours,
    NothingLeft,
    RankingResolved,
    SampleSize,
    Separated,
    StoppingDecision,
    StoppingRule,
    TargetSE,
    TopKTarget,
    decide,
)
from scheduler.estimator import CAMPAIGN_PRIORS
from tests.environment import FULL
from tests.irt_engine.posteriors import exchangeable, random_board
from tests.scheduler.cast import CELLS, POSTERIOR, every_item, fresh, midway

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
LATER = datetime(2040, 1, 1, tzinfo=UTC)
APART = fit(ResponseTable.from_votes(["a", "c"], ["b", "d"], ["p", "p"], [1, 1]))
STATES = {
    "no fit": fresh(now=NOON),
    "midway": midway(now=NOON),
    "long after": midway(now=LATER, judgments=10**6),
    "one chatbot": CampaignState(POSTERIOR.chatbots[:1], POSTERIOR.prompts, POSTERIOR, judgments=40, now=NOON),
    "no chatbot": CampaignState((), POSTERIOR.prompts, now=NOON),
    "no prompts": CampaignState(POSTERIOR.chatbots, (), POSTERIOR, now=NOON),
    "separate groups": CampaignState(APART.chatbots, APART.prompts, APART, judgments=2, now=NOON),
    "an unseen entrant": CampaignState((*POSTERIOR.chatbots, "zz-new"), POSTERIOR.prompts, POSTERIOR, now=NOON),
    "no entrant that was fitted": CampaignState(("x", "y"), POSTERIOR.prompts, POSTERIOR, now=NOON),
    "some have left": CampaignState(POSTERIOR.chatbots[1:4], POSTERIOR.prompts[2:], POSTERIOR, now=NOON),
    "not settled": midway(posterior=dataclasses.replace(POSTERIOR, converged=False), now=NOON),
    "everything judged": midway(judged=every_item(), judgments=80, now=NOON),
    "everything closed": midway(closed=every_item(), now=NOON),
    "all of it on its way": midway(pending=every_item(), now=NOON),
    "budget 0": fresh(now=LATER, judgments=0),
}
NOTHING_KNOWN = [
    "no fit", "one chatbot", "no chatbot", "separate groups", "an unseen entrant", "no entrant that was fitted",
    "not settled",
]  # fmt: skip
EVERY_RULE = pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())


@EVERY_RULE
@pytest.mark.parametrize("state", STATES.values(), ids=STATES.keys())
def test_it_decides_on_every_state_with_a_reason_and_finite_evidence(rule: StoppingRule, state: CampaignState) -> None:
    found = rule.decide(state)
    assert found.reason
    assert all(math.isfinite(value) for value in found.evidence.values())
    assert found.evidence or not found.stop
    assert "nan" not in str(found.reason)
    assert 0.0 <= found.evidence.get("progress", 0.0) <= 1.0
    assert rule.decide(state) == found == decide(state, rules=[rule])


@EVERY_RULE
def test_it_is_frozen(rule: StoppingRule) -> None:
    assert type(rule).__dataclass_params__.frozen  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", [TargetSE, RankingResolved, SampleSize, Equivalence, Futility])
@pytest.mark.parametrize("name", NOTHING_KNOWN)
def test_no_aim_and_no_futility_is_seen_where_nothing_is_known(kind: type[StoppingRule], name: str) -> None:
    rules = [rule for rule in RULES.values() if isinstance(rule, kind)]
    assert rules
    assert not any(rule.decide(STATES[name]).stop for rule in rules)


@EVERY_RULE
@settings(max_examples=10 if FULL else 3)
@given(seed=st.integers(0, 1000), chatbots=st.integers(2, 7), gap=st.sampled_from([0.0, 0.3, 3.0]))
def test_it_decides_on_every_board(rule: StoppingRule, seed: int, chatbots: int, gap: float) -> None:
    board = random_board(chatbots, seed, gap=gap)
    found = rule.decide(board_state(board))
    assert found.reason
    assert all(math.isfinite(value) for value in found.evidence.values())


def test_they_are_asked_in_the_order_of_the_list() -> None:
    listed = re.findall(r"^\s*\d\. (\w+):", decide.__doc__ or "", re.MULTILINE)
    order = {type(rule).__name__: rule.order for rule in RULES.values()}
    assert listed == sorted(order, key=lambda name: order[name])
    assert list(range(1, len(listed) + 1)) == sorted(order.values())


def board_state(board: Posterior, judgments: int = 0) -> CampaignState:
    return CampaignState(board.chatbots, board.prompts, board, judgments=judgments, now=NOON)


def board(*ability: float, se: float = 0.1) -> CampaignState:
    """Chatbots with these abilities; differences have an SE of `se`."""
    return board_state(exchangeable(len(ability), se / np.sqrt(2.0), ability), judgments=100)


class TestTargetSE:
    def test_neighbours_have_a_target_of_their_own(self) -> None:
        state = board(0.0, 1.0, 3.0, se=0.3)
        assert TargetSE(0.301, over="neighbours").decide(state).stop
        found = TargetSE(0.299, over="neighbours").decide(state)
        assert not found.stop
        assert "neighbours 0.300" in str(found.reason)
        assert TargetSE(0.2).decide(state).stop

    def test_a_target_of_all_but_nothing_leaves_a_number_to_go(self) -> None:
        found = TargetSE(1e-200).decide(midway())
        assert not found.stop
        assert math.isfinite(found.evidence["judgments_to_go"])

    def test_only_adjacent_chatbots_are_neighbours(self) -> None:
        wide = np.diag([0.01, 0.01, 1.0])
        state = board_state(dataclasses.replace(exchangeable(3, 0.1, [0.0, 1.0, 2.0]), covariance=wide))
        first = TargetSE(0.15, over="neighbours").decide(state)
        assert first.evidence["se"] == pytest.approx(np.sqrt(1.01))
        assert state.posterior is not None
        below = dataclasses.replace(state.posterior, ability=np.array([0.5, 1.0, 0.0]))  # now 2 is below both
        assert TargetSE(0.15, over="neighbours").decide(board_state(below)).evidence["se"] == pytest.approx(1.01**0.5)

    @pytest.mark.parametrize("difference", [0.1, 0.56, 2.0])
    @pytest.mark.parametrize(("power", "alpha"), [(0.8, 0.05), (0.9, 0.01)])
    def test_a_difference_is_told_apart_by_the_board_as_often_as_was_asked_for(
        self, difference: float, power: float, alpha: float
    ) -> None:
        """At the SE that the rule waits for, by the board's own p; the votes alone say S ~ N(I d, I)."""
        rule = TargetSE.for_difference(difference, power=power, alpha=alpha)
        assert rule.over == "neighbours"
        ability_sd = CAMPAIGN_PRIORS.ability_sd
        information = rule.value**-2 - 0.5 / ability_sd**2
        score = np.random.default_rng(7).normal(information * difference, np.sqrt(information), 10_000)
        se = np.full(10_000, rule.value)
        log_p = log_p_equal(score * rule.value**2, se, looks=None, ability_sd=ability_sd)
        assert np.mean(log_p <= np.log(alpha)) == pytest.approx(power, abs=0.015)

    def test_however_small_or_large_a_difference_is_there_is_an_se_for_it(self) -> None:
        values = [TargetSE.for_difference(d).value for d in (1e-200, 1e-3, 0.4, 10.0, 1e300)]
        assert all(0.0 < a < b for a, b in pairwise(values))

    @pytest.mark.parametrize(("difference", "power", "alpha"), [(0.0, 0.8, 0.05), (0.5, 0.04, 0.05), (0.5, 1.0, 0.05)])
    def test_a_difference_that_no_test_finds_is_refused(self, difference: float, power: float, alpha: float) -> None:
        with pytest.raises(InvalidRequest):
            TargetSE.for_difference(difference, power=power, alpha=alpha)


class TestRankingResolved:
    def test_it_stops_when_all_neighbours_are_told_apart(self) -> None:
        assert RankingResolved(looks=12).decide(board(0.0, 0.6, 1.2)).stop
        found = RankingResolved(looks=12).decide(board(0.0, 0.1, 1.2))
        assert not found.stop
        assert (found.evidence["undecided"], found.evidence["progress"]) == (1.0, 0.5)
        assert "1 of 2 neighbours" in str(found.reason)

    def test_more_looks_ask_for_more(self) -> None:
        close = board(0.0, 0.24)
        assert [RankingResolved(looks=looks).decide(close).stop for looks in (1, 4, 40, None)] == [
            True,
            True,
            False,
            False,
        ]

    def test_the_best_are_resolved_whoever_is_second_and_third(self) -> None:
        state = board(0.0, 0.02, 1.2)
        assert RankingResolved(top=1, looks=12).decide(state).stop
        assert not RankingResolved(top=2, looks=12).decide(state).stop

    def test_the_best_of_all_is_no_question(self) -> None:
        found = RankingResolved(top=3).decide(board(0.0, 1.0, 2.0))
        assert not found.stop
        assert "all of them" in str(found.reason)


class TestSampleSize:
    def test_it_stops_at_the_size_on_the_board(self) -> None:
        assert SampleSize(40).decide(midway()).stop
        found = SampleSize(50).decide(midway())
        assert (found.stop, found.evidence["progress"], found.evidence["judgments_to_go"]) == (False, 0.8, 10.0)

    def test_or_on_the_pair_that_has_the_fewest(self) -> None:
        pair = CELLS[:, 0] * 5 + CELLS[:, 1]
        fewest = int(np.unique(pair, return_counts=True)[1].min())
        assert SampleSize(fewest, of="pair").decide(midway()).stop
        assert not SampleSize(fewest + 1, of="pair").decide(midway()).stop

    def test_what_is_to_go_is_what_each_pair_lacks(self) -> None:
        of_pair = np.unique(CELLS[:, 0] * 5 + CELLS[:, 1], return_counts=True)[1]
        assert of_pair.min() < of_pair.max()
        for size in (int(of_pair.min()), int(of_pair.max()), 50):
            found = SampleSize(size, of="pair").decide(midway())
            assert found.evidence["judgments_to_go"] == np.maximum(size - of_pair, 0).sum()
        assert SampleSize(50, of="pair").decide(fresh()).evidence["judgments_to_go"] == 500.0

    def test_the_size_is_that_of_a_power_calculation(self) -> None:
        assert SampleSize.for_share(0.1) == SampleSize(196, of="pair") == SampleSize(binomial_size(0.1), of="pair")
        found = SampleSize.for_gap(CampaignDesign(2, 40), 1.5, seed=1)
        assert found.of == "board"
        assert 10 < found.judgments < 40


class TestEquivalence:
    def test_a_board_in_marginal_logits_takes_its_prior_for_no_votes(self) -> None:
        """Half of the SD in a unit of two: what is known of a difference before any vote shows nothing."""
        for unit in (1.0, 2.0):
            state = board(0.0, 0.0, se=math.sqrt(2.0) * DEFAULT_PRIORS.ability_sd / unit)
            assert state.posterior is not None
            scales = dataclasses.replace(state.posterior.scales, unit=unit)
            marginal = dataclasses.replace(state.posterior, scales=scales)
            there = dataclasses.replace(state, posterior=marginal)
            assert not Equivalence(4.5 / unit, probability=0.6).decide(there).stop

    def test_it_stops_when_every_pair_is_different_or_too_close_to_matter(self) -> None:
        found = Equivalence(0.5, looks=12).decide(board(0.0, 0.02, 1.2))
        assert found.stop
        assert (found.evidence["equivalent"], found.evidence["different"]) == (1.0, 2.0)

    def test_a_small_difference_that_is_sure_is_counted_once(self) -> None:
        found = Equivalence(0.5, looks=12).decide(board(0.0, 0.2, se=0.04))
        assert (found.stop, found.evidence["equivalent"], found.evidence["different"]) == (True, 0.0, 1.0)

    def test_a_difference_that_may_matter_is_neither(self) -> None:
        found = Equivalence(0.25, looks=12).decide(board(0.0, 0.2, 1.2))
        assert not found.stop
        assert found.evidence["undecided"] == 1.0

    def test_neighbours_alone_may_be_asked_about(self) -> None:
        state = board(0.0, 0.1, 0.2, se=0.15)
        assert Equivalence(0.5, looks=4, over="neighbours").decide(state).stop
        assert not Equivalence(0.5, looks=4).decide(state).stop


class TestDeadline:
    def test_it_reads_the_time_of_the_state_and_no_clock(self) -> None:
        rule = Deadline(NOON)
        assert rule.decide(fresh(now=NOON)).stop
        found = rule.decide(fresh(now=NOON - timedelta(days=1.5)))
        assert (found.stop, found.evidence) == (False, {"days_left": 1.5})
        assert rule.decide(fresh(now=NOON + timedelta(days=9))).evidence == {"days_left": 0.0}

    def test_a_state_without_its_time_is_refused(self) -> None:
        with pytest.raises(InvalidState):
            Deadline(NOON).decide(fresh())


class TestFutility:
    def test_a_target_that_the_prompts_can_never_reach_is_told_with_the_se_that_they_can(self) -> None:
        assert Futility(TargetSE(0.01)).decide(midway()).stop
        found = Futility(TargetSE(0.01)).decide(midway())
        assert f"would be {found.evidence['reachable_se']:.3f}" in str(found.reason)
        assert 0.05 < found.evidence["reachable_se"] < POSTERIOR.se.max()
        assert found.evidence["judgments_left"] == 40.0

    def test_the_chance_is_said_whether_it_is_futile_or_not(self) -> None:
        equals = dataclasses.replace(board(0.0, 0.0, 5.0, se=0.4), votes_per_item=1000)
        futile = Futility(RankingResolved(looks=12), budget=105).decide(equals)
        assert futile.evidence["chance"] == 0.01
        assert str(futile.reason) == (
            "what is wanted is out of reach: with the 5 judgments that are left the least clear of the neighbours "
            "would be told apart: a chance of 1% at most"
        )
        for target in np.linspace(0.5, 0.95, 10):
            found = Futility(TargetSE(target * float(POSTERIOR.se.max())), budget=50).decide(midway())
            said = float(str(found.reason).split("a chance of ")[1].removesuffix("% at most"))
            assert -1e-6 < said - 100.0 * found.evidence["chance"] < 1.0
        assert str(Futility(SampleSize(200), budget=100).decide(midway()).reason).endswith(": a chance of 0% at most")
        assert str(Futility(SampleSize(70), budget=100).decide(midway()).reason).endswith(": a chance of 100% at most")

    def test_it_may_tell_without_stopping(self) -> None:
        told, stops = (Futility(TargetSE(0.01), stops=stops).decide(midway()) for stops in (False, True))
        assert not told.stop
        assert (told.reason, told.evidence) == (stops.reason, stops.evidence)
        assert told.evidence["out_of_reach"] == 1.0
        assert Futility(TargetSE(0.9 * float(POSTERIOR.se.max()))).decide(midway()).evidence["out_of_reach"] == 0.0

    def test_the_prompts_that_it_counts_on_are_those_that_are_asked_about(self) -> None:
        assert Futility(TargetSE(0.01)).decide(midway()).evidence["prompts"] == 8.0
        retired = Futility(TargetSE(0.01)).decide(midway(retired=np.array([0, 5])))
        assert retired.evidence["prompts"] == 6.0

    def test_what_is_left_are_the_votes_that_items_and_pairs_may_still_have(self) -> None:
        def left(**change: int) -> float:
            return Futility(TargetSE(0.01)).decide(midway(**change)).evidence["judgments_left"]

        of_pair = np.unique(CELLS[:, 0] * 5 + CELLS[:, 1], return_counts=True)[1]
        assert len(of_pair) == 10
        assert left(votes_per_item=3) == 3 * 80 - 40
        assert left(votes_per_pair=5) == np.maximum(5 - of_pair, 0).sum()

    def test_a_target_in_reach_is_not_futile_unless_the_budget_is_too_small(self) -> None:
        target = TargetSE(0.9 * float(POSTERIOR.se.max()))
        assert not Futility(target).decide(midway()).stop
        few = Futility(TargetSE(0.7 * float(POSTERIOR.se.max())), budget=41).decide(midway())
        assert few.stop
        assert few.evidence["judgments_left"] == 1.0

    def test_what_is_reached_is_not_futile(self) -> None:
        assert not Futility(TargetSE(10.0), budget=0).decide(midway()).stop

    def test_equals_cannot_be_ranked_and_the_different_can(self) -> None:
        def ahead(gap: float, budget: int) -> StoppingDecision:
            state = dataclasses.replace(board(0.0, gap, 5.0, se=0.4), votes_per_item=1000)
            return Futility(RankingResolved(looks=12), budget=budget).decide(state)

        assert ahead(0.0, 105).stop
        assert not ahead(0.8, 105).stop
        chances = [ahead(gap, 107).evidence["chance"] for gap in (0.0, 0.6, 0.8)]
        assert 0.0 < chances[0] < 0.05 < chances[1] < chances[2] < 0.9  # means will move, but nobody knows where to

    def test_a_sample_size_beyond_the_budget_is_futile(self) -> None:
        assert Futility(SampleSize(200), budget=100).decide(midway()).stop
        assert not Futility(SampleSize(70), budget=100).decide(midway()).stop

    def test_asks_in_flight_are_counted_against_the_budget(self) -> None:
        found = Futility(TargetSE(0.01), budget=60).decide(midway(pending=every_item()[:15]))
        assert found.evidence["judgments_left"] == 5.0


def test_every_aim_names_what_to_plan_for_and_goals_agree() -> None:
    assert TargetSE(0.2).target == AllAbilities(0.2).target == LargestSETarget()
    assert TargetSE.for_difference(0.4).target == Neighbours(0.2).target == LargestSETarget("neighbours")
    assert RankingResolved().target == SampleSize(100).target == Separated(0.8).target == DEFAULT_DESIGN.target
    assert Equivalence(0.3).target == DEFAULT_DESIGN.target
    top = RankingResolved(top=2).target
    assert isinstance(top, CombinedTarget)
    assert (top.first, top.share) == (TopKTarget(2), 0.8)


def test_reasons_come_in_the_order_of_the_list() -> None:
    state = midway(closed=every_item(), now=LATER)
    rules: list[StoppingRule] = [
        Futility(TargetSE(0.01)), NothingLeft(), Deadline(NOON), Budget(1), SampleSize(1), TargetSE(10.0),
    ]  # fmt: skip
    words = ["out of reach", "nothing is left", "deadline", "budget", "sample size", "target"]
    assert len(words) == len(rules)
    for count, word in enumerate(words, start=1):
        assert word in str(decide(state, rules=rules[:count]).reason)


def test_where_two_rules_have_a_number_of_one_name_the_first_one_stands() -> None:
    found = decide(midway(), rules=[SampleSize(80), TargetSE(0.1)])
    assert found.evidence["progress"] == TargetSE(0.1).decide(midway()).evidence["progress"] != 0.5
    assert found.evidence["sample_size"] == 80.0


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (TargetSE, {"value": 0.0}), (TargetSE, {"value": 0.1, "over": "some"}),
        (RankingResolved, {"probability": 1.0}), (RankingResolved, {"looks": 0}), (RankingResolved, {"top": 0}),
        (RankingResolved, {"top": 1.5}), (RankingResolved, {"looks": 2.5}), (SampleSize, {"judgments": 2.5}),
        (SampleSize, {"judgments": 0}), (SampleSize, {"judgments": 5, "of": "prompt"}),
        (Equivalence, {"margin": -0.1}), (Equivalence, {"margin": float("nan")}),
        (Equivalence, {"margin": 0.1, "over": "none"}), (Equivalence, {"margin": 0.1, "probability": 0.0}),
        (Budget, {"judgments": -1}), (Budget, {"judgments": float("nan")}),
        (Deadline, {"at": datetime(2026, 1, 1)}),  # noqa: DTZ001 - that is what is refused
        (Futility, {"aim": TargetSE(0.1), "budget": -1}), (Futility, {"aim": TargetSE(0.1), "chance": 0.0}),
    ],
)  # fmt: skip
def test_a_rule_that_contradicts_itself_is_refused(kind: Any, change: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest) as caught:
        kind(**change)
    assert caught.value.hint


def test_a_time_without_its_zone_is_refused() -> None:
    with pytest.raises(InvalidState):
        fresh(now=datetime(2026, 1, 1))  # noqa: DTZ001 - that is what is refused


def test_an_empty_campaign_says_why_there_is_nothing_to_ask() -> None:
    assert "two chatbots" in str(NothingLeft().decide(STATES["one chatbot"]).reason)
    assert "no prompts" in str(NothingLeft().decide(STATES["no prompts"]).reason)
