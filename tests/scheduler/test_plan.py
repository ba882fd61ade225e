"""plan: the contract that every policy passes by being listed in ALL_POLICIES, and what is particular to each."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scheduler
from irt_engine.models.comparison_graph import groups_of
from irt_engine.models.priors import DEFAULT_PRIORS
from scheduler import (
    ALL_POLICIES,
    DEFAULT_DESIGN,
    AdaptiveDesign,
    Balance,
    CampaignState,
    InvalidRequest,
    InvalidState,
    NewEntrantTarget,
    Overlap,
    Placement,
    RetirementRule,
    with_retired,
)
from scheduler.belief import Belief
from scheduler.overlap import OverlapSample
from scheduler.policies.item_sampling import FLOOR, PairThenPromptSampler, shortlisted
from scheduler.policies.pair_selection import joining_pairs
from scheduler.pool import Pool
from tests.environment import FULL
from tests.scheduler.cast import CELLS, POSTERIOR, every_item, fresh, items, midway

plan = partial(scheduler.plan, policies=ALL_POLICIES)
EXAMPLES = 16 if FULL else 3  # of each policy and design
EVERY_POLICY = pytest.mark.parametrize("policy", sorted(ALL_POLICIES))
EVERY_STATE = pytest.mark.parametrize("state", [fresh(), midway()], ids=["fresh", "midway"])


@EVERY_POLICY
@EVERY_STATE
def test_equal_arguments_give_equal_plans_and_another_seed_another(policy: str, state: CampaignState) -> None:
    one, again, other = (plan(state, policy=policy, count=10, seed=s) for s in (1, 1, 2))
    assert one == again
    assert one.asks != other.asks


CATEGORIES = ("a", "a", "a", "b", "b", "b", "c", "c")
DESIGNS = {
    "default": DEFAULT_DESIGN,
    "strict": AdaptiveDesign(
        floor=0.0, best=1, exposure=1.0, balance=Balance(), retirement=RetirementRule(1, 0.9, 0.5)
    ),
    "entrant": AdaptiveDesign(target=NewEntrantTarget(2), placement=Placement(anchor=20, neighbours=20)),
}
EVERY_DESIGN = pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)


@st.composite
def campaigns(draw: st.DrawFn) -> CampaignState:
    """Any state of the cast: before or after the first fit, with every kind of limit."""
    chosen = every_item()[np.random.default_rng(draw(st.integers(0, 10_000))).permutation(80)]
    overlap = Overlap(draw(st.sampled_from([0.0, 0.2, 1.0])), votes=2)
    caps = [None, 3, 9]
    return fresh(
        posterior=draw(st.sampled_from([None, POSTERIOR])),
        judged=chosen[:30], pending=chosen[20:40], closed=chosen[40:60],
        votes_per_item=draw(st.integers(1, 3)), votes_per_pair=draw(st.sampled_from(caps)), overlap=overlap,
        retired=np.array(sorted(draw(st.sets(st.integers(0, 7), max_size=7)))),
        categories=CATEGORIES, redundant=(POSTERIOR.prompts[:3],),
    )  # fmt: skip


def most_votes(state: CampaignState, item: tuple[int, int, int]) -> int:
    """Votes that an item may have."""
    a, b, prompt = (np.array([index]) for index in item)
    chosen = OverlapSample(state.overlap, state.chatbots, state.prompts).chosen(a, b, prompt)[0]
    return max(state.votes_per_item, state.overlap.votes) if chosen else state.votes_per_item


@EVERY_POLICY
@EVERY_DESIGN
@settings(max_examples=EXAMPLES)
@given(campaigns(), st.integers(0, 10_000))
def test_it_never_asks_what_is_full_closed_or_retired_and_terminates(
    policy: str, design: AdaptiveDesign, state: CampaignState, seed: int
) -> None:
    made = plan(state, policy=policy, count=1000, seed=seed, design=design)
    retired = set(with_retired(state, design.retirement, design.placement).retired.tolist())
    votes = Counter(map(tuple, np.concatenate([state.judged, state.pending]).tolist()))
    before = Counter(item[:2] for item in votes.elements())
    closed = set(map(tuple, state.closed.tolist()))
    for item in items(made.asks):
        assert item not in closed
        assert item[2] not in retired
        votes[item] += 1
        assert votes[item] <= most_votes(state, item)
    pairs = Counter(item[:2] for item in votes.elements())
    if state.votes_per_pair is not None:
        assert all(n <= max(state.votes_per_pair, before[pair]) for pair, n in pairs.items())
    # It ends only where nothing more could be asked: every open item has its votes, or its pair has.
    for row in every_item().tolist():
        item = (row[0], row[1], row[2])
        full = votes[item] >= most_votes(state, item) or pairs[item[:2]] >= (state.votes_per_pair or 1000)
        assert full or item in closed or item[2] in retired
    assert all(0.0 < ask.probability <= 1.0 + 1e-12 for ask in made.asks)
    assert made.reason


@EVERY_POLICY
@EVERY_DESIGN
@settings(max_examples=EXAMPLES)
@given(campaigns(), st.integers(0, 10_000))
def test_it_is_the_same_again_and_the_first_asks_do_not_depend_on_how_many_follow(
    policy: str, design: AdaptiveDesign, state: CampaignState, seed: int
) -> None:
    made = plan(state, policy=policy, count=12, seed=seed, design=design)
    assert plan(state, policy=policy, count=12, seed=seed, design=design) == made
    assert plan(state, policy=policy, count=5, seed=seed, design=design).asks == made.asks[:5]


# Of the policies that look prompts up in a table, one each that samples abilities and that does not.
MIDWAY = ("adaptive", "balanced", "paper", "random", "thompson")


class Recorder:
    """Stands between a plan and its policy, and looks at the probabilities of every draw."""

    def __init__(self, pairs: Any, prompts: Any) -> None:
        self.pairs, self.prompts, self.looked = pairs, prompts, 0

    def of_pair(self, pool: Any, rng: Any) -> Any:
        p = self.pairs.probabilities(pool, rng)
        assert p.sum() == pytest.approx(1.0)
        assert (p >= 0.0).all()
        assert (p[pool.open_per_pair == 0] == 0.0).all()
        return p

    def of_prompt(self, pool: Any, pair: int, prompts: Any) -> Any:
        p = self.prompts.probabilities(pool, pair, prompts)
        self.looked += 1
        assert p.sum() == pytest.approx(1.0)
        assert (p >= 0.0).all()
        assert (prompts == pool.open_prompts(pair)).all()
        return p


def pair_first() -> list[str]:
    """Policies that draw a pair and then a prompt, so that all their probabilities can be looked at.

    What the others say is checked by the frequencies of their first draw.
    """
    state = fresh()
    made = {name: make(state, Pool(state), DEFAULT_DESIGN) for name, make in ALL_POLICIES.items()}
    return sorted(name for name, chooser in made.items() if isinstance(chooser, PairThenPromptSampler))


@pytest.mark.parametrize("policy", pair_first())
@EVERY_DESIGN
@EVERY_STATE
def test_the_probabilities_of_every_draw_sum_to_1_over_open_items(
    policy: str, design: AdaptiveDesign, state: CampaignState
) -> None:
    state = replace(state, categories=CATEGORIES, redundant=(POSTERIOR.prompts[:3],), retired=np.array([4]))
    pool = Pool(state)
    chooser = ALL_POLICIES[policy](state, pool, design)
    rng = np.random.default_rng(0)
    assert isinstance(chooser, PairThenPromptSampler)
    recorder = Recorder(chooser.pairs, chooser.prompts)
    watched = replace(
        chooser,
        pairs=SimpleNamespace(probabilities=recorder.of_pair),
        prompts=SimpleNamespace(probabilities=recorder.of_prompt),
    )
    for _ in range(30):
        draw = watched.draw(pool, rng)
        pool.take(draw.pair, draw.prompt)
    assert recorder.looked == 30


@pytest.mark.parametrize(
    ("policy", "state"),
    [
        *(pytest.param(name, fresh(), id=f"{name}-fresh") for name in sorted(ALL_POLICIES)),
        *(pytest.param(name, midway(), id=f"{name}-midway") for name in MIDWAY),
        *(
            pytest.param(name, midway(), id=f"{name}-midway", marks=pytest.mark.full)
            for name in sorted(set(ALL_POLICIES) - set(MIDWAY))
        ),
    ],
)
def test_probabilities_are_those_of_the_first_draw(policy: str, state: CampaignState) -> None:
    """Over many seeds the first ask comes as often as it says, and what it says sums to 1 over the distinct items."""
    check_frequencies(policy, DEFAULT_DESIGN, state)


@pytest.mark.parametrize(
    "design",
    [
        pytest.param(DESIGNS["strict"], id="strict"),
        pytest.param(DESIGNS["entrant"], id="entrant", marks=pytest.mark.full),
    ],
)
def test_probabilities_are_those_of_the_first_draw_whatever_the_design(design: AdaptiveDesign) -> None:
    check_frequencies("adaptive", design, midway(categories=CATEGORIES))


def check_frequencies(policy: str, design: AdaptiveDesign, state: CampaignState) -> None:
    firsts = [plan(state, policy=policy, count=1, seed=seed, design=design).asks[0] for seed in range(150)]
    seen = Counter(items(firsts))
    said = {(ask.a, ask.b, ask.prompt): ask.probability for ask in firsts}
    assert sum(seen.values()) == 150
    assert sum(said.values()) <= 1.0 + 1e-9
    for item, n in seen.items():
        p = said[item]
        assert abs(n - 150 * p) < 5 * np.sqrt(150 * p * (1 - p)) + 2


@EVERY_POLICY
@pytest.mark.parametrize(
    ("state", "word"),
    [
        (fresh(closed=every_item()), "closed"),
        (fresh(judged=every_item()[:40], pending=every_item()[40:]), "judged"),
        (CampaignState(("alone",), ("p",)), "two chatbots"),
        (CampaignState(("x", "y"), ()), "no prompts"),
        (fresh(retired=np.arange(len(fresh().prompts))), "all prompts are retired"),
    ],
    ids=["all closed", "all judged or pending", "one chatbot", "no prompts", "all prompts retired"],
)
def test_an_empty_plan_says_why(policy: str, state: CampaignState, word: str) -> None:
    made = plan(state, policy=policy, count=5, seed=0)
    assert made.asks == ()
    assert word in str(made.reason)


@EVERY_POLICY
def test_a_count_of_nothing_gives_nothing(policy: str) -> None:
    assert str(plan(fresh(), policy=policy, count=0, seed=0).reason) == "no asks were requested"


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
    plans = [plan(state, policy="least_certain", count=10, seed=seed).asks for seed in range(12)]
    shares = [sum(5 in (ask.a, ask.b) for ask in asks) / 10 for asks in plans]
    assert np.mean(shares) > 0.4  # of pairs, it is in a third
    assert min(shares) >= 0.3
    assert DEFAULT_PRIORS.ability_sd > POSTERIOR.se.max()


def test_the_shortlist_leaves_the_floor_to_everyone() -> None:
    p = shortlisted(np.array([1.0, 5.0, -np.inf, 3.0, 0.0, 2.0, 2.5, 0.1] + [0.0] * 40))
    assert p.sum() == pytest.approx(1.0)
    assert p[2] == 0.0
    assert p[4] == pytest.approx(FLOOR / 47)
    assert p[1] == pytest.approx(FLOOR / 47 + (1 - FLOOR) / 5)


def test_a_second_vote_is_asked_where_it_is_expected_to_tell_more_than_a_first_elsewhere() -> None:
    """Two votes of an item are allowed. One prompt is far better than all others, and what a cell's votes share is
    small or large."""
    steep = np.where(np.arange(8) == 6, 3.0, 0.5)
    greedy = AdaptiveDesign(floor=0.0, best=1, exposure=8.0, repeats=True)
    again = {}
    for cell in (0.1, 50.0):
        scales, alike = replace(POSTERIOR.scales, cell=cell, reply=None), np.empty((0, 0))
        board = replace(POSTERIOR, discrimination=steep, discrimination_se=0.1 * steep, scales=scales)
        board = replace(board, reply=alike, reply_se=alike)
        asks = plan(fresh(posterior=board, votes_per_item=2), policy="adaptive", count=10, seed=1, design=greedy).asks
        again[cell] = sum(n > 1 for n in Counter(items(asks)).values())
    assert again[0.1] >= 1
    assert again[50.0] == 0


def test_by_default_every_prompt_of_a_pair_has_a_vote_before_one_gets_a_second() -> None:
    state = fresh(posterior=POSTERIOR, votes_per_item=3)
    asks = plan(state, policy="adaptive", count=200, seed=1, design=AdaptiveDesign(exposure=8.0)).asks
    votes: Counter[tuple[int, int, int]] = Counter()
    for a, b, prompt in items(asks):
        assert votes[a, b, prompt] == 0 or all(votes[a, b, j] > 0 for j in range(8))
        votes[a, b, prompt] += 1
    assert max(votes.values()) == 3


def test_a_reply_that_was_judged_often_teaches_less_than_one_that_was_not_met() -> None:
    """By the square of the share of its variance that is open: half of the reply of one of the two."""
    worth = np.zeros((8, 5))
    doubt = np.full((8, 5), 0.5)
    fresh = replace(POSTERIOR, scales=replace(POSTERIOR.scales, reply=0.5), reply=worth, reply_se=doubt)
    first = Belief(midway(), fresh, Pool(midway())).information(0, np.zeros(8, int))
    doubt = doubt.copy()
    low = POSTERIOR.chatbots.index(midway().chatbots[0])
    doubt[POSTERIOR.prompts.index(midway().prompts[3]), low] = 0.5 / np.sqrt(2.0)
    again = Belief(midway(), replace(fresh, reply_se=doubt), Pool(midway())).information(0, np.zeros(8, int))
    assert again[3] == pytest.approx(0.75**2 * first[3])
    assert np.delete(again, 3) == pytest.approx(np.delete(first, 3))


def test_votes_of_one_cell_are_worth_what_the_effect_that_they_share_leaves_of_them() -> None:
    """n votes of information i each about theta + e, e of variance v, tell i n / (1 + n i v) about theta."""
    alike = np.empty((0, 0))
    scales = replace(POSTERIOR.scales, cell=2.0, reply=None)
    board = replace(POSTERIOR, scales=scales, reply=alike, reply_se=alike)
    belief = Belief(midway(), board, Pool(midway()))
    i, v = belief.information(0, np.zeros(8, int)), 4.0 / POSTERIOR.discrimination**2
    step = 1e-4  # the fall of the sum's growth, at n = 2
    slope = ((2 + step) * i / (1 + (2 + step) * i * v) - 2 * i / (1 + 2 * i * v)) / step
    assert belief.information(0, np.full(8, 2)) == pytest.approx(slope, rel=1e-3)


def test_a_prompt_that_nobody_was_asked_about_is_tried_soon() -> None:
    state = CampaignState(POSTERIOR.chatbots, (*POSTERIOR.prompts, "zz-new"), POSTERIOR, judged=CELLS)
    asks = plan(state, policy="adaptive", count=10, seed=0, design=AdaptiveDesign(floor=0.0, best=1)).asks
    assert 8 in [ask.prompt for ask in asks]


def test_bad_requests_and_states_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="adaptive, arena"):
        plan(fresh(), policy="best", count=1, seed=0)
    with pytest.raises(InvalidRequest):
        plan(fresh(), policy="random", count=-1, seed=0)
    for count in (float("nan"), 2.5, float("inf"), True):
        with pytest.raises(InvalidRequest, match="whole numbers"):
            plan(fresh(), policy="random", count=count, seed=0)  # type: ignore[arg-type]
    assert len(plan(fresh(), policy="random", count=np.int64(3), seed=0).asks) == 3  # type: ignore[arg-type]
    for bad in ([[0, 0, 0]], [[0, 9, 0]], [[0, 1, 8]], [[-1, 1, 0]]):
        with pytest.raises(InvalidState, match="row 1"):
            fresh(judged=np.array(bad))
    with pytest.raises(InvalidState):
        fresh(votes_per_item=0)


@pytest.mark.parametrize("policy", ["adaptive", "least_certain"])
def test_a_plan_counts_what_it_asks_and_values_it(policy: str) -> None:
    values = [ask.value for ask in plan(midway(), policy=policy, count=35, seed=1).asks]
    assert min(values) > 0


def test_adaptive_joins_separate_parts_first() -> None:
    """Two new entrants with nothing but each other: the first asks link them and everybody else."""
    names = (*POSTERIOR.chatbots, "zz-new", "zz-too")
    state = CampaignState(names, POSTERIOR.prompts, POSTERIOR, judged=CELLS)
    asks = plan(state, policy="adaptive", count=2, seed=0).asks
    pairs = np.concatenate([CELLS[:, :2], [(ask.a, ask.b) for ask in asks]])
    assert groups_of(7, pairs[:, 0], pairs[:, 1]).max() == 1
    assert joining_pairs(Pool(state)).any()


def test_no_pair_takes_more_than_its_share_of_an_adaptive_plan() -> None:
    free = plan(midway(), policy="adaptive", count=40, seed=3, design=AdaptiveDesign(floor=0.0, cap=1.0, best=1))
    held = plan(midway(), policy="adaptive", count=40, seed=3, design=AdaptiveDesign(floor=0.0, cap=0.1, best=1))
    most = [Counter((a, b) for a, b, _ in items(made.asks)).most_common(1)[0][1] for made in (free, held)]
    assert most[1] <= most[0] <= 8  # there are eight prompts
    share = 4 / 10  # four times the even share of ten pairs
    votes = Counter(map(tuple, np.concatenate([CELLS[:, :2], [i[:2] for i in items(held.asks)]]).tolist()))
    assert max(votes.values()) <= max(1, share * (len(CELLS) + 40))


@pytest.mark.parametrize(
    "change", [{"floor": -0.1}, {"floor": 2.0}, {"cap": 0.0}, {"cap": float("nan")}, {"best": 0}, {"best": 1.5}]
)
def test_a_design_that_contradicts_itself_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        AdaptiveDesign(**change)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"judged": [[0, 1, 2.5]]}, "bad_item"),
        ({"judged": [[0, 1, float("nan")]]}, "bad_item"),
        ({"pending": [[0, 1, float("inf")]]}, "bad_item"),
        ({"judged": [[0, 1, 2], [0, 1]]}, "bad_item"),
        ({"judged": [[0, 1, None]]}, "bad_item"),
        ({"judged": [[0, 1, "p"]]}, "bad_item"),
        ({"closed": [[0, 1]]}, "bad_item"),
        ({"judged": np.zeros((2, 6))}, "bad_item"),
        ({"retired": [0.5]}, "bad_prompt"),
        ({"retired": [float("nan")]}, "bad_prompt"),
        ({"chatbots": ("echo", "eliza", "echo")}, "repeated_name"),
        ({"prompts": ("p", "q", "p")}, "repeated_name"),
        ({"votes_per_item": float("nan")}, "bad_count"),
        ({"votes_per_item": 1.5}, "bad_count"),
        ({"votes_per_item": 10**400}, "bad_count"),
        ({"judgments": float("nan")}, "bad_count"),
        ({"votes_per_pair": float("nan")}, "bad_count"),
    ],
)
def test_a_state_of_something_else_than_names_and_whole_numbers_is_refused(change: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidState) as refused:
        fresh(**change)
    assert (refused.value.code, bool(refused.value.hint)) == (code, True)


def test_whole_numbers_that_came_as_floats_are_indices() -> None:
    assert fresh(judged=[[1.0, 0.0, 2.0]]).judged.tolist() == [[0, 1, 2]]
    assert fresh(judged=[], retired=()).judged.shape == (0, 3)


def test_a_pair_cap_below_an_items_votes_is_refused() -> None:
    with pytest.raises(InvalidState, match="votes_per_pair"):
        fresh(votes_per_item=3, votes_per_pair=2)


def test_an_item_may_be_given_in_either_order() -> None:
    assert fresh(judged=np.array([[3, 1, 0]])).judged.tolist() == [[1, 3, 0]]


def test_a_baseline_is_no_policy_of_a_campaign_by_default() -> None:
    with pytest.raises(InvalidRequest) as refused:
        scheduler.plan(midway(), policy="swiss", count=1, seed=0)
    assert refused.value.code == "unknown_policy"
