"""Annotators who prefer one chatbot without looking are found, alone and together; honest ones are not."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irt_engine import EngineError, Posterior, ResponseTable, fit
from irt_engine.agreement import one_sided
from irt_engine.agreement.collusion import bursts, evenly_timed, group_evidence, preferences
from irt_engine.simulate import draw_votes, some_cells
from irt_engine.truth import draw_truth

ANNOTATORS, SHILLS, WEAK = 20, 3, 2


@pytest.fixture(scope="module")
def honest() -> ResponseTable:
    truth = draw_truth(4, 50, seed=1, form="vote")
    votes = draw_votes(truth, some_cells(4, 50, 1.0, seed=2), seed=3, votes=2)
    return replace(votes, annotator=np.random.default_rng(4).integers(0, ANNOTATORS, len(votes)))


@pytest.fixture(scope="module")
def bought(honest: ResponseTable) -> ResponseTable:
    """Three of the twenty annotators always prefer the weakest chatbot, and judge all other pairs honestly."""
    shill = honest.annotator < SHILLS
    outcome = np.where(shill & (honest.a == WEAK), -1, np.where(shill & (honest.b == WEAK), 1, honest.outcome))
    return replace(honest, outcome=outcome)


@pytest.fixture(scope="module")
def posterior(bought: ResponseTable) -> Posterior:
    return fit(bought, form="vote").marginal()


def test_coalition_is_flagged_with_its_target(bought: ResponseTable, posterior: Posterior) -> None:
    found = one_sided(posterior, bought)
    assert [one.annotator for one in found] == list(range(SHILLS))
    assert {one.chatbot for one in found} == {WEAK}
    assert {one.together for one in found} == {SHILLS}
    assert all(one.won == one.votes > one.expected for one in found)


def test_honest_annotators_are_not_flagged(honest: ResponseTable) -> None:
    assert one_sided(fit(honest, form="vote").marginal(), honest) == ()


def test_group_has_more_evidence_than_any_member(bought: ResponseTable, posterior: Posterior) -> None:
    found = preferences(posterior, bought)
    group = group_evidence(found, len(bought.chatbots))
    assert int(np.argmax(group)) == WEAK
    assert group[WEAK] > found.log_e.max()
    assert (np.delete(group, WEAK) < 1.0).all()


def test_each_vote_counts_for_both_chatbots(bought: ResponseTable, posterior: Posterior) -> None:
    found = preferences(posterior, bought)
    assert found.votes.sum() == 2 * len(bought)
    assert found.won.sum() == (bought.outcome != 0).sum()
    assert found.z[(found.chatbot == WEAK) & (found.annotator < SHILLS)].min() > 2.0


def test_larger_tastes_are_weaker_evidence(bought: ResponseTable, posterior: Posterior) -> None:
    own = slice(0, SHILLS)
    small, large = (preferences(posterior, bought, taste_sd=sd) for sd in (0.1, 1.0))
    rows = (small.chatbot == WEAK) & (small.annotator < SHILLS)
    assert (small.log_e[rows] > large.log_e[rows])[own].all()


@settings(max_examples=10, deadline=None)
@given(shift=st.integers(1, 1000))
def test_numbers_of_annotators_do_not_matter(bought: ResponseTable, posterior: Posterior, shift: int) -> None:
    again = one_sided(posterior, replace(bought, annotator=bought.annotator + shift))
    assert [one.annotator - shift for one in again] == list(range(SHILLS))


def test_votes_of_unknown_annotators_flag_nobody(bought: ResponseTable, posterior: Posterior) -> None:
    assert one_sided(posterior, replace(bought, annotator=np.full(len(bought), -1))) == ()


def test_bad_taste_is_refused(bought: ResponseTable, posterior: Posterior) -> None:
    with pytest.raises(EngineError, match="SD of tastes"):
        preferences(posterior, bought, taste_sd=-1.0)


def first_votes(table: ResponseTable, count: int) -> ResponseTable:
    """Return the votes of all honest annotators, and the first ones of two members of the coalition."""
    members = np.flatnonzero(table.annotator < 2)[:count]
    rows = np.sort(np.concatenate([members, np.flatnonzero(table.annotator >= SHILLS)]))
    names = ("a", "b", "prompt", "outcome", "annotator", "a_first", "label")
    return replace(table, **{name: getattr(table, name)[rows] for name in names})


def test_known_group_needs_less_evidence(bought: ResponseTable, posterior: Posterior) -> None:
    sooner = 0
    for count in range(10, 60, 5):
        early = first_votes(bought, count)
        alone = {one.annotator for one in one_sided(posterior, early)}
        together = {one.annotator for one in one_sided(posterior, early, groups=[{0, 1}])}
        assert alone <= together <= {0, 1}
        sooner += alone < together
    assert sooner > 0


def test_honest_group_is_not_flagged(honest: ResponseTable) -> None:
    fitted = fit(honest, form="vote").marginal()
    assert one_sided(fitted, honest, groups=[set(range(10)), {11, 12}]) == ()


def test_burst_of_arrivals_is_a_group() -> None:
    steady = [number * 7200.0 for number in range(40)]
    burst = [100_000.0 + 60.0 * number for number in range(12)]
    (found,) = bursts(burst + steady)
    assert set(range(12)) <= set(found)
    assert len(found) <= 14
    assert bursts(steady) == []
    assert bursts([1.0, 2.0]) == []


def test_steady_crowd_is_no_burst() -> None:
    rng = np.random.default_rng(1)
    assert sum(bool(bursts(rng.uniform(0, 86_400.0 * 3, 200).tolist())) for _ in range(50)) <= 2


def test_even_times_are_a_programs() -> None:
    rng = np.random.default_rng(2)
    people = [rng.lognormal(2.5, 0.5, 30).tolist() for _ in range(20)]
    program = [8.0 + 0.1 * number for number in range(12)]
    assert evenly_timed([*people, program, program[:5], []]) == [20]
