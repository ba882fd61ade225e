"""Overlap: a share of the items, the same in every plan, whoever joins; and they are finished once they are begun."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import ALL_POLICIES, CampaignState, InvalidRequest, InvalidState, Overlap, plan
from scheduler.overlap import OverlapSample
from tests.scheduler.cast import POSTERIOR, every_item, fresh, items, midway

NAMES = tuple(f"c{m}" for m in range(12))
PROMPTS = tuple(f"p{j}" for j in range(200))


def chosen(overlap: Overlap, chatbots: tuple[str, ...] = NAMES, prompts: tuple[str, ...] = PROMPTS) -> np.ndarray:
    """(N, J) of all pairs on all prompts."""
    low, high = np.triu_indices(len(chatbots), 1)
    return OverlapSample(overlap, chatbots, prompts).chosen(low[:, None], high[:, None], np.arange(len(prompts)))


@given(st.floats(0.0, 1.0), st.integers(0, 10_000))
def test_the_share_of_items_is_as_wanted(share: float, seed: int) -> None:
    n = 66 * 200
    found = chosen(Overlap(share, seed=seed)).sum()
    assert abs(found - n * share) <= 6.0 * np.sqrt(n * share * (1.0 - share)) + 1e-6 * n


def test_pairs_and_prompts_are_chosen_independently_of_each_other() -> None:
    found = chosen(Overlap(0.3, seed=1))
    assert found.sum(axis=0).std() == pytest.approx(np.sqrt(66 * 0.21), rel=0.3)
    assert found.sum(axis=1).std() == pytest.approx(np.sqrt(200 * 0.21), rel=0.3)


def test_an_item_stays_chosen_whoever_joins_or_leaves_and_whichever_way_round_it_is_given() -> None:
    overlap = Overlap(0.2, seed=3)
    order = np.random.default_rng(0).permutation(12)
    moved = OverlapSample(overlap, ("new", *(NAMES[m] for m in order)), PROMPTS[::-1])
    low, high = np.triu_indices(12, 1)
    at = np.argsort(order) + 1
    again = moved.chosen(at[high][:, None], at[low][:, None], np.arange(200)[::-1])
    assert (again == chosen(overlap)).all()


def test_another_seed_chooses_others() -> None:
    one, other = chosen(Overlap(0.5, seed=1)), chosen(Overlap(0.5, seed=2))
    assert 0.4 < (one == other).mean() < 0.6


@pytest.mark.parametrize("policy", ["adaptive", "random", "paper"])
def test_the_chosen_items_get_their_votes_and_no_others_do(policy: str) -> None:
    state = fresh(posterior=POSTERIOR, overlap=Overlap(0.3, votes=3, seed=5))
    votes = Counter(items(plan(state, policy=policy, count=1000, seed=0, policies=ALL_POLICIES).asks))
    mine = chosen(state.overlap, state.chatbots, state.prompts)
    wanted = np.where(mine, 3, 1).ravel().tolist()
    every = [(a, b, j) for a in range(5) for b in range(a + 1, 5) for j in range(8)]
    assert 0 < mine.sum() < mine.size
    assert [votes[item] for item in every] == wanted


def test_an_item_of_the_overlap_is_finished_before_the_next_is_begun() -> None:
    state = midway(overlap=Overlap(1.0, votes=2))
    asks = plan(state, policy="adaptive", count=60, seed=1).asks
    begun = np.unique(state.judged, axis=0).tolist()
    assert [list(item) for item in items(asks[:40])] == sorted(begun)
    assert all(ask.probability == 1.0 for ask in asks[:40])
    assert items(asks[40::2]) == items(asks[41::2])
    assert all(ask.probability == 1.0 for ask in asks[41::2])


def test_what_is_on_its_way_counts() -> None:
    state = midway(pending=midway().judged, overlap=Overlap(1.0, votes=2))
    assert not set(items(plan(state, policy="adaptive", count=20, seed=1).asks)) & set(
        map(tuple, state.judged.tolist())
    )


def test_an_overlap_below_the_votes_of_an_item_asks_for_no_more_than_those() -> None:
    """Three votes are allowed of any item; the overlap of two is finished first, the third is the policy's choice."""
    state = fresh(judged=every_item()[:1], votes_per_item=3, overlap=Overlap(1.0, votes=2), posterior=POSTERIOR)
    asks = plan(state, policy="random", count=300, seed=0).asks
    assert items(asks)[0] == tuple(every_item()[0].tolist())
    assert len(asks) == 3 * 80 - 1


@pytest.mark.parametrize(
    "change", [{"share": -0.1}, {"share": 1.1}, {"share": float("nan")}, {"votes": 1}, {"votes": 2.5}, {"votes": 1001}]
)
def test_an_overlap_that_cannot_be_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        Overlap(**change)


def test_a_pair_cap_below_the_overlaps_votes_is_refused() -> None:
    with pytest.raises(InvalidState, match="votes_per_pair 2 is below the 3 votes"):
        fresh(votes_per_pair=2, overlap=Overlap(0.1, votes=3))
    assert CampaignState(("x", "y"), ("p",), votes_per_pair=2, overlap=Overlap(0.0, votes=3)).most_votes == 1
