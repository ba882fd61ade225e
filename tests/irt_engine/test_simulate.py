"""Simulated votes: seeded, and distributed as they claim."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from irt_engine import InvalidResponses, Priors
from irt_engine.fitting.design import design
from irt_engine.models.graded_response import category_probabilities
from irt_engine.responses.cells import cells_of, compare
from irt_engine.simulate import all_cells, comparison_cells, draw_votes, some_cells
from irt_engine.truth import Truth, draw_truth

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


def shares(outcome: np.ndarray) -> np.ndarray:
    """Of a better, tie, b better."""
    return np.bincount(outcome + 1, minlength=3) / len(outcome)


def test_votes_have_the_models_frequencies_with_either_thresholds() -> None:
    cells = np.repeat(all_cells(2, 1), 40_000, axis=0)
    better, not_worse = expit(1.2 * (0.7 - np.array([0.4, -0.3])))
    for thresholds in (TRUTH.thresholds, TRUTH.thresholds[:, 2:4]):
        truth = Truth(TRUTH.ability, TRUTH.discrimination, thresholds)
        found = shares(draw_votes(truth, cells, seed=3).outcome)
        assert found == pytest.approx([1 - not_worse, not_worse - better, better], abs=0.012)


def test_the_pairs_own_effect_is_antisymmetric_and_moves_theta() -> None:
    truth = draw_truth(30, 2, seed=1, pair_sd=0.4)
    a, b, _ = all_cells(30, 1).T
    own = truth.theta(a, b) - (truth.ability[b] - truth.ability[a])
    assert own.std() == pytest.approx(0.4, rel=0.12)
    assert np.array_equal(truth.theta(a, b), -truth.theta(b, a))


def test_votes_of_a_cell_share_its_effect_whichever_way_round_they_are() -> None:
    fair = Truth(np.zeros(2), np.ones(4000), np.tile([-0.4, 0.4], (4000, 1)), cell_sd=2.0)
    one_way = all_cells(2, 4000)
    both = np.concatenate([one_way, one_way[:, [1, 0, 2]]])
    there, back = np.split(draw_votes(fair, both, seed=1).outcome, 2)
    apart = draw_votes(Truth(fair.ability, fair.discrimination, fair.thresholds), both, seed=1).outcome
    assert np.corrcoef(there, -back)[0, 1] > 0.3
    assert abs(np.corrcoef(apart[:4000], apart[4000:])[0, 1]) < 0.06


def test_cells_may_have_different_numbers_of_votes() -> None:
    votes = np.array([1, 3, 2])
    table = draw_votes(draw_truth(3, 1, seed=1), all_cells(3, 1), seed=1, votes=votes)
    comparisons, index = compare(table)
    assert cells_of(table, index, votes=True).counts.sum(axis=1).tolist() == votes.tolist()
    assert comparisons.judgments.tolist() == votes.tolist()


def test_the_order_of_a_cell_is_what_a_fit_sees_of_it() -> None:
    truth = draw_truth(3, 40, seed=1, form="vote", side_sd=1.0)
    table = draw_votes(truth, all_cells(3, 40), seed=2, votes=3, order="cell")
    side = design(table, "board", "vote", Priors()).cells.side
    assert set(side) == {-1.0, 1.0}


def test_common_log_gaps_are_typical_or_drawn() -> None:
    narrow = Priors(log_gap_sd=1e-9)
    middles = [draw_truth(2, 5, seed=s, priors=narrow, common_log_gap_sd=1.5).thresholds[0, 3] for s in range(2000)]
    assert np.std(np.log(middles)) == pytest.approx(1.5, rel=0.06)
    assert np.mean(np.log(middles)) == pytest.approx(0.0, abs=0.12)
    assert draw_truth(2, 5, seed=1, priors=narrow).thresholds[:, 3] == pytest.approx(0.4)


@pytest.mark.parametrize("model", ["pair", "board"])
@pytest.mark.parametrize(("form", "edges"), [("net", 6), ("vote", 2)])
def test_truths_of_every_model_and_form_have_increasing_thresholds(model: str, form: str, edges: int) -> None:
    truth = draw_truth(6, 50, seed=1, model=model, form=form)  # type: ignore[arg-type]
    assert truth.thresholds.shape == (50, edges)
    assert (np.diff(truth.thresholds, axis=1) > 0).all()
    mirrored = np.allclose(truth.thresholds, -truth.thresholds[:, ::-1])
    assert mirrored == (model == "board")


def test_an_unreliable_annotator_guesses_and_ties_like_others() -> None:
    truth = Truth(np.array([0.0, 3.0]), np.ones(1), np.array([[-0.4, 0.4]]), reliability=np.array([0.0, 1.0]))
    table = draw_votes(truth, np.repeat(all_cells(2, 1), 40_000, axis=0), seed=1)
    tie = expit(0.4) - expit(-0.4)
    assert shares(table.outcome[table.annotator == 0]) == pytest.approx([(1 - tie) / 2, tie, (1 - tie) / 2], abs=0.012)
    assert shares(table.outcome[table.annotator == 1])[2] == pytest.approx(expit(2.6), abs=0.012)


def test_comparisons_of_the_pair_model_have_chatbots_of_their_own() -> None:
    cells = comparison_cells(3, 2)
    assert cells.tolist() == [[0, 1, 0], [0, 1, 1], [2, 3, 0], [2, 3, 1], [4, 5, 0], [4, 5, 1]]


def test_it_refuses_what_no_model_here_could_have_drawn() -> None:
    cells = all_cells(2, 1)
    with pytest.raises(InvalidResponses, match="net rating"):
        draw_votes(draw_truth(2, 1, seed=1, form="vote"), cells, seed=1, form="net")
    with pytest.raises(InvalidResponses, match="cell effect"):
        draw_votes(draw_truth(2, 1, seed=1, cell_sd=0.5), cells, seed=1, form="net")
    with pytest.raises(InvalidResponses, match="no votes"):
        draw_votes(TRUTH, cells, seed=1, votes=0)
    with pytest.raises(InvalidResponses, match="unknown form"):
        draw_votes(TRUTH, cells, seed=1, form="rank")  # type: ignore[arg-type]
    with pytest.raises(InvalidResponses, match="unknown order"):
        draw_votes(TRUTH, cells, seed=1, order="page")  # type: ignore[arg-type]
    with pytest.raises(InvalidResponses, match="no votes"):
        draw_votes(TRUTH, cells, seed=1, votes=np.array([1, 2]))
    with pytest.raises(InvalidResponses, match="pair_sd"):
        draw_truth(2, 1, seed=1, pair_sd=-0.1)
    with pytest.raises(InvalidResponses, match="unknown model"):
        draw_truth(2, 1, seed=1, model="boards")  # type: ignore[arg-type]
    with pytest.raises(InvalidResponses, match="unknown form"):
        draw_truth(2, 1, seed=1, form="votes")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cell", "code"),
    [((0, 99, 0), "out_of_range"), ((-1, 1, 0), "out_of_range"), ((0, 1, 99), "out_of_range"), ((0, 1), "shape")],
)
def test_it_refuses_a_cell_that_the_truth_does_not_have(cell: tuple[int, ...], code: str) -> None:
    with pytest.raises(InvalidResponses) as caught:
        draw_votes(TRUTH, np.array([cell]), seed=1)
    assert caught.value.code == code
