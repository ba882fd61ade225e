"""Exposure, balance and redundancy: what is left of a pair's open prompts, in every draw of a plan."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import AdaptiveDesign, Balance, CampaignState, InvalidRequest, InvalidState, plan
from scheduler.policies.exposure import AT_LEAST, below_share
from tests.scheduler.cast import POSTERIOR, fresh, items, midway

CATEGORIES = ("a", "a", "a", "a", "b", "b", "b", "c")
SHARES = {"a": 0.5, "b": 0.375, "c": 0.125}


@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=8), st.integers(1, 200), st.randoms())
def test_shares_that_sum_to_1_always_leave_somebody_and_hold_to_within_one_vote_each(
    weights: list[float], count: int, random: Any
) -> None:
    share = np.array(weights) / np.sum(weights)
    votes = np.zeros(len(share), np.int64)
    for total in range(count):
        below = np.flatnonzero(below_share(votes, share, total))
        assert len(below)
        votes[random.choice(below.tolist())] += 1
        assert (votes <= np.ceil(share * (total + 1) - 1e-9)).all()
        assert (votes >= share * (total + 1) - len(share) + 1 - 1e-6).all()
    assert votes.sum() == count


def prompts_left(state: CampaignState, asks: Any, at: int, pair: tuple[int, int]) -> set[int]:
    """The prompts on which a pair was open when ask number `at` was drawn, at one vote per item."""
    used = {tuple(row) for row in np.concatenate([state.judged, state.pending]).tolist()} | set(items(asks[:at]))
    return {j for j in range(len(state.prompts)) if (*pair, j) not in used}


@pytest.mark.parametrize("exposure", [1.0, 1.5, 4.0])
@pytest.mark.parametrize("state", [fresh(), midway()], ids=["fresh", "midway"])
def test_a_prompt_above_its_share_is_asked_only_where_the_pair_has_no_other(
    state: CampaignState, exposure: float
) -> None:
    asks = plan(state, policy="adaptive", count=40, seed=1, design=AdaptiveDesign(exposure=exposure)).asks
    votes = np.bincount(state.judged[:, 2], minlength=8)
    assert len(asks) == 40
    for at, ask in enumerate(asks):
        below = below_share(votes, exposure / 8, int(votes.sum()))
        left = prompts_left(state, asks, at, (ask.a, ask.b))
        assert below[ask.prompt] or not any(below[j] for j in left)
        votes[ask.prompt] += 1


def test_without_a_cap_a_greedy_plan_burns_the_best_prompt_and_with_one_it_does_not() -> None:
    steep = replace(POSTERIOR, discrimination=np.where(np.arange(8) == 2, 3.0, 1.0), discrimination_se=np.full(8, 0.1))
    state = fresh(posterior=steep)
    free, held = (
        plan(
            state, policy="adaptive", count=20, seed=1, design=AdaptiveDesign(floor=0.0, best=1, exposure=exposure)
        ).asks
        for exposure in (8.0, 1.5)
    )
    pairs = {(ask.a, ask.b) for ask in free}
    assert {(ask.a, ask.b) for ask in free if ask.prompt == 2} == pairs  # each pair is asked on it
    # 1.5 even shares of 20 votes are 4, and a fifth is of a pair whose other prompts were above theirs too.
    assert sum(ask.prompt == 2 for ask in held) <= 5 < len(pairs)


def many(**change: Any) -> CampaignState:
    """Three chatbots and three prompts for every one that is in use from the start."""
    return fresh(**({"chatbots": ("a", "b", "c"), "prompts": tuple(f"p{j}" for j in range(3 * AT_LEAST))} | change))


def in_use(asks: Any) -> list[int]:
    """How many prompts the first 1, 2, ... asks are about."""
    return [len({ask.prompt for ask in asks[: n + 1]}) for n in range(len(asks))]


def test_a_prompt_joins_those_in_use_when_they_have_their_votes_on_average() -> None:
    asks = plan(many(), policy="adaptive", count=3 * AT_LEAST, seed=1, design=AdaptiveDesign(depth=2.0)).asks
    assert in_use(asks) == [min(n, max(AT_LEAST, math.ceil(n / 2))) for n in range(1, 3 * AT_LEAST + 1)]


def test_without_a_depth_all_prompts_are_in_use_and_a_small_set_always_is() -> None:
    asks = plan(many(), policy="adaptive", count=3 * AT_LEAST, seed=1, design=AdaptiveDesign(depth=0.0)).asks
    assert in_use(asks)[-1] == 3 * AT_LEAST
    small, deep = (
        plan(midway(), policy="adaptive", count=20, seed=1, design=AdaptiveDesign(depth=d)).asks for d in (0.0, 50.0)
    )
    assert small == deep


def test_prompts_in_use_share_the_exposure_while_others_wait() -> None:
    design = AdaptiveDesign(depth=8.0, exposure=1.0)
    asks = plan(many(), policy="adaptive", count=3 * AT_LEAST, seed=1, design=design).asks
    votes = np.bincount([ask.prompt for ask in asks], minlength=3 * AT_LEAST)
    assert sorted(votes.tolist()) == [0] * 2 * AT_LEAST + [3] * AT_LEAST


def test_a_category_whose_turn_it_is_opens_a_prompt_that_waits() -> None:
    prompts = 3 * AT_LEAST
    judged = np.column_stack([np.zeros(AT_LEAST, int), np.ones(AT_LEAST, int), np.arange(AT_LEAST)])
    state = many(judged=judged, categories=("early",) * AT_LEAST + ("late",) * (prompts - AT_LEAST))
    ask = plan(state, policy="adaptive", count=1, seed=1, design=AdaptiveDesign(depth=8.0, balance=Balance())).asks[0]
    assert ask.prompt >= AT_LEAST


@pytest.mark.parametrize("depth", [-1.0, math.nan, math.inf])
def test_a_depth_that_is_no_number_of_votes_is_refused(depth: float) -> None:
    with pytest.raises(InvalidRequest, match="depth"):
        AdaptiveDesign(depth=depth)


@pytest.mark.parametrize("balance", [Balance(), Balance(tuple(SHARES.items()))], ids=["of the set", "given"])
def test_categories_have_their_shares(balance: Balance) -> None:
    state = fresh(posterior=POSTERIOR, categories=CATEGORIES)
    design = AdaptiveDesign(floor=0.0, best=1, balance=balance)
    asks = plan(state, policy="adaptive", count=40, seed=1, design=design).asks
    votes = dict.fromkeys(SHARES, 0)
    assert len(asks) == 40
    for n, ask in enumerate(asks, start=1):
        votes[CATEGORIES[ask.prompt]] += 1
        assert all(abs(votes[name] - share * n) <= 2.0 for name, share in SHARES.items())


def test_without_a_balance_categories_change_nothing() -> None:
    asks = [
        plan(state, policy="adaptive", count=20, seed=1).asks for state in (midway(), midway(categories=CATEGORIES))
    ]
    assert asks[0] == asks[1]


def test_a_category_whose_prompts_are_retired_leaves_its_share_to_the_others() -> None:
    state = fresh(posterior=POSTERIOR, categories=CATEGORIES, retired=np.array([7]))
    asks = plan(state, policy="adaptive", count=40, seed=1, design=AdaptiveDesign(balance=Balance(), floor=0.0)).asks
    of_a = sum(CATEGORIES[ask.prompt] == "a" for ask in asks)
    assert of_a == pytest.approx(40 * 4 / 7, abs=1.0)


def test_a_redundant_group_is_asked_once_a_pair_before_all_its_other_prompts() -> None:
    names = POSTERIOR.prompts
    state = fresh(posterior=POSTERIOR, redundant=((names[0], names[3], names[5]), (names[1], names[2])))
    asks = plan(state, policy="adaptive", count=80, seed=1, design=AdaptiveDesign(exposure=8.0)).asks
    group = {0: 0, 3: 0, 5: 0, 1: 1, 2: 1, 4: 2, 6: 3, 7: 4}
    pairs = {(ask.a, ask.b) for ask in asks}
    assert len(pairs) == 10
    for pair in pairs:
        of_pair = [group[ask.prompt] for ask in asks if (ask.a, ask.b) == pair]
        assert set(of_pair[:5]) == set(range(5))  # five different things first
        assert len(of_pair) == 8


def test_a_groups_votes_count_whoever_asked_for_them() -> None:
    """The pair was judged on one member before, and is asked on another now, on its way or not: only when it must."""
    names = POSTERIOR.prompts
    state = fresh(posterior=POSTERIOR, redundant=(names[:7],), judged=np.array([[0, 1, 2]]))
    asks = plan(state, policy="adaptive", count=73, seed=1, design=AdaptiveDesign(exposure=8.0)).asks
    assert next(ask.prompt for ask in asks if (ask.a, ask.b) == (0, 1)) == 7


@pytest.mark.parametrize(
    ("shares", "word"),
    [
        ({"a": 0.5, "b": 0.6}, "sum to 1.1"),
        ({"a": 1.5, "b": -0.5}, "sum to 1"),
        ({"a": float("nan")}, "sum to nan"),
    ],
    ids=["too much", "negative", "no number"],
)
def test_shares_that_contradict_each_other_are_refused(shares: dict[str, float], word: str) -> None:
    with pytest.raises(InvalidRequest, match=word):
        Balance(tuple(shares.items()))


def test_a_balance_that_the_prompts_or_their_caps_cannot_give_is_refused() -> None:
    wanted = Balance((("a", 0.2), ("c", 0.8)))
    with pytest.raises(InvalidRequest, match="prompts have none"):
        plan(midway(), policy="adaptive", count=1, seed=0, design=AdaptiveDesign(balance=wanted))
    state = midway(categories=CATEGORIES)
    with pytest.raises(InvalidRequest, match="'c' is to have 80% of the votes, and its prompts may have 50%"):
        plan(state, policy="adaptive", count=1, seed=0, design=AdaptiveDesign(balance=wanted))
    with pytest.raises(InvalidRequest, match="'d', which no prompt is in"):
        plan(state, policy="adaptive", count=1, seed=0, design=AdaptiveDesign(balance=Balance((("d", 1.0),))))
    assert plan(state, policy="adaptive", count=1, seed=0, design=AdaptiveDesign(balance=wanted, exposure=8.0)).asks


@pytest.mark.parametrize("exposure", [0.9, -1.0, float("nan")])
def test_an_exposure_that_leaves_prompts_for_too_few_judgments_is_refused(exposure: float) -> None:
    with pytest.raises(InvalidRequest, match="exposure"):
        AdaptiveDesign(exposure=exposure)


@pytest.mark.parametrize(
    "change",
    [
        {"categories": ("a",)},
        {"redundant": (("nobody",),)},
        {"redundant": ((POSTERIOR.prompts[0],), (POSTERIOR.prompts[0],))},
        {"retired": np.array([8])},
        {"retired": np.array([-1])},
    ],
    ids=str,
)
def test_a_state_whose_prompts_contradict_each_other_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidState):
        fresh(**change)
