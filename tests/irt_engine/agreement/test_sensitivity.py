"""A board without its most influential annotators moves about as far as a new fit says."""

from dataclasses import replace

import numpy as np
import pytest

from irt_engine import Posterior, ResponseTable, fit
from irt_engine.agreement import sensitivity_of
from irt_engine.agreement.sensitivity import change_without
from irt_engine.simulate import draw_votes, some_cells
from irt_engine.truth import draw_truth
from tests.irt_engine.cast import rebuilt, rows

ANNOTATORS, SHILLS = 30, 2


@pytest.fixture(scope="module")
def table() -> ResponseTable:
    """Votes of thirty annotators, of whom two always prefer the weakest chatbot."""
    truth = draw_truth(4, 60, seed=1, form="vote")
    votes = draw_votes(truth, some_cells(4, 60, 1.0, seed=2), seed=3)
    annotator = np.random.default_rng(4).integers(0, ANNOTATORS, len(votes))
    weak, shill = int(np.argmin(truth.ability)), annotator < SHILLS
    outcome = np.where(shill & (votes.a == weak), -1, np.where(shill & (votes.b == weak), 1, votes.outcome))
    return replace(votes, annotator=annotator, outcome=outcome)


@pytest.fixture(scope="module")
def posterior(table: ResponseTable) -> Posterior:
    return fit(table, form="vote").marginal()


def without(table: ResponseTable, who: tuple[int, ...]) -> ResponseTable:
    keep = ~np.isin(table.annotator, who)
    return rebuilt(table, {name: column[keep] for name, column in rows(table).items()})


def test_change_is_about_that_of_a_new_fit(table: ResponseTable, posterior: Posterior) -> None:
    found = sensitivity_of(posterior, table)
    assert found is not None
    who, change = change_without(posterior, table)
    for left_out in (found.who, (0, 1)):
        exact = fit(without(table, left_out), form="vote").marginal().ability - posterior.ability
        guess = change[np.isin(who, left_out)].sum(axis=0)
        assert np.corrcoef(exact, guess)[0, 1] > 0.8
        assert 0.5 < (exact @ guess) / (guess @ guess) < 2.0, left_out


def test_most_influential_include_those_who_always_prefer_one(table: ResponseTable, posterior: Posterior) -> None:
    found = sensitivity_of(posterior, table)
    assert found is not None
    assert found.dropped == 5
    assert set(range(SHILLS)) <= set(found.who)
    assert found.shift_se == pytest.approx(found.shift / np.sqrt(posterior.covariance[found.chatbot, found.chatbot]))


def test_few_annotators_have_no_sensitivity(table: ResponseTable, posterior: Posterior) -> None:
    assert sensitivity_of(posterior, without(table, tuple(range(6)))) is None
    unknown = replace(table, annotator=np.full(len(table), -1))
    assert sensitivity_of(posterior, unknown) is None


def test_numbers_of_annotators_do_not_matter(table: ResponseTable, posterior: Posterior) -> None:
    found = sensitivity_of(posterior, table)
    again = sensitivity_of(posterior, replace(table, annotator=100 - table.annotator))
    assert found is not None
    assert again is not None
    assert (again.shift, again.swaps, {100 - one for one in again.who}) == (found.shift, found.swaps, set(found.who))
