"""Simulated votes: seeded, and distributed as they claim."""

from __future__ import annotations

import numpy as np
import pytest

from irt_engine import InvalidResponses
from irt_engine.grm import category_probabilities
from irt_engine.simulate import Truth, all_cells, draw_truth, draw_votes, some_cells

TRUTH = Truth(np.array([0.0, 0.7]), np.array([1.2]), np.array([[-2.0, -1.0, -0.3, 0.4, 1.0, 2.5]]))


def test_equal_seeds_give_equal_votes() -> None:
    one, other, third = (draw_votes(TRUTH, all_cells(2, 1), seed=s, votes=50) for s in (1, 1, 2))
    assert np.array_equal(one.outcome, other.outcome)
    assert not np.array_equal(one.outcome, third.outcome)


def test_net_votes_have_the_models_frequencies() -> None:
    cells = np.repeat(all_cells(2, 1), 20_000, axis=0)
    net = draw_votes(TRUTH, cells, seed=3, form="net").outcome.reshape(-1, 3).sum(axis=1)
    p = category_probabilities(np.array(0.7), np.array(1.2), TRUTH.thresholds[0])
    assert np.allclose(np.bincount(net + 3, minlength=7) / 20_000, p, atol=0.015)


def test_a_share_of_the_cells_is_drawn_without_repeats() -> None:
    cells = some_cells(6, 10, 0.4, seed=1)
    assert len(np.unique(cells, axis=0)) == len(cells) == 60
    with pytest.raises(InvalidResponses):
        some_cells(6, 10, 0.0, seed=1)


def test_a_side_effect_draws_the_order_and_favours_the_first_shown() -> None:
    fair = draw_truth(2, 1, seed=1)
    truth = Truth(np.zeros(2), fair.discrimination, fair.thresholds, side=1.5)
    table = draw_votes(truth, all_cells(2, 1), seed=1, votes=500)
    assert table.outcome[table.a_first == 1].mean() < 0 < table.outcome[table.a_first == 0].mean()
