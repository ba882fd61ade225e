"""fit: laws that hold for every table, and recovery of known parameters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irt_engine import InvalidResponses, Posterior, Priors, ResponseTable, fit
from irt_engine.fitting.everyday import Model
from irt_engine.simulate import all_cells, draw_votes, some_cells
from irt_engine.truth import draw_truth
from tests.environment import FULL
from tests.irt_engine.cast import everything, rebuilt, rows, small_board, start_of

MODELS = pytest.mark.parametrize("model", ["pair", "board"])


def same(left: Posterior, right: Posterior) -> bool:
    return left.to_bytes() == right.to_bytes()


@MODELS
def test_the_order_of_the_rows_does_not_matter(model: Model) -> None:
    table = small_board()
    order = np.random.default_rng(0).permutation(len(table))
    shuffled = rebuilt(table, {name: column[order] for name, column in rows(table).items()})
    assert same(fit(table, model), fit(shuffled, model))


def test_swapping_a_and_b_changes_nothing_on_the_board_but_the_orientation() -> None:
    table = small_board()
    columns = rows(table)
    columns["a"], columns["b"] = columns["b"], columns["a"]
    columns["outcome"] = -columns["outcome"]
    straight, swapped = fit(table), fit(rebuilt(table, columns))
    assert np.array_equal(straight.ability, swapped.ability)
    assert np.array_equal(straight.covariance, swapped.covariance)
    assert np.array_equal(straight.theta, -swapped.theta)
    assert [(c.a, c.b) for c in straight.comparisons] == [(c.b, c.a) for c in swapped.comparisons]


def test_turning_every_verdict_round_negates_the_board() -> None:
    table = small_board()
    columns = rows(table)
    columns["outcome"] = -columns["outcome"]
    straight, mirrored = fit(table), fit(rebuilt(table, columns))
    assert np.allclose(straight.ability, -mirrored.ability, atol=1e-6)
    assert np.allclose(straight.se, mirrored.se, atol=1e-6)


def test_the_pair_model_keeps_the_orientation_of_the_file() -> None:
    table = ResponseTable.from_votes(["z", "z"], ["a", "a"], ["p", "q"], [1, 1])
    found = fit(table, "pair")
    assert (found.comparisons[0].a, found.comparisons[0].b) == ("z", "a")
    assert found.theta[0] > 0
    assert found.chatbots == ()
    assert found.ability.shape == (0,)


def test_labels_make_separate_comparisons() -> None:
    table = ResponseTable.from_votes(["x"] * 4, ["y"] * 4, list("pqpq"), [1, 1, -1, -1], label=list("1122"))
    pair, board = fit(table, "pair"), fit(table, "board")
    assert [c.by for c in pair.comparisons] == ["1", "2"]
    assert pair.theta[0] > 0 > pair.theta[1]
    assert [c.by for c in board.comparisons] == ["1", "2"]
    assert board.theta[0] == pytest.approx(-board.theta[1])  # the labels' own effects, around one ability
    assert abs(board.ability[0]) < 1e-6


def test_separate_parts_are_numbered_by_size_and_centred_apart() -> None:
    table = ResponseTable.from_votes(
        ["a1", "b1", "b2", "b1", "b2"], ["a2", "b2", "b3", "b3", "b3"], list("ppqrs"), [1, 1, 1, 1, -1]
    )
    board = fit(table)
    assert board.group.tolist() == [2, 2, 1, 1, 1]
    assert abs(board.ability[:2].sum()) < 1e-9
    assert abs(board.ability[2:].sum()) < 1e-9
    assert board.rank_bounds()[:, 0].max() == 3


def test_an_entrant_without_votes_is_a_group_of_its_own_with_the_prior_spread() -> None:
    table = small_board()
    wider = ResponseTable((*table.chatbots, "zz-new"), table.prompts, (), **rows(table))
    board = fit(wider)
    assert board.group[-1] == 2
    assert board.ability[-1] == 0.0
    assert board.se[-1] == pytest.approx(Priors().ability_sd)


@MODELS
@pytest.mark.parametrize("votes", [1, 5, 400])
def test_a_chatbot_that_won_everything_is_finite_and_wide(model: Model, votes: int) -> None:
    table = ResponseTable.from_votes(
        ["winner"] * votes + ["x", "x"], ["x"] * votes + ["y", "y"], [f"p{i % 20}" for i in range(votes + 2)],
        [-1] * votes + [1, -1],
    )  # fmt: skip
    found = fit(table, model)
    k = next(i for i, c in enumerate(found.comparisons) if "winner" in (c.a, c.b))
    theta, se = abs(found.theta[k]), found.theta_se[k]
    assert 0.5 < theta < 12.0
    assert se > 0.4


def test_one_hundred_thousand_votes_on_one_cell_are_one_cell() -> None:
    n = 100_000
    table = ResponseTable.from_votes(["x"] * n, ["y"] * n, ["p"] * n, [1] * n)
    assert fit(table).cells == 1


@MODELS
@settings(max_examples=15 if FULL else 6)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3), st.integers(0, 2), st.integers(-1, 1)), min_size=1))
def test_any_votes_give_a_posterior_without_nan(model: Model, votes: list[tuple[int, int, int, int]]) -> None:
    table = ResponseTable.from_votes(
        [str(a) for a, _, _, _ in votes],
        [str((a + d) % 4) for a, d, _, _ in votes],
        [str(j) for _, _, j, _ in votes],
        [y for _, _, _, y in votes],
    )
    found = fit(table, model)  # Posterior itself refuses anything that is not finite
    assert (found.theta_se > 0).all()
    assert (np.diff(found.thresholds, axis=1) > 0).all()


@MODELS
def test_it_recovers_the_order_and_covers_the_truth(model: Model) -> None:
    """One fixed data set: 95 % intervals that miss more than a fifth of the truths would be absurd."""
    truth = draw_truth(12, 40, seed=5, model=model)
    pairs = {0: 1, 2: 3, 4: 5, 6: 7, 8: 9, 10: 11}
    cells = all_cells(12, 40)
    if model == "pair":
        cells = cells[[pairs.get(int(a)) == b for a, b, _ in cells]]
    found = fit(draw_votes(truth, cells, seed=6, form="net"), model)
    names = [(truth.chatbots.index(c.a), truth.chatbots.index(c.b)) for c in found.comparisons]
    true = np.array([truth.ability[b] - truth.ability[a] for a, b in names])
    assert np.corrcoef(true, found.theta)[0, 1] > 0.97
    assert (np.abs(found.theta - true) < 1.96 * found.theta_se).mean() >= 0.8
    assert np.corrcoef(np.log(truth.discrimination), np.log(found.discrimination))[0, 1] > 0.3


def test_a_known_order_is_used_and_the_board_stays_right() -> None:
    fair = draw_truth(6, 40, seed=1)
    truth = type(fair)(fair.ability, fair.discrimination, fair.thresholds, side=0.8)
    table = draw_votes(truth, some_cells(6, 40, 0.8, seed=2), seed=3)
    columns = rows(table)
    columns["a_first"] = np.full(len(table), -1)
    known, unknown = fit(table), fit(rebuilt(table, columns))
    true = truth.ability - truth.ability.mean()
    assert np.corrcoef(known.ability, true)[0, 1] > 0.95
    assert not np.array_equal(known.ability, unknown.ability)


def test_a_start_changes_the_way_and_not_the_end() -> None:
    table = everything(5, 20, seed=9)
    cold = fit(table)
    warm = fit(table, start=start_of(table))
    assert np.allclose(cold.ability, warm.ability, atol=2e-3)
    assert np.allclose(cold.se, warm.se, atol=2e-3)
    other = fit(table, start=start_of(table, "pair"))
    assert same(cold, other)


def test_prompts_of_their_own_for_every_row_share_their_parameters() -> None:
    truth = draw_truth(6, 3000, seed=4)
    cells = all_cells(6, 3000)[:: 3001 // 3]
    cells = np.column_stack([cells[:, :2], np.arange(len(cells))])
    board = fit(draw_votes(truth, cells, seed=5))
    assert np.allclose(board.discrimination, 1.0, atol=1e-4)
    assert (board.discrimination_se > 0.3).all()


def test_it_reports_progress() -> None:
    calls: list[tuple[int, int]] = []
    fit(small_board(), progress=lambda done, most: calls.append((done, most)))
    done = [done for done, _ in calls]
    assert done == sorted(done)
    assert {most for _, most in calls} == {100}
    assert done[-1] >= 80


@pytest.mark.parametrize("votes", [None, {"system_a": ["a"]}, "votes.csv"])
def test_votes_that_are_no_table_yet_are_refused_with_what_makes_one_of_them(votes: object) -> None:
    with pytest.raises(InvalidResponses) as caught:
        fit(votes)  # type: ignore[arg-type]
    assert (caught.value.code, "from_votes" in caught.value.hint) == ("not_a_table", True)


@pytest.mark.parametrize("seed", ["a", 1.5, None, -1, 2**63, True])
def test_a_seed_that_is_none_is_refused(seed: object) -> None:
    with pytest.raises(InvalidResponses) as caught:
        fit(small_board(), seed=seed)  # type: ignore[arg-type]
    assert caught.value.code == "bad_seed"


def test_it_refuses_an_unknown_model_and_a_prior_without_spread() -> None:
    with pytest.raises(InvalidResponses, match="unknown model"):
        fit(small_board(), "elo")  # type: ignore[arg-type]
    with pytest.raises(InvalidResponses, match="theta_sd"):
        Priors(theta_sd=float("nan"))
