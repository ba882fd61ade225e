"""The next vote's probabilities, against plain numerical integration and the laws that they obey."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from irt_engine import Comparison, EngineError, Posterior
from irt_engine.models.graded_response import category_probabilities
from irt_engine.posterior.moments import Scales
from irt_engine.posterior.prediction import theta_of_pairs, votes_of_rating
from tests.irt_engine.posteriors import made_up, random_board

EFFECTS = Scales(log_discrimination=0.4, log_gap=0.3, pair=0.5, cell=0.8)
MET = Comparison("bot1", "bot0", None, 30)
NET = np.array([[-1.6, -0.9, -0.3, 0.3, 0.9, 1.6], [-2.0, -1.0, -0.2, 0.2, 1.0, 2.0]])


def three(**change: Any) -> Posterior:
    """bot0 < bot1 < bot2; bot1 against bot0 was compared and has an effect of its own."""
    fields: dict[str, Any] = {
        "comparisons": (MET,),
        "theta": [-0.9],
        "theta_se": [0.3],
        "scales": EFFECTS,
        "side": 0.25,
        "side_se": 0.1,
    }
    covariance = 0.04 * (np.eye(3) - 1.0 / 3.0)
    return made_up([-0.5, 0.0, 0.5], covariance, **(fields | change))


def one(board: Posterior, a: int, b: int, prompt: int, first: int = -1) -> np.ndarray:
    p: np.ndarray = board.vote_probabilities(np.array([a]), np.array([b]), np.array([prompt]), np.array([first]))[0]
    return p


def integrated(mean: float, se: float, alpha: float, thresholds: np.ndarray, cell: float) -> np.ndarray:
    """The three probabilities by brute force: a fine grid over theta and the cell effect, apart."""
    z = np.linspace(-8, 8, 801)
    w = np.exp(-(z**2) / 2)
    w /= w.sum()
    eta = alpha * (mean + se * z[:, None, None] - thresholds) + cell * z[None, :, None]
    above = np.einsum("i,j,ijc->c", w, w, expit(eta))
    return np.array([1.0 - above[0], above[0] - above[1], above[1]])


def test_the_pairs_theta_is_the_comparisons_where_they_met_and_the_abilities_plus_the_effect_where_not() -> None:
    mean, variance = theta_of_pairs(three(), np.array([1, 0, 0]), np.array([0, 1, 2]))
    assert mean == pytest.approx([-0.9, 0.9, 1.0])
    assert variance == pytest.approx([0.09, 0.09, 0.08 + 0.25])


def test_repeated_experiments_on_a_pair_are_pooled_by_judgments() -> None:
    twice = (Comparison("bot0", "bot1", "x", 30), Comparison("bot1", "bot0", "y", 10))
    board = three(comparisons=twice, theta=[0.2, -1.0], theta_se=[0.3, 0.3])
    mean, variance = theta_of_pairs(board, np.array([0]), np.array([1]))
    assert mean == pytest.approx([0.4])
    assert variance == pytest.approx([0.09 + 0.75 * 0.04 + 0.25 * 0.36])


@pytest.mark.parametrize(("pair", "prompt"), [((0, 2), 0), ((0, 2), 1), ((0, 1), 1)])
def test_votes_are_the_graded_model_averaged_over_theta_and_the_cell(pair: tuple[int, int], prompt: int) -> None:
    board = three()
    mean, variance = theta_of_pairs(board, np.array([pair[0]]), np.array([pair[1]]))
    exact = integrated(
        mean[0], np.sqrt(variance[0]), board.discrimination[prompt], board.thresholds[prompt], EFFECTS.cell or 0.0
    )
    assert one(board, *pair, prompt) == pytest.approx(exact, abs=1e-5)


def test_even_a_wild_cell_effect_is_integrated_closely() -> None:
    board = three(scales=Scales(0.4, 0.3, pair=0.5, cell=3.0))
    mean, variance = theta_of_pairs(board, np.array([0]), np.array([2]))
    exact = integrated(mean[0], np.sqrt(variance[0]), 1.6, board.thresholds[1], 3.0)
    assert one(board, 0, 2, 1) == pytest.approx(exact, abs=2e-4)


def test_the_side_shown_first_is_at_its_advantage() -> None:
    board = three()
    first_a, unknown, first_b = (one(board, 0, 2, 0, first)[2] for first in (1, -1, 0))
    assert first_a < unknown < first_b
    still = three(side_se=0.0)
    shifted = integrated(1.25, np.sqrt(0.33), 1.0, still.thresholds[0], 0.8)
    assert one(still, 0, 2, 0, 0) == pytest.approx(shifted, abs=1e-5)


def test_an_unknown_prompt_is_the_mean_over_the_known_ones() -> None:
    board = three()
    both = (one(board, 0, 2, 0) + one(board, 0, 2, 1)) / 2.0
    assert one(board, 0, 2, -1) == pytest.approx(both, abs=1e-4)


@given(st.integers(0, 1000), st.booleans(), st.floats(0.0, 2.0))
def test_swapping_a_and_b_mirrors_and_everything_is_a_probability(seed: int, net: bool, cell: float) -> None:
    board = random_board(4, seed)
    scales = Scales(0.4, 0.3, pair=0.3, cell=None if net else cell)
    thresholds = NET if net else board.thresholds
    board = made_up(
        board.ability, board.covariance, scales=scales, thresholds=thresholds, form="net" if net else "vote", side=0.3
    )
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, 50)
    b = (a + rng.integers(1, 4, 50)) % 4
    prompt, first = rng.integers(-1, 2, 50), rng.integers(-1, 2, 50)
    there = board.vote_probabilities(a, b, prompt, first)
    back = board.vote_probabilities(b, a, prompt, np.where(first < 0, -1, 1 - first))
    assert np.allclose(there, back[:, ::-1], atol=1e-12)
    assert np.allclose(there.sum(axis=1), 1.0)
    assert (there > 0.0).all()


def test_far_out_every_verdict_keeps_a_positive_probability() -> None:
    board = made_up([-40.0, 40.0], 0.01 * np.array([[1.0, -1.0], [-1.0, 1.0]]))
    for a, b in ((0, 1), (1, 0)):
        p = one(board, a, b, 1)
        assert (p > 0.0).all()
        assert p.max() == pytest.approx(1.0)


def test_a_comparisons_votes_are_those_of_its_pair() -> None:
    board = three()
    direct = board.comparison_vote_probabilities(np.array([0, 0]), np.array([1, -1]), np.array([1, -1]))
    assert direct == pytest.approx(np.stack([one(board, 1, 0, 1, 1), one(board, 1, 0, -1)]))


def test_model_pair_predicts_its_comparisons_and_has_no_chatbots_to_ask_for() -> None:
    pair = made_up([], np.empty((0, 0)), model="pair", comparisons=(MET,), theta=[-0.9], theta_se=[0.3])
    p = pair.comparison_vote_probabilities(np.array([0]), np.array([0]))[0]
    assert p == pytest.approx(integrated(-0.9, 0.3, 1.0, pair.thresholds[0], 0.0), abs=1e-6)
    with pytest.raises(EngineError) as caught:
        one(pair, 0, 1, 0)
    assert caught.value.code == "no_board"


@given(st.integers(1, 60), st.floats(0.01, 0.99))
def test_a_vote_of_a_rated_cell_favours_b_by_a_third_of_the_rating(votes: int, tie_share: float) -> None:
    """Exactly where the rating is not rounded, and by less than the rounding otherwise."""
    table = votes_of_rating(votes, tie_share)
    assert table.shape == (7, 3)
    assert np.allclose(table.sum(axis=1), 1.0)
    assert (table >= 0.0).all()
    assert np.allclose(table, table[::-1, ::-1])
    lean = table[:, 2] - table[:, 0]
    assert np.allclose(lean, (np.arange(7) - 3) / 3.0, atol=1e-12 if votes <= 3 and votes != 2 else 1.0 / 6.0)


def test_one_vote_is_its_rating_and_three_votes_leave_room_for_what_cancels() -> None:
    assert votes_of_rating(1)[[0, 3, 6]].tolist() == np.eye(3).tolist()
    assert votes_of_rating(3)[4] == pytest.approx([1 / 6, 1 / 3, 1 / 2])
    assert votes_of_rating(3)[3] == pytest.approx([2 / 7, 3 / 7, 2 / 7])
    assert votes_of_rating(1, 0.9)[[0, 3, 6]].tolist() == np.eye(3).tolist()


def test_net_ratings_become_votes_by_their_composition() -> None:
    board = three(form="net", thresholds=NET, scales=Scales(0.4, 0.3), theta_se=[0.0], judgments=120, cells=40)
    categories = category_probabilities(np.array(-0.9), np.array(1.0), NET[0])
    assert one(board, 1, 0, 0) == pytest.approx(categories @ votes_of_rating(3))
    few = three(form="net", thresholds=NET, judgments=120, cells=40, ties=11)
    many = three(form="net", thresholds=NET, judgments=120, cells=40, ties=80)
    assert one(few, 1, 0, 0)[1] < one(many, 1, 0, 0)[1]
    lean = [p[2] - p[0] for p in (one(few, 1, 0, 0), one(many, 1, 0, 0))]
    assert lean[0] == pytest.approx(lean[1])


def test_without_ties_three_votes_that_cancel_cannot_exist_but_as_two_against_one() -> None:
    table = votes_of_rating(3, 1e-9)
    assert table[4] == pytest.approx([1 / 3, 0, 2 / 3], abs=1e-6)


@pytest.mark.parametrize(
    ("a", "b", "prompt", "code"),
    [
        ([0], [0], [0], "self_comparison"),
        ([0], [3], [0], "out_of_range"),
        ([-1], [1], [0], "out_of_range"),
        ([0], [1], [2], "out_of_range"),
        ([0], [1], [-2], "out_of_range"),
        ([0, 1], [1], [0], "length"),
        ([0.5], [1.0], [0.0], "not_whole"),
    ],
)
def test_bad_indices_are_refused_with_a_code(a: list[Any], b: list[Any], prompt: list[Any], code: str) -> None:
    with pytest.raises(EngineError) as caught:
        three().vote_probabilities(np.array(a), np.array(b), np.array(prompt))
    assert caught.value.code == code
    assert caught.value.hint


def test_indices_that_make_no_array_are_refused() -> None:
    with pytest.raises(EngineError) as caught:
        three().vote_probabilities([[0], 1], np.array([1]), np.array([0]))  # type: ignore[arg-type]
    assert caught.value.code == "shape"


def test_chatbots_of_separate_groups_are_refused() -> None:
    apart = made_up([0.0, 0.0], np.eye(2), group=[1, 2])
    with pytest.raises(EngineError) as caught:
        one(apart, 0, 1, 0)
    assert caught.value.code == "separate_groups"


def test_nothing_asked_is_nothing_answered() -> None:
    none = np.array([], np.int64)
    assert three().vote_probabilities(none, none, none).shape == (0, 3)
