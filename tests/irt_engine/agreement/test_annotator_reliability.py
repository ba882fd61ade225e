"""reliability: who votes without looking is found out, and the board is what it would have been without them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from irt_engine import InvalidResponses, Posterior, ResponseTable, fit
from irt_engine.agreement.annotator_reliability import Reliability, fit_reliability
from irt_engine.arrays import FloatArray
from irt_engine.responses.cells import cells_of, compare, separate_cells
from irt_engine.simulate import draw_votes, some_cells, with_careless
from irt_engine.truth import Truth, draw_truth
from tests.irt_engine.cast import rebuilt, rows, small_board

CARELESS = np.r_[0.9, 0.9, np.zeros(8)]
Fitted = tuple[Posterior, Reliability]


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
def found(votes: ResponseTable) -> Fitted:
    return fit_reliability(votes)


def test_careless_annotators_are_found_out_and_nobody_else(found: Fitted) -> None:
    reliability = found[1]
    assert (reliability.careless[:2] > 0.5).all()
    assert (reliability.careless[2:] < 0.35).all()
    assert (np.abs(reliability.careless - CARELESS) < 2.5 * reliability.careless_se).all()


def test_their_votes_count_for_little_and_tell_less(found: Fitted, votes: ResponseTable) -> None:
    reliability = found[1]
    of_careless = votes.annotator < 2
    assert reliability.careful[of_careless].mean() < 0.5 < 0.8 < reliability.careful[~of_careless].mean()
    assert reliability.information[of_careless].mean() < 0.3
    assert ((reliability.information > 0.0) & (reliability.information <= 1.0)).all()
    assert np.array_equal(reliability.votes, np.bincount(votes.annotator))


def test_the_board_comes_nearer_to_the_truth_and_is_less_sure_than_with_votes_that_all_count(
    found: Fitted, votes: ResponseTable, truth: Truth
) -> None:
    ignoring = fit(votes, form="vote")
    true = truth.ability - truth.ability.mean()
    assert np.abs(found[0].ability - true).mean() < np.abs(ignoring.ability - true).mean()
    assert (found[0].se > ignoring.se).all()


def test_among_careful_annotators_the_board_is_that_of_a_plain_fit(clean: ResponseTable) -> None:
    votes = with_careless(clean, np.zeros(10), seed=4)
    posterior, reliability = fit_reliability(votes)
    plain = fit(votes, form="vote")
    assert reliability.mean < 0.1
    assert np.abs((posterior.ability - plain.ability) / plain.se).max() < 0.75


def test_neither_the_order_of_rows_nor_which_of_two_is_called_a_matters(found: Fitted, votes: ResponseTable) -> None:
    rng = np.random.default_rng(0)
    order, swap = rng.permutation(len(votes)), rng.random(len(votes)) < 0.5
    columns = {name: column[order] for name, column in rows(votes).items()}
    mixed, reliability = fit_reliability(rebuilt(votes, columns))
    assert np.array_equal(mixed.covariance, found[0].covariance)
    assert np.array_equal(reliability.careless, found[1].careless)
    assert np.array_equal(reliability.careful, found[1].careful[order])
    columns = rows(votes)
    columns["a"], columns["b"] = np.where(swap, votes.b, votes.a), np.where(swap, votes.a, votes.b)
    columns["outcome"] = np.where(swap, -votes.outcome, votes.outcome)
    turned, reliability = fit_reliability(rebuilt(votes, columns))
    assert np.array_equal(turned.ability, found[0].ability)
    assert np.array_equal(reliability.careless, found[1].careless)


def test_votes_without_a_name_are_careful(votes: ResponseTable) -> None:
    columns = rows(votes)
    columns["annotator"][votes.annotator == 0] = -1
    reliability = fit_reliability(rebuilt(votes, columns))[1]
    assert np.array_equal(reliability.annotator, np.arange(1, 10))
    assert (reliability.careful[votes.annotator == 0] == 1.0).all()
    assert (reliability.information[votes.annotator == 0] == 1.0).all()


def test_without_any_names_there_is_nothing_to_learn() -> None:
    with pytest.raises(InvalidResponses, match="no vote has an annotator") as caught:
        fit_reliability(small_board())
    assert caught.value.hint


@pytest.mark.parametrize("model", ["pair", "board"])
def test_a_single_vote_of_a_single_annotator_has_an_answer(model: str) -> None:
    table = ResponseTable.from_votes(["x"], ["y"], ["p"], [1], annotator_id=["alice"])
    posterior, reliability = fit_reliability(table, "pair" if model == "pair" else "board")
    assert posterior.converged
    assert 0.0 < reliability.careless[0] < 0.5
    assert reliability.careless_se[0] > 0.05


def test_the_pair_model_finds_them_too(votes: ResponseTable) -> None:
    reliability = fit_reliability(votes, "pair")[1]
    assert reliability.careless[:2].min() > reliability.careless[2:].max()


def test_the_prior_s_gradient_is_the_finite_difference(votes: ResponseTable, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is handed to the search for the most likely prior."""
    found: list[tuple[float, float]] = []

    def noted(loss: Callable[..., Any], start: FloatArray, args: tuple[Any, ...], **options: Any) -> Any:
        at = start + np.array([0.5, -0.4])
        for step, slope in zip(1e-5 * np.eye(2), loss(at, *args)[1], strict=True):
            found.append((slope, (loss(at + step, *args)[0] - loss(at - step, *args)[0]) / 2e-5))
        return minimize(loss, start, args, **options)

    monkeypatch.setattr("irt_engine.agreement.annotator_reliability.minimize", noted)
    fit_reliability(votes)
    told, expected = np.array(found).T
    assert len(told) > 2
    assert told == pytest.approx(expected, rel=1e-5, abs=1e-5)


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
