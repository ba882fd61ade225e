"""Targets: W is positive semidefinite, and says what a judgment is worth before and after it is counted in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler import (
    AdaptiveDesign,
    CombinedTarget,
    InvalidRequest,
    LargestSETarget,
    NewEntrantTarget,
    PrecisionTarget,
    RankingTarget,
    Target,
    TopKTarget,
    plan,
)
from scheduler.belief import Belief
from scheduler.pool import Pool
from tests.environment import FULL
from tests.scheduler.cast import POSTERIOR, midway

CONTRASTS = np.array([[-1.0, 1.0, 0.0, 0.0, 0.0], [0.0, -1.0, 0.5, 0.5, 0.0]])
TARGETS: list[Target] = [
    PrecisionTarget(),
    PrecisionTarget(CONTRASTS),
    RankingTarget(),
    TopKTarget(1),
    TopKTarget(3),
    NewEntrantTarget(2),
    CombinedTarget(RankingTarget(), PrecisionTarget(), 0.3),
    LargestSETarget(),
    LargestSETarget("neighbours"),
]
EVERY_TARGET = pytest.mark.parametrize("target", TARGETS, ids=str)


def belief(target: Target | None = None) -> Belief:
    state = midway()
    return Belief(state, POSTERIOR, Pool(state), target)


def some_board(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Abilities (5,) and a covariance of full rank."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((5, 5))
    return rng.standard_normal(5), root @ root.T + 0.01 * np.eye(5)


@EVERY_TARGET
@given(st.integers(0, 10_000))
def test_a_weight_is_symmetric_and_never_negative(target: Target, seed: int) -> None:
    weight = target.weight(*some_board(seed))
    assert np.allclose(weight, weight.T)
    assert np.linalg.eigvalsh(weight).min() > -1e-9 * max(np.abs(weight).max(), 1.0)


@EVERY_TARGET
@settings(max_examples=25 if FULL else 5)
@given(st.integers(0, 9), st.floats(0.01, 5.0))
def test_counting_a_judgment_in_lowers_the_target_by_what_was_foretold(
    target: Target, pair: int, information: float
) -> None:
    """Against the posterior computed anew: the precision of s and of the pair's own effect, with one more judgment."""
    found = belief(target)
    before = float(np.sum(found.weight * found.covariance))
    said = found.expect(pair, information)
    assert said == pytest.approx(before - float(np.sum(found.weight * found.covariance)), rel=1e-6, abs=1e-12)
    assert found.toward == pytest.approx(found.covariance @ found.weight @ found.covariance, abs=1e-10)
    x = np.zeros(5)
    x[found.low[pair]], x[found.high[pair]] = -1.0, 1.0
    assert found.variance[pair] == pytest.approx(x @ found.covariance @ x, rel=1e-6)
    assert found.projected[pair] == pytest.approx(x @ found.toward @ x, rel=1e-6, abs=1e-12)


def test_all_pairs_are_valued_at_once_as_each_is_alone() -> None:
    falls = belief(RankingTarget()).falls()
    alone = [belief(RankingTarget()).expect(pair, float(belief().typical[pair])) for pair in range(10)]
    assert falls == pytest.approx(np.array(alone), rel=1e-9)


def test_the_pairs_own_effect_is_integrated_out_exactly() -> None:
    """h judgments of a pair, then one more: the abilities' covariance is that of the joint model with the effect."""
    tau2, h, more = 0.3, 4.0, 1.5
    _, sigma = some_board(1)
    found = belief()
    found.pair_variance, found.covariance, found.known = tau2, sigma.copy(), np.zeros(10)
    found.toward = sigma @ found.weight @ sigma
    found.expect(0, h)
    found.expect(0, more)
    design = np.append(np.eye(5)[found.high[0]] - np.eye(5)[found.low[0]], 1.0)
    prior = np.linalg.inv(np.block([[sigma, np.zeros((5, 1))], [np.zeros((1, 5)), np.array([[tau2]])]]))
    exact = np.linalg.inv(prior + (h + more) * np.outer(design, design))[:5, :5]
    assert found.covariance == pytest.approx(exact, abs=1e-10)


def test_repeated_judgments_on_a_pair_teach_less_where_pairs_have_effects_of_their_own() -> None:
    found = belief()
    found.pair_variance = 0.3
    first = found.about_abilities(found.typical)[0]
    found.known[0] += 20.0
    assert found.about_abilities(found.typical)[0] < first / 10.0


