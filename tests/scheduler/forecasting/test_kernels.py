"""The sums of the recursion, compiled, are those that plain arrays have."""

from __future__ import annotations

import numpy as np
import pytest

from irt_engine.arrays import FloatArray
from scheduler.forecasting import kernels
from scheduler.forecasting.inputs import CLASSES
from scheduler.forecasting.vote_information import VoteInformation

RNG = np.random.default_rng(0)
POINTS = 145  # of a grid over theta
TABLES = VoteInformation(*RNG.uniform(0.1, 1.0, (len(VoteInformation._fields), POINTS, CLASSES)))
CLASS_PLACES = np.linspace(-1.5, 1.5, CLASSES)
PLACE = RNG.uniform(0.0, POINTS - 1.001, (3, 6))
ROOM = RNG.uniform(1.0, 5.0, (3, 6, CLASSES))
VOTES = RNG.uniform(0.0, 1.0, ROOM.shape) * ROOM


def looked_up(table: FloatArray) -> FloatArray:
    """Return a table's values at PLACE, between the points of its grid."""
    grid = np.arange(POINTS)
    return np.stack([np.interp(PLACE, grid, table[:, k]) for k in range(CLASSES)], axis=-1)


def test_what_it_is_compiled_for_is_what_there_is() -> None:
    assert len(VoteInformation._fields) == kernels.ENTRIES


def test_what_all_votes_tell_is_a_table_times_the_votes_on_the_grid() -> None:
    votes = kernels.votes_on_grid(VOTES, PLACE, POINTS)
    assert len(TABLES) == kernels.ENTRIES
    for table in TABLES:
        wanted = (VOTES * looked_up(table)).sum(axis=1)
        assert np.einsum("dgk,gk->dk", votes, table) == pytest.approx(wanted)


def test_a_look_finds_what_arrays_find() -> None:
    theta, known, typical, relative, steady = kernels.information_at(VOTES, PLACE, TABLES.theta, CLASS_PLACES)
    wanted = looked_up(TABLES.theta)
    mean = wanted.mean(axis=-1)
    assert theta == pytest.approx(wanted)
    assert known == pytest.approx((VOTES * wanted).sum(axis=-1))
    assert typical == pytest.approx(mean)
    assert relative == pytest.approx(wanted.var(axis=-1) / mean**2)
    assert steady == pytest.approx(wanted.var(axis=-1) / mean**2 - ((wanted @ CLASS_PLACES) / (CLASSES * mean)) ** 2)


def test_what_pairs_have_is_added_up_for_both_of_their_chatbots() -> None:
    ends = np.stack(np.triu_indices(4, 1)).astype(np.int64)
    values = VOTES.sum(axis=-1)
    wanted = [values[:, (ends == m).any(axis=0)].sum(axis=1) for m in range(4)]
    assert kernels.chatbot_sums(values, ends, 4) == pytest.approx(np.stack(wanted, axis=1))


def plainly(theta: FloatArray, room: FloatArray, votes: float) -> FloatArray:
    """(K,) votes on the classes one by one, from that whose theta is largest."""
    given = np.zeros(len(theta))
    for k in np.argsort(-theta, kind="stable"):
        given[k] = min(votes - given.sum(), room[k])
    return given


@pytest.mark.parametrize("picked", [0.0, 0.6, 1.0])
def test_votes_that_are_picked_go_where_they_tell_most_and_the_others_anywhere(picked: float) -> None:
    theta, left = looked_up(TABLES.theta), ROOM - VOTES
    wanted = 0.7 * left.sum(axis=-1)
    given = kernels.spread_over_classes(wanted, picked, theta, VOTES, ROOM, 10.0)
    assert wanted.size == 18
    for place in np.ndindex(*wanted.shape):
        spread = left[place] * (1.0 - picked) * wanted[place] / left[place].sum()
        best = plainly(theta[place], left[place] - spread, picked * wanted[place])
        assert given[place] == pytest.approx(spread + best)


def test_no_item_is_picked_again_before_all_of_its_pair_are_as_far() -> None:
    """Two prompts a class, each to be judged up to five times: 14 more votes of a pair that has one of each item."""
    votes, room = np.full((1, 1, CLASSES), 2.0), np.full((1, 1, CLASSES), 10.0)
    theta = np.arange(5.0)[None, None]
    given = kernels.spread_over_classes(np.array([[14.0]]), 1.0, theta, votes, room, 2.0)
    assert given[0, 0] == pytest.approx([0.0, 2.0, 4.0, 4.0, 4.0])  # three of each at the most: the third turn


def test_what_does_not_stay_is_spread_over_the_classes() -> None:
    values = VOTES.copy()
    kernels.mix_classes(values, 0.25)
    assert values == pytest.approx(0.25 * VOTES + 0.75 * VOTES.mean(axis=-1, keepdims=True))
