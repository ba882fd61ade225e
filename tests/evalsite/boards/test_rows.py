"""Rows of a board: what they show as different holds however often the board is looked at."""

import numpy as np

from evalsite.boards.rows import board_tests, estimates_of
from irt_engine import Posterior
from tests.irt_engine.posteriors import made_up

SE = 0.2


def two_apart(z: float) -> Posterior:
    """Two chatbots whose difference is z of its standard errors."""
    half = 0.5 * z * SE
    return made_up([half, -half], SE**2 / 4 * np.array([[1.0, -1.0], [-1.0, 1.0]]))


def test_two_whose_interval_just_leaves_out_0_share_their_places_and_their_class() -> None:
    found = two_apart(2.3)
    assert found.difference("bot1", "bot0").excludes_zero
    above, below = estimates_of(found, board_tests(found, None))
    assert above.rank == [1, 1, 2]
    assert below.rank == [2, 1, 2]
    assert above.rank_class == below.rank_class == 1


def test_two_that_are_far_apart_have_places_and_classes_of_their_own() -> None:
    found = two_apart(6.0)
    above, below = estimates_of(found, board_tests(found, None))
    assert (above.rank, above.rank_class) == ([1, 1, 1], 1)
    assert (below.rank, below.rank_class) == ([2, 2, 2], 2)


def test_the_stronger_half_is_the_first_tier() -> None:
    found = two_apart(6.0)
    assert [each.tier for each in estimates_of(found, board_tests(found, None))] == [1, 2]


def test_known_number_of_looks_separates_more_pairs() -> None:
    found = two_apart(3.0)
    assert [each.rank_class for each in estimates_of(found, board_tests(found, None))] == [1, 1]
    assert [each.rank_class for each in estimates_of(found, board_tests(found, 10))] == [1, 2]