def test_a_ranking_leaves_decided_pairs_out_and_weighs_the_others_by_the_chance_to_decide_them() -> None:
    """Against draws: the posterior mean after votes that halve the variance, decided at 95 % or not."""
    mean, covariance = np.array([0.0, 0.15, 50.0]), 0.01 * np.eye(3)
    weight = RankingTarget().weight(mean, covariance)
    ahead = 0.15 + np.sqrt(0.01) * np.random.default_rng(0).standard_normal(200_000)
    decided = np.mean(np.abs(ahead) > 1.96 * np.sqrt(0.01))
    assert -weight[0, 1] * 0.02 == pytest.approx(decided, abs=5e-3)
    assert weight[0, 2] == weight[1, 2] == 0.0  # decided
    assert weight.sum(axis=1) == pytest.approx(np.zeros(3))


def test_a_pair_that_is_nearly_decided_is_worth_more_than_two_equal_chatbots() -> None:
    mean, covariance = np.array([0.0, 0.0, 1.0, 1.25]), 0.01 * np.eye(4)
    weight = -RankingTarget().weight(mean, covariance)
    assert weight[2, 3] > 5.0 * weight[0, 1] > 0.0


def test_the_best_k_are_about_pairs_across_the_border_only() -> None:
    mean, covariance = np.array([3.0, 2.9, 1.0, 0.9]), np.eye(4)
    weight = TopKTarget(2).weight(mean, covariance)
    assert weight[0, 1] == weight[2, 3] == 0.0
    assert -weight[0, 3] > -weight[1, 2] > 0.0


def test_what_is_known_worst_weighs_most_where_the_largest_se_is_wanted() -> None:
    weight = LargestSETarget().weight(np.zeros(3), np.diag([0.01, 0.04, 0.16]))
    assert np.diag(weight) == pytest.approx([1.0 / 256.0, 1.0 / 16.0, 1.0])
    assert weight == pytest.approx(np.diag(np.diag(weight)))


def test_neighbours_are_those_of_the_board_and_no_other_pair_counts() -> None:
    """Board: 2 > 0 > 1; 0 and 1 differ with variance .5, 2 and 0 with variance 1."""
    weight = LargestSETarget("neighbours").weight(np.array([0.5, 0.0, 2.0]), np.diag([0.4, 0.1, 0.6]))
    assert -weight[0, 2] == pytest.approx(1.0)
    assert -weight[0, 1] == pytest.approx(0.25)
    assert weight[1, 2] == 0.0
    assert weight.sum(axis=1) == pytest.approx(np.zeros(3))


def test_a_plan_for_the_largest_se_is_expected_to_lower_it_more_than_one_for_the_ranking() -> None:
    def largest_after(target: Target) -> float:
        state, found = midway(), belief()
        pool = Pool(state)
        made = plan(
            state, policy="adaptive", count=12, seed=3, design=AdaptiveDesign(target=target, floor=0.0, cap=1.0)
        )
        for ask in made.asks:
            pair = int(pool.pairs_of(np.array([[ask.a, ask.b, ask.prompt]]))[0])
            found.expect(pair, float(found.information(pair, np.zeros(len(state.prompts), np.int64))[ask.prompt]))
        return float(np.diag(found.covariance).max())

    assert largest_after(LargestSETarget()) < 0.97 * largest_after(RankingTarget())


def test_both_targets_count_by_what_is_left_of_them() -> None:
    mean, covariance = some_board(3)
    weight = CombinedTarget(PrecisionTarget(), RankingTarget(), 0.4).weight(mean, covariance)
    assert np.sum(weight * covariance) == pytest.approx(1.0)
    assert np.sum(
        CombinedTarget(PrecisionTarget(), RankingTarget(), 1.0).weight(mean, covariance) * covariance
    ) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: PrecisionTarget(np.array([[1.0, 1.0]])),
        lambda: PrecisionTarget(np.array([1.0, -1.0])),
        lambda: PrecisionTarget(np.array([[np.nan, 0.0]])),
        lambda: TopKTarget(0),
        lambda: TopKTarget(1.5),  # type: ignore[arg-type]
        lambda: TopKTarget(1, level=1.0),
        lambda: RankingTarget(level=0.0),
        lambda: LargestSETarget("some"),  # type: ignore[arg-type]
        lambda: CombinedTarget(PrecisionTarget(), RankingTarget(), 1.5),
        lambda: TopKTarget(5).weight(np.zeros(5), np.eye(5)),
        lambda: NewEntrantTarget(5).weight(np.zeros(5), np.eye(5)),
        lambda: PrecisionTarget(np.array([[-1.0, 1.0]])).weight(np.zeros(5), np.eye(5)),
    ],
)
def test_a_target_that_cannot_be_is_refused(make: object) -> None:
    assert callable(make)
    with pytest.raises(InvalidRequest):
        make()
