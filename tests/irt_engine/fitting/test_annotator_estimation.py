"""Annotator effects: careless annotators weigh little, habits are found, and nobody else's board changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irt_engine import FitResult, InvalidResponses, ResponseTable, fit, fit_with_warm_start
from irt_engine.agreement import without
from irt_engine.arrays import IntArray
from irt_engine.models import AnnotatorEffects, annotators_assessable
from irt_engine.responses.cells import cells_of, compare, separate_cells
from irt_engine.simulate import draw_votes, some_cells, with_careless
from irt_engine.truth import Truth, draw_truth
from tests.irt_engine.cast import rebuilt, rows, small_board

CARELESS = np.r_[0.9, 0.9, np.zeros(8)]


def fitted(table: ResponseTable, **options: Any) -> FitResult:
    return fit_with_warm_start(table, form="vote", annotators=True, **options)


def effects(found: FitResult) -> AnnotatorEffects:
    assert found.annotators is not None
    return found.annotators


@pytest.fixture(scope="module")
def truth() -> Truth:
    return draw_truth(6, 15, seed=1, form="vote")


@pytest.fixture(scope="module")
def clean(truth: Truth) -> ResponseTable:
    return draw_votes(truth, some_cells(6, 15, 0.8, seed=2), seed=3, votes=2)


@pytest.fixture(scope="module")
def votes(clean: ResponseTable) -> ResponseTable:
    """Ten annotators, two of them careless nine times in ten."""
    return with_careless(clean, CARELESS, seed=4)


@pytest.fixture(scope="module")
def found(votes: ResponseTable) -> FitResult:
    return fitted(votes)


def test_careless_annotators_are_found_and_nobody_else(found: FitResult) -> None:
    of = effects(found)
    assert (of.careless[:2] > 0.5).all()
    assert (of.careless[2:] < 0.35).all()
    assert (np.abs(of.careless - CARELESS) < 2.5 * of.careless_se).all()


def test_careless_votes_count_for_little(found: FitResult, votes: ResponseTable) -> None:
    of, theirs = effects(found), votes.annotator < 2
    assert of.careful[theirs].mean() < 0.5 < 0.8 < of.careful[~theirs].mean()
    assert of.information[theirs].mean() < 0.4
    assert (of.information > 0.0).all()
    assert np.array_equal(of.votes, np.bincount(votes.annotator))


def test_board_is_nearer_to_the_truth(found: FitResult, votes: ResponseTable, truth: Truth) -> None:
    ignoring = fit(votes, form="vote")
    true = truth.ability - truth.ability.mean()
    assert np.abs(found.posterior.ability - true).mean() < np.abs(ignoring.ability - true).mean()


def test_without_careless_annotators_the_board_is_that_of_a_plain_fit(clean: ResponseTable) -> None:
    votes = with_careless(clean, np.zeros(10), seed=4)
    found, plain = fitted(votes), fit(votes, form="vote")
    assert effects(found).mean < 0.15
    assert np.abs((found.posterior.ability - plain.ability) / plain.se).max() < 0.75
    assert found.posterior.se.mean() == pytest.approx(plain.se.mean(), rel=0.1)


@pytest.fixture(scope="module")
def many(truth: Truth) -> ResponseTable:
    """Votes of ten careful annotators, with known orders."""
    clean = draw_votes(truth, some_cells(6, 15, 1.0, seed=2), seed=3, votes=6)
    columns = rows(with_careless(clean, np.zeros(10), seed=4))
    columns["a_first"] = np.random.default_rng(5).integers(0, 2, len(clean))
    return rebuilt(clean, columns)


def saying(votes: ResponseTable, outcome: IntArray) -> ResponseTable:
    return rebuilt(votes, rows(votes) | {"outcome": outcome})


def test_a_habit_of_ties_is_no_carelessness(many: ResponseTable, truth: Truth) -> None:
    close = np.abs(truth.ability[many.a] - truth.ability[many.b]) < 1.5
    of = effects(fitted(saying(many, np.where((many.annotator == 0) & close, 0, many.outcome))))
    assert of.tie[0] > 3 * of.tie_se[0]
    assert of.tie[0] > of.tie[1:].max()
    assert of.careless[0] < 0.5


def test_a_bias_toward_the_first_reply_is_found(many: ResponseTable, truth: Truth) -> None:
    close = np.abs(truth.ability[many.a] - truth.ability[many.b]) < 1.5
    first = np.where(many.a_first == 1, -1, 1)
    of = effects(fitted(saying(many, np.where((many.annotator == 0) & close, first, many.outcome))))
    assert of.side[0] > of.side_se[0]
    assert of.side[0] > of.side[1:].max()


def test_a_preference_for_one_chatbot_is_found(many: ResponseTable, truth: Truth) -> None:
    said, weakest, mine = many.outcome.copy(), int(truth.ability.argmin()), many.annotator == 0
    said[mine & (many.a == weakest)], said[mine & (many.b == weakest)] = -1, 1
    of = effects(fitted(saying(many, said)))
    pair = (of.preferring == 0) & (of.preferred == weakest)
    assert of.preference_probability[pair].item() == of.preference_probability.max() > 0.9
    assert of.expected_preference(np.array([0]), np.array([weakest]))[0] > 0.5
    assert of.expected_preference(np.array([99]), np.array([weakest]))[0] == 0.0


def test_neither_the_order_of_rows_nor_which_of_two_is_called_a_matters(found: FitResult, votes: ResponseTable) -> None:
    rng = np.random.default_rng(0)
    order, swap = rng.permutation(len(votes)), rng.random(len(votes)) < 0.5
    columns = {name: column[order] for name, column in rows(votes).items()}
    mixed = fitted(rebuilt(votes, columns))
    assert np.array_equal(mixed.posterior.covariance, found.posterior.covariance)
    assert np.array_equal(effects(mixed).careless, effects(found).careless)
    assert np.array_equal(effects(mixed).careful, effects(found).careful[order])
    columns = rows(votes)
    columns["a"], columns["b"] = np.where(swap, votes.b, votes.a), np.where(swap, votes.a, votes.b)
    columns["outcome"] = np.where(swap, -votes.outcome, votes.outcome)
    turned = fitted(rebuilt(votes, columns))
    assert turned.posterior.ability == pytest.approx(found.posterior.ability, abs=1e-9)
    assert effects(turned).careless == pytest.approx(effects(found).careless, abs=1e-9)


@settings(max_examples=5, deadline=None)
@given(st.permutations(range(10)))
def test_names_of_annotators_change_nothing(order: list[int]) -> None:
    truth = draw_truth(4, 6, seed=1, form="vote")
    clean = draw_votes(truth, some_cells(4, 6, 1.0, seed=2), seed=3, votes=2)
    votes = with_careless(clean, CARELESS, seed=4)
    columns = rows(votes)
    columns["annotator"] = 7 + 3 * np.array(order)[votes.annotator]
    before, after = fitted(votes), fitted(rebuilt(votes, columns))
    assert after.posterior.ability == pytest.approx(before.posterior.ability, abs=1e-9)
    assert effects(after).careless[np.argsort(np.argsort(order))] == pytest.approx(effects(before).careless, abs=1e-9)


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 9), st.integers(0, 9))
def test_an_annotator_whose_votes_are_all_excluded_changes_nothing(excluded: int, number: int) -> None:
    """Neither does a prompt that nobody else judged, nor a number without votes."""
    truth = draw_truth(4, 6, seed=1, form="vote")
    clean = draw_votes(truth, some_cells(4, 6, 1.0, seed=2), seed=3, votes=2)
    columns = rows(with_careless(clean, CARELESS, seed=4))
    others = rebuilt(clean, {name: column[columns["annotator"] != excluded] for name, column in columns.items()})
    added = {
        "a": 0,
        "b": 1,
        "prompt": len(clean.prompts),
        "outcome": 1,
        "annotator": excluded,
        "a_first": -1,
        "label": 0,
    }
    prompts = (*clean.prompts, "z only one annotator judged it")
    columns = {name: np.append(column, added[name]) for name, column in columns.items()}
    remaining = without(ResponseTable(clean.chatbots, prompts, clean.labels, **columns), [excluded, 10 + number])
    before, after = fitted(others), fitted(remaining)
    assert excluded not in effects(after).annotator
    assert len(after.posterior.prompts) == len(before.posterior.prompts) + 1
    assert after.posterior.ability == pytest.approx(before.posterior.ability, abs=1e-9)
    assert after.posterior.se == pytest.approx(before.posterior.se, abs=1e-9)
    assert effects(after).careless == pytest.approx(effects(before).careless, abs=1e-9)


def test_a_warm_start_changes_nothing(found: FitResult, votes: ResponseTable) -> None:
    again = fitted(votes, start=found.warm_start)
    far = np.abs(again.posterior.ability - found.posterior.ability) / found.posterior.se
    assert far.max() < 1e-6
    assert np.array_equal(effects(again).careless, effects(found).careless)


def test_tiers_keep_each_vote_in_its_cell(found: FitResult, votes: ResponseTable) -> None:
    tiered = fitted(votes, tiers=[0, 0, 0, 1, 1, 1])
    assert np.abs(tiered.posterior.ability - found.posterior.ability).max() < found.posterior.se.min()
    assert effects(tiered).careless[:2].min() > effects(tiered).careless[2:].max()


def test_anonymous_votes_are_careful(votes: ResponseTable) -> None:
    columns = rows(votes)
    columns["annotator"][votes.annotator == 0] = -1
    of = effects(fitted(rebuilt(votes, columns)))
    assert np.array_equal(of.annotator, np.arange(1, 10))
    assert (of.careful[votes.annotator == 0] == 1.0).all()
    assert (of.information[votes.annotator == 0] == 1.0).all()


def test_without_annotators_there_is_an_error() -> None:
    with pytest.raises(InvalidResponses, match="no vote has an annotator") as caught:
        fitted(small_board())
    assert caught.value.hint


def test_net_ratings_have_no_annotators(votes: ResponseTable) -> None:
    with pytest.raises(InvalidResponses, match="net ratings") as caught:
        fit(votes, annotators=True)
    assert caught.value.code == "form_without_annotators"


@pytest.mark.parametrize("model", ["pair", "board"])
def test_a_single_vote_of_a_single_annotator_has_an_answer(model: str) -> None:
    table = ResponseTable.from_votes(["x"], ["y"], ["p"], [1], annotator_id=["alice"])
    found = fitted(table, model="pair" if model == "pair" else "board")
    assert found.posterior.converged
    assert 0.0 < effects(found).careless[0] < 0.5
    assert effects(found).careless_se[0] > 0.05


def test_the_pair_model_finds_them_too(votes: ResponseTable) -> None:
    of = effects(fitted(votes, model="pair"))
    assert of.careless[:2].min() > of.careless[2:].max()


def test_annotators_are_assessable_from_five_votes_in_the_median() -> None:
    assert annotators_assessable(np.repeat([0, 1, 4, -1], [5, 6, 1, 30]))
    assert not annotators_assessable(np.repeat([0, 1, 4], [4, 6, 1]))
    assert not annotators_assessable(np.repeat([3], [50]))
    assert not annotators_assessable(np.full(9, -1))


def test_separate_cells_are_the_cells_before_equal_ones_are_merged() -> None:
    table = draw_votes(draw_truth(5, 12, seed=0, side_sd=0.5), some_cells(5, 12, 0.3, seed=1), seed=2, votes=2)
    index = compare(table)[1]
    merged, (separate, cell) = cells_of(table, index, votes=True), separate_cells(table, index)
    own = merged.slot != merged.shared
    for name in ("comparison", "slot", "counts", "side"):
        assert np.array_equal(getattr(separate, name)[: own.sum()], getattr(merged, name)[own])
    assert separate.total == merged.total == merged.weight.sum()
    assert np.array_equal(np.bincount(cell), separate.counts.sum(axis=1))
    assert np.array_equal(separate.comparison[cell], index)


@pytest.mark.parametrize("careless", [np.array([]), np.array([1.2]), np.array([-0.1])])
def test_shares_of_careless_votes_are_checked(careless: np.ndarray, clean: ResponseTable) -> None:
    with pytest.raises(InvalidResponses, match="careless"):
        with_careless(clean, careless, seed=0)
