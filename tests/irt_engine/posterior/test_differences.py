"""All pairs at once: differences, simultaneous intervals, ranks and classes."""

from __future__ import annotations

import tracemalloc
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import studentized_range

from irt_engine import EngineError, Posterior, ResponseTable, fit
from irt_engine.posterior.differences import normal_draws
from irt_engine.posterior.sequential_tests import told_apart
from tests.irt_engine.posteriors import boards, exchangeable, made_up, random_board

APART = random_board(7, 5, group=[1, 2, 1, 2, 1, 1, 3])


@given(boards)
def test_all_differences_at_once_are_the_single_ones(board: Posterior) -> None:
    pairs = board.differences()
    assert len(pairs.mean) == len(board.chatbots) * (len(board.chatbots) - 1) // 2
    for a, b, mean, se, p in zip(pairs.a, pairs.b, pairs.mean, pairs.se, pairs.p_better, strict=True):
        one = board.difference(board.chatbots[a], board.chatbots[b])
        assert (one.mean, one.se, one.p_better) == pytest.approx((mean, se, p))


def test_pairs_of_separate_groups_are_left_out() -> None:
    pairs = APART.differences()
    assert list(zip(pairs.a, pairs.b, strict=True)) == [(0, 2), (0, 4), (0, 5), (1, 3), (2, 4), (2, 5), (4, 5)]


@pytest.mark.parametrize("chatbots", [2, 3, 8, 30])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_with_equal_independent_errors_the_quantile_is_that_of_the_studentised_range(
    chatbots: int, level: float
) -> None:
    """q / sqrt(2), because Tukey divides by the SE of a mean and not of a difference."""
    exact = studentized_range.ppf(level, chatbots, 1e6) / np.sqrt(2.0)
    assert exchangeable(chatbots, 0.3).simultaneous(level).critical[0] == pytest.approx(exact, abs=0.02)


def test_the_adjusted_p_is_the_tail_of_the_studentised_range() -> None:
    ability = np.array([0.0, 0.5, 0.9, 1.0, 1.3])
    found = exchangeable(5, 0.3, ability).simultaneous()
    exact = studentized_range.sf(np.abs(found.mean) / found.se * np.sqrt(2.0), 5, 1e6)
    assert np.allclose(found.p, exact, atol=0.005)


def test_far_beyond_the_draws_the_adjusted_p_goes_on_falling() -> None:
    p = exchangeable(3, 0.1, [0.0, 1.0, 4.0]).simultaneous().p
    assert 0.0 < p[0] < 1e-6
    assert p[1] < p[2] < p[0]


@given(boards)
@settings(max_examples=15, deadline=None)
def test_simultaneous_intervals_p_and_clearly_better_say_the_same(board: Posterior) -> None:
    found = board.simultaneous(0.9)
    assert (np.diff(np.stack([found.lower, found.mean, found.upper]), axis=0) >= 0).all()
    outside = (found.lower > 0) | (found.upper < 0)
    assert np.array_equal(outside, found.p <= 1.0 - found.level)
    assert found.clearly_better.sum() == outside.sum()
    better, worse = np.nonzero(found.clearly_better)
    assert (board.ability[better] > board.ability[worse]).all()


def test_simultaneous_is_wider_than_one_pair_alone_and_never_wider_than_sidak() -> None:
    board = random_board(9, 1)
    one = abs(board.interval(0.95) - board.ability[:, None])[0, 0] / board.se[0]
    found = board.simultaneous(0.95)
    assert one < found.critical[0] <= 3.24  # Sidak's quantile for 36 pairs
    assert exchangeable(2, 0.3).simultaneous(0.95).critical[0] == pytest.approx(one, abs=0.005)


def test_each_group_is_a_family_of_its_own() -> None:
    found = APART.simultaneous()
    assert found.critical[0] > found.critical[1] > 1.9
    assert found.critical[2] == 0.0
    same = APART.group[:, None] == APART.group[None, :]
    assert not found.clearly_better[~same].any()


def test_simultaneous_rank_bounds_hold_the_pairwise_ones() -> None:
    board = random_board(12, 4)
    pairwise, joint = board.rank_bounds(), board.rank_bounds(simultaneous=True)
    assert np.array_equal(joint[:, 0], pairwise[:, 0])
    assert (joint[:, 1] <= pairwise[:, 1]).all()
    assert (joint[:, 2] >= pairwise[:, 2]).all()
    assert (joint != pairwise).any()


@given(boards)
@settings(max_examples=10, deadline=None)
def test_rank_probabilities_sum_to_one_by_chatbot_and_by_rank(board: Posterior) -> None:
    p = board.rank_probabilities()
    assert np.allclose(p.sum(axis=0), 1.0)
    assert np.allclose(p.sum(axis=1), 1.0)
    assert np.array_equal(p, board.rank_probabilities())


def test_ranks_count_inside_the_group() -> None:
    p = APART.rank_probabilities()
    assert np.allclose(p.sum(axis=1), 1.0)
    for g, size in ((1, 4), (2, 2), (3, 1)):
        inside = p[APART.group == g]
        assert np.allclose(inside[:, :size].sum(axis=0), 1.0)
        assert (inside[:, size:] == 0.0).all()


