"""Published baselines: what is particular to each; the contract of all policies is tested in `test_plan`."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import scheduler
from irt_engine.models.comparison_graph import groups_of
from scheduler import ALL_POLICIES, BASELINES, DEFAULT_DESIGN, POLICIES
from scheduler.policies.item_sampling import PairThenPromptSampler
from scheduler.pool import Pool
from tests.scheduler.cast import CELLS, POSTERIOR, every_item, fresh, items, midway

plan = partial(scheduler.plan, policies=ALL_POLICIES)


def test_registries_of_campaigns_and_of_baselines_are_disjoint() -> None:
    assert not set(POLICIES) & set(BASELINES)


def test_the_paper_finishes_a_prompt_on_all_pairs_with_all_votes() -> None:
    asks = plan(fresh(votes_per_item=3), policy="paper", count=60, seed=5).asks
    prompts = [ask.prompt for ask in asks]
    assert len(set(prompts[:30])) == len(set(prompts[30:])) == 1
    assert set(Counter(items(asks)).values()) == {3}
    later = plan(fresh(posterior=POSTERIOR), policy="paper", count=10, seed=5).asks
    assert {ask.prompt for ask in later} == {int(POSTERIOR.discrimination.argmax())}


def test_arena_samples_by_the_fall_of_the_width() -> None:
    """Equal pairs with n and 4 n votes: 1/sqrt(n) - 1/sqrt(n + 1) says how much more often the first one comes."""
    state = midway()
    chooser = BASELINES["arena"](state, (pool := Pool(state)), DEFAULT_DESIGN)
    assert isinstance(chooser, PairThenPromptSampler)
    pool.pair_votes[:] = np.array([4, 16] * 5)
    p = chooser.pairs.probabilities(pool, np.random.default_rng(0))
    p = p / chooser.pairs.deviation  # type: ignore[attr-defined]
    expected = (4**-0.5 - 5**-0.5) / (16**-0.5 - 17**-0.5)
    assert p[0] / p[1] == pytest.approx(expected)


def test_arena_asks_pairs_without_votes_first() -> None:
    state = midway(judged=CELLS[CELLS[:, 0] > 0])
    asks = plan(state, policy="arena", count=4, seed=0).asks
    assert {(ask.a, ask.b) for ask in asks} == {(0, 1), (0, 2), (0, 3), (0, 4)}
    assert [ask.probability for ask in asks[:1]] == pytest.approx([1 / 4 / 8])


def test_swiss_pairs_neighbours_and_rounds_everybody() -> None:
    asks = plan(midway(judged=np.empty((0, 3))), policy="swiss", count=5, seed=0).asks
    place = {m: i for i, m in enumerate(np.argsort(-POSTERIOR.ability).tolist())}
    games = Counter(m for ask in asks for m in (ask.a, ask.b))
    assert max(games.values()) - min(games[m] for m in range(5)) <= 1
    assert abs(place[asks[0].a] - place[asks[0].b]) == 1


@pytest.mark.parametrize("policy", ["thompson", "rmed"])
def test_a_bandit_looks_for_the_best(policy: str) -> None:
    """On a board that knows its abilities well, the best is in nearly every pair asked."""
    sure = replace(POSTERIOR, covariance=POSTERIOR.covariance * 0.01)
    state = fresh(posterior=sure, judged=np.repeat(every_item(), 40, axis=0), votes_per_item=1000)
    asks = plan(state, policy=policy, count=20, seed=1).asks
    best = int(POSTERIOR.ability.argmax())
    assert sum(best in (ask.a, ask.b) for ask in asks) >= 18


def test_asap_asks_a_spanning_tree_and_then_the_next() -> None:
    asks = plan(midway(), policy="asap", count=8, seed=1).asks
    for part in (asks[:4], asks[4:]):
        pairs = np.array([(ask.a, ask.b) for ask in part])
        assert groups_of(5, pairs[:, 0], pairs[:, 1]).max() == 1
