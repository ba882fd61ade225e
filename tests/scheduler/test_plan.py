"""plan: the contract that every policy passes by being listed in POLICIES, and what is particular to each."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irt_engine.graph import groups_of
from irt_engine.priors import DEFAULT_PRIORS
from scheduler import POLICIES, CampaignState, InvalidRequest, InvalidState, plan
from scheduler.pairs import FLOOR, shortlisted
from tests.scheduler.cast import CELLS, POSTERIOR, every_item, fresh, items, midway

EVERY_POLICY = pytest.mark.parametrize("policy", sorted(POLICIES))
EVERY_STATE = pytest.mark.parametrize("state", [fresh(), midway()], ids=["fresh", "midway"])


@EVERY_POLICY
@EVERY_STATE
def test_equal_arguments_give_equal_plans_and_another_seed_another(policy: str, state: CampaignState) -> None:
    one, again, other = (plan(state, policy=policy, count=10, seed=s) for s in (1, 1, 2))
    assert one == again
    assert one.asks != other.asks


@EVERY_POLICY
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3), st.booleans())
def test_it_never_asks_what_is_full_or_closed_and_terminates(
    policy: str, seed: int, votes_per_item: int, has_posterior: bool
) -> None:
    chosen = every_item()[np.random.default_rng(seed).permutation(80)]
    state = fresh(
        posterior=POSTERIOR if has_posterior else None,
        judged=chosen[:30], pending=chosen[20:40], closed=chosen[40:60], votes_per_item=votes_per_item,
    )  # fmt: skip
    made = plan(state, policy=policy, count=1000, seed=seed)
    votes = Counter(map(tuple, np.concatenate([state.judged, state.pending]).tolist()))
    closed = set(map(tuple, state.closed.tolist()))
    for item in items(made.asks):
        assert item not in closed
        votes[item] += 1
        assert votes[item] <= votes_per_item
    assert len(made.asks) <= 60 * votes_per_item
    assert len(made.asks) >= 20 * votes_per_item
    assert "only" in made.reason


@EVERY_POLICY
@EVERY_STATE
def test_probabilities_are_those_of_the_first_draw(policy: str, state: CampaignState) -> None:
    """Over many seeds the first ask comes as often as it says, and what it says sums to 1 over the distinct items."""
    firsts = [plan(state, policy=policy, count=1, seed=seed).asks[0] for seed in range(400)]
    seen = Counter(items(firsts))
    said = {(ask.a, ask.b, ask.prompt): ask.probability for ask in firsts}
    assert sum(said.values()) <= 1.0 + 1e-9
    for item, n in seen.items():
        p = said[item]
        assert abs(n - 400 * p) < 5 * np.sqrt(400 * p * (1 - p)) + 2


@EVERY_POLICY
@pytest.mark.parametrize(
    ("state", "word"),
    [
        (fresh(closed=every_item()), "closed"),
        (fresh(judged=every_item()[:40], pending=every_item()[40:]), "judged"),
        (CampaignState(("alone",), ("p",)), "two chatbots"),
        (CampaignState(("x", "y"), ()), "no prompts"),
    ],
    ids=["all closed", "all judged or pending", "one chatbot", "no prompts"],
)
def test_an_empty_plan_says_why(policy: str, state: CampaignState, word: str) -> None:
    made = plan(state, policy=policy, count=5, seed=0)
    assert made.asks == ()
    assert word in made.reason


@EVERY_POLICY
def test_a_count_of_nothing_gives_nothing(policy: str) -> None:
    assert plan(fresh(), policy=policy, count=0, seed=0).reason == "no asks were requested"


def test_the_first_plan_is_connected_and_balanced() -> None:
    made = plan(fresh(), policy="least_certain", count=20, seed=4)
    pairs = np.array([(ask.a, ask.b) for ask in made.asks])
    assert groups_of(5, pairs[:4, 0], pairs[:4, 1]).max() == 1  # a spanning tree comes first
    degree = np.bincount(pairs.ravel(), minlength=5)
    assert degree.max() - degree.min() <= 3
    prompts = Counter(ask.prompt for ask in made.asks)
    assert len(prompts) == 8


def test_work_in_flight_is_counted() -> None:
    made = plan(midway(), policy="least_certain", count=1, seed=0).asks[0]
    pair = Counter((a, b) for a, b, _ in items(plan(midway(), policy="least_certain", count=30, seed=0).asks))
    assert len(pair) > 3  # one plan spreads
    waiting = [item for item in every_item().tolist() if item[:2] == [made.a, made.b]]
    closed_off = plan(midway(pending=np.array(waiting)), policy="least_certain", count=8, seed=0)
    assert (made.a, made.b) not in {(ask.a, ask.b) for ask in closed_off.asks}


def test_an_ask_is_worth_something_and_the_next_ones_less() -> None:
    values = [ask.value for ask in plan(midway(), policy="least_certain", count=35, seed=1).asks]
    assert min(values) > 0
    assert np.mean(values[:5]) > np.mean(values[-5:])


def test_an_entrant_that_the_posterior_does_not_know_comes_first() -> None:
    state = CampaignState((*POSTERIOR.chatbots, "zz-new"), POSTERIOR.prompts, POSTERIOR, judged=CELLS)
    made = plan(state, policy="least_certain", count=10, seed=2)
    assert sum(5 in (ask.a, ask.b) for ask in made.asks) >= 5
    assert DEFAULT_PRIORS.ability_sd > POSTERIOR.se.max()


def test_the_shortlist_leaves_the_floor_to_everyone() -> None:
    p = shortlisted(np.array([1.0, 5.0, -np.inf, 3.0, 0.0, 2.0, 2.5, 0.1] + [0.0] * 40))
    assert p.sum() == pytest.approx(1.0)
    assert p[2] == 0.0
    assert p[4] == pytest.approx(FLOOR / 47)
    assert p[1] == pytest.approx(FLOOR / 47 + (1 - FLOOR) / 5)


def test_bad_requests_and_states_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="least_certain, random"):
        plan(fresh(), policy="best", count=1, seed=0)
    with pytest.raises(InvalidRequest):
        plan(fresh(), policy="random", count=-1, seed=0)
    for bad in ([[0, 0, 0]], [[0, 9, 0]], [[0, 1, 8]], [[-1, 1, 0]]):
        with pytest.raises(InvalidState, match="row 1"):
            fresh(judged=np.array(bad))
    with pytest.raises(InvalidState):
        fresh(votes_per_item=0)


def test_an_item_may_be_given_in_either_order() -> None:
    assert fresh(judged=np.array([[3, 1, 0]])).judged.tolist() == [[1, 3, 0]]
