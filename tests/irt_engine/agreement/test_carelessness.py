"""Careless and adversarial annotators are found without overlap; careful ones, and their ties, are not."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from irt_engine import Posterior, ResponseTable, fit
from irt_engine.agreement import Carelessness, GoldCounts, carelessness
from irt_engine.agreement.carelessness import LEAST_VOTES
from irt_engine.simulate import draw_votes, some_cells, with_careless
from irt_engine.truth import draw_truth

ANNOTATORS, CARELESS, ADVERSARY = 10, 0, 1


@pytest.fixture(scope="module")
def careful() -> ResponseTable:
    """One vote on each cell: no two annotators share one."""
    truth = draw_truth(5, 60, seed=1, form="vote")
    votes = draw_votes(truth, some_cells(5, 60, 1.0, seed=2), seed=3)
    return with_careless(votes, np.zeros(ANNOTATORS), seed=4)


def found_in(votes: ResponseTable) -> Carelessness:
    return carelessness(fit(votes, form="vote", annotators=True).marginal(), votes)


@cache
def fitted(votes: ResponseTable) -> Posterior:
    return fit(votes, form="vote").marginal()


def test_careless_and_adversarial_annotators_are_found_with_their_kind(careful: ResponseTable) -> None:
    random = np.random.default_rng(5).integers(-1, 2, len(careful))
    outcome = np.where(careful.annotator == CARELESS, random, careful.outcome)
    outcome = np.where(careful.annotator == ADVERSARY, -outcome, outcome)
    found = found_in(replace(careful, outcome=outcome))
    assert found.annotator[found.flagged].tolist() == [CARELESS, ADVERSARY]
    assert (found.kind[CARELESS], found.kind[ADVERSARY]) == ("careless", "adversarial")
    assert (found.probability[:2] > 0.95).all()
    assert found.stronger[ADVERSARY] < found.expected[ADVERSARY] - 5


def test_careful_annotators_are_not_flagged(careful: ResponseTable) -> None:
    found = found_in(careful)
    assert found.flagged.size == 0
    assert (found.probability < 0.5).all()
    assert found.stronger.sum() == pytest.approx(found.expected.sum(), rel=0.1)


def test_a_habit_of_ties_is_no_carelessness(careful: ResponseTable) -> None:
    posterior = fit(careful, form="vote").marginal()
    p = posterior.vote_probabilities(careful.a, careful.b, careful.prompt, careful.a_first)
    close = np.abs(p[:, 2] - p[:, 0]) < 0.5
    tied = replace(careful, outcome=np.where((careful.annotator == 0) & close, 0, careful.outcome))
    assert found_in(tied).flagged.size == 0


def test_few_votes_flag_nobody(careful: ResponseTable) -> None:
    posterior = fit(careful, form="vote").marginal()
    own = np.flatnonzero(careful.annotator == 0)[: LEAST_VOTES - 1]
    columns = {name: getattr(careful, name)[own] for name in ("a", "b", "prompt", "annotator", "a_first", "label")}
    found = carelessness(posterior, replace(careful, outcome=-careful.outcome[own], **columns))
    assert found.votes.tolist() == [LEAST_VOTES - 1]
    assert found.flagged.size == 0


def test_anonymous_votes_are_left_out(careful: ResponseTable) -> None:
    nobody = replace(careful, annotator=np.full(len(careful), -1))
    found = carelessness(fit(careful, form="vote").marginal(), nobody)
    assert found.annotator.size == found.flagged.size == len(found.kind) == 0


def test_haste_is_found_where_only_quick_votes_are_careless(careful: ResponseTable) -> None:
    random = np.random.default_rng(6)
    quick = (careful.annotator == CARELESS) & (random.random(len(careful)) < 0.6)
    outcome = np.where(quick, random.integers(-1, 2, len(careful)), careful.outcome)
    votes = replace(careful, outcome=outcome)
    posterior = fit(votes, form="vote", annotators=True).marginal()
    seconds = np.where(quick, 1.0, random.uniform(8.0, 30.0, len(careful)))
    found, blind = carelessness(posterior, votes, seconds=seconds), carelessness(posterior, votes)
    assert found.kind[CARELESS] == "hasty"
    assert found.log_e[CARELESS] > blind.log_e[CARELESS] + 1.0
    assert carelessness(posterior, votes, seconds=np.full(len(votes), np.nan)).log_e.tolist() == blind.log_e.tolist()


def test_quick_careful_votes_are_no_haste(careful: ResponseTable) -> None:
    posterior = fit(careful, form="vote").marginal()
    found = carelessness(posterior, careful, seconds=np.where(careful.annotator == 0, 1.0, 20.0))
    assert found.flagged.size == 0


def test_failed_gold_adds_evidence_and_passed_gold_takes_some_away(careful: ResponseTable) -> None:
    posterior = fit(careful, form="vote").marginal()
    without = carelessness(posterior, careful)
    found = carelessness(posterior, careful, gold=GoldCounts(0.8, {0: (0, 8), 1: (8, 8)}))
    assert found.log_e[0] > without.log_e[0] + 5.0
    assert found.log_e[1] < without.log_e[1]
    assert found.log_e[2:].tolist() == without.log_e[2:].tolist()


@given(mark=st.floats(0.05, 1.0), careful_passes=st.floats(0.0, 1.0), given_items=st.integers(1, 6))
def test_gold_of_careful_annotators_has_a_likelihood_ratio_of_mean_one_at_most(
    careful: ResponseTable, mark: float, careful_passes: float, given_items: int
) -> None:
    """The law behind the bound on false flags: E G <= 1 for whoever passes a share of `mark` or more."""
    own = np.flatnonzero(careful.annotator == 0)[:1]
    columns = {name: getattr(careful, name)[own] for name in ("a", "b", "prompt", "annotator", "a_first", "label")}
    one_vote = replace(careful, outcome=careful.outcome[own], **columns)
    posterior = fitted(careful)
    p = min(mark, 0.99) + (1.0 - min(mark, 0.99)) * careful_passes
    base = carelessness(posterior, one_vote).log_e[0]
    ratios = [
        np.exp(carelessness(posterior, one_vote, gold=GoldCounts(mark, {0: (k, given_items)})).log_e[0] - base)
        for k in range(given_items + 1)
    ]
    chances = np.asarray(binom.pmf(np.arange(given_items + 1), given_items, p))
    assert chances @ np.array(ratios) <= 1.0 + 1e-9