def test_of_two_the_first_rank_has_the_probability_of_being_better() -> None:
    board = made_up([-0.1, 0.1], 0.04 * np.array([[1.0, -1.0], [-1.0, 1.0]]))
    p = board.difference("bot0", "bot1").p_better
    assert board.rank_probabilities()[1] == pytest.approx([p, 1.0 - p], abs=1e-3)


def test_equals_share_every_rank() -> None:
    assert np.allclose(exchangeable(6, 0.5).rank_probabilities(), 1.0 / 6.0, atol=0.005)


def test_turning_all_abilities_round_reverses_the_ranks_exactly() -> None:
    board = random_board(6, 8)
    turned = made_up(-board.ability, board.covariance)
    assert np.array_equal(turned.rank_probabilities(), board.rank_probabilities()[:, ::-1])


def test_the_draws_have_the_covariance_that_they_were_asked_for() -> None:
    covariance = APART.covariance
    draws = np.concatenate(list(normal_draws(covariance, 1 << 13)))
    assert draws.shape == (1 << 13, 7)
    assert np.allclose(np.cov(draws.T), covariance, atol=2e-3 * covariance.max())


def test_many_chatbots_need_memory_for_their_ranks_and_not_for_the_draws() -> None:
    """All the draws of 300 chatbots at once would be 79 MB, their orders as much again."""
    board = random_board(300, 2, gap=2.0)
    tracemalloc.start()
    p = board.rank_probabilities()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.allclose(p.sum(axis=0), 1.0)
    assert np.allclose(p.sum(axis=1), 1.0)
    assert peak < 60e6


def test_what_is_certain_has_a_rank_and_no_interval() -> None:
    board = made_up([-1.0, 0.0, 0.0, 1.0], np.zeros((4, 4)))
    found = board.simultaneous()
    assert np.array_equal(found.lower, found.upper)
    assert found.p.tolist() == [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    assert board.rank_probabilities()[[3, 0], [0, 3]].tolist() == [1.0, 1.0]
    assert board.difference("bot1", "bot2").p_better == 0.5
    assert board.difference("bot0", "bot3").excludes_zero


def test_the_strongest_opens_a_class_and_others_join_while_they_reach_its_lower_bound() -> None:
    """Half widths of 0.98: 1.0 reaches down to 0.02, which 0 (up to .98) joins and -1.5 (up to -.52) does not."""
    board = made_up([0.0, -3.0, 1.0, -1.5], 0.25 * np.eye(4))
    assert board.interval_classes().tolist() == [1, 2, 1, 2]
    assert board.interval_classes(0.5).tolist() == [2, 4, 1, 3]


def test_a_class_is_measured_from_its_opener_and_not_from_its_last_member() -> None:
    """Each of these reaches its neighbour, and yet the chain is cut where the opener is out of reach."""
    board = made_up([1.5, 0.0, -1.5], 0.25 * np.eye(3))
    assert board.interval_classes().tolist() == [1, 1, 2]


def test_a_class_never_goes_on_after_the_first_that_does_not_join() -> None:
    board = made_up([2.0, 0.0, -1.0], np.diag([0.01, 0.01, 9.0]))
    assert board.interval_classes().tolist() == [1, 2, 2]


def test_every_group_has_classes_of_its_own() -> None:
    classes = APART.interval_classes()
    assert [classes[APART.group == g].min() for g in (1, 2, 3)] == [1, 1, 1]


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, float("nan"), "0.95", None])
def test_a_level_outside_0_and_1_is_refused(level: Any) -> None:
    for ask in (APART.simultaneous, APART.interval_classes, APART.rank_bounds, APART.interval):
        with pytest.raises(EngineError) as caught:
            ask(level)
        assert caught.value.code == "bad_level"


def test_equals_share_a_rank_however_they_are_rounded() -> None:
    rows = [(a, b, f"p{prompt}", 0) for a, b in combinations(("eliza", "echo", "parry"), 2) for prompt in range(4)]
    table = ResponseTable.from_votes(*(list(column) for column in zip(*rows, strict=True)))
    for form in ("net", "vote"):
        board = fit(table, form=form)
        assert board.rank_bounds().tolist() == [[1, 1, 3]] * 3
        assert told_apart(board, looks=None).bounds.tolist() == [[1, 1, 3]] * 3
    near = made_up([1.0, 1.0 + 1e-12, -2.0, 1.0 + 1e-6], 0.01 * np.eye(4))
    assert near.rank_bounds()[:, 0].tolist() == [2, 2, 4, 1]
    assert told_apart(near, looks=None).bounds[:, 0].tolist() == [2, 2, 4, 1]
    certain = made_up([0.0, 1e-12, 0.0], np.zeros((3, 3)))
    assert certain.rank_bounds()[:, 0].tolist() == [2, 1, 2]


def test_model_pair_has_no_ranks_and_no_pairs_of_chatbots() -> None:
    pair = made_up([], np.empty((0, 0)), model="pair")
    assert len(pair.differences().mean) == len(pair.simultaneous().mean) == 0
    assert pair.rank_probabilities().shape == (0, 0)
    assert pair.interval_classes().shape == (0,)
