"""Tests with conversations as units."""

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from irt_engine.arrays import IntArray
from irt_engine.selections import TurnTable, analyse_clustered


def turns(selected: IntArray, length: int) -> TurnTable:
    """Conversations of equal length."""
    n, k = selected.shape
    return TurnTable(tuple("ABCD"[:k]), np.arange(n) // length, np.arange(n) % length, selected)


def drawn(k: int, conversations: int = 20, length: int = 8, seed: int = 1) -> IntArray:
    rng = np.random.default_rng(seed)
    chance = rng.beta(2, 2, size=(conversations, k)).repeat(length, axis=0)
    return (rng.random(chance.shape) < chance).astype(np.int64)


def test_equal_lengths_give_the_t_test_of_conversation_means() -> None:
    selected = drawn(2)
    found = analyse_clustered(turns(selected, 8))
    assert found is not None
    means = (selected[:, 0] - selected[:, 1]).reshape(20, 8).mean(axis=1)
    expected = ttest_1samp(means, 0.0)
    (pair,) = found.pairs
    assert (pair.test.statistic, pair.test.p) == pytest.approx((expected.statistic, expected.pvalue))
    assert (pair.lower, pair.upper) == pytest.approx(tuple(expected.confidence_interval()))
    assert (found.omnibus, found.conversations, pair.test.df) == (pair.test, 20, (19,))


def test_three_chatbots_have_hotellings_test() -> None:
    selected = drawn(3)
    found = analyse_clustered(turns(selected, 8))
    assert found is not None
    means = selected.reshape(20, 8, 3).mean(axis=1)
    contrasts = np.stack([means[:, 0] - means[:, 1], means[:, 1] - means[:, 2]], axis=1)
    centre = contrasts.mean(axis=0)
    squared = 20 * centre @ np.linalg.solve(np.cov(contrasts.T), centre)
    assert found.omnibus.statistic == pytest.approx(squared * 18 / (19 * 2))
    assert found.omnibus.df == (2, 18)


def test_a_single_chatbot_is_tested_against_the_baseline() -> None:
    selected = drawn(1)
    found = analyse_clustered(turns(selected, 8), baseline=0.6)
    assert found is not None
    expected = ttest_1samp(selected.reshape(20, 8).mean(axis=1), 0.6)
    assert found.omnibus.p == pytest.approx(expected.pvalue)
    assert found.pairs == ()


def test_copied_turns_have_their_number_as_design_effect() -> None:
    once = np.random.default_rng(2).integers(0, 2, size=(200, 2))
    found = analyse_clustered(turns(once.repeat(5, axis=0), 5))
    assert found is not None
    assert [rate.design_effect for rate in found.win_rates] == pytest.approx([5.0, 5.0], rel=0.01)
    assert found.omnibus.design_effect == pytest.approx(5.0, rel=0.01)


def test_single_turns_have_no_design_effect() -> None:
    found = analyse_clustered(turns(drawn(4, 300, 1), 1))
    assert found is not None
    assert found.omnibus.design_effect == pytest.approx(1.0)
    assert all(rate.design_effect == pytest.approx(1.0) for rate in found.win_rates)


def test_one_conversation_says_nothing() -> None:
    assert analyse_clustered(turns(drawn(2, 1), 8)) is None


def test_conversations_without_any_variance_have_no_test() -> None:
    found = analyse_clustered(turns(np.tile([[1, 0], [1, 1]], (6, 1)), 2))
    assert found is not None
    (pair,) = found.pairs
    assert (pair.test.statistic, pair.test.p, pair.p_holm, pair.lower, pair.upper) == (None,) * 5
    always = found.win_rates[0]
    assert (always.rate, always.upper, always.design_effect) == (1.0, 1.0, None)
    assert always.lower < 0.7, "six conversations, not twelve turns"


def test_equal_chatbots_without_any_variance_do_not_differ() -> None:
    found = analyse_clustered(turns(np.ones((12, 3), np.int64), 2))
    assert found is not None
    assert (found.omnibus.statistic, found.omnibus.p) == (0.0, 1.0)
    assert all(pair.test.p == 1.0 for pair in found.pairs)


def test_fewer_conversations_than_chatbots_have_pairs_only() -> None:
    found = analyse_clustered(turns(drawn(4, 3), 8))
    assert found is not None
    assert found.omnibus.p is None
    assert all(pair.test.p is not None for pair in found.pairs)
