"""Marginal logits: another unit for the same beliefs, in which few votes and many put a board on one scale."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

from irt_engine import Posterior, Priors, ResponseTable, fit
from irt_engine.arrays import FloatArray, IntArray
from irt_engine.models.logit_units import unit_of
from irt_engine.quadrature import NODES, normal_nodes
from irt_engine.simulate import all_cells, draw_votes
from irt_engine.truth import draw_truth
from tests.environment import FULL

PRIORS = Priors(cell_sd=0.25, pair_sd=0.1, shared_width=0.5)
CELLS = all_cells(5, 60)


@cache
def board() -> Posterior:
    return fit(votes(), form="vote", priors=PRIORS)


def votes() -> ResponseTable:
    truth = draw_truth(5, 60, seed=1, form="vote", priors=PRIORS, pair_sd=0.1, cell_sd=0.25, reply_sd=0.7)
    return draw_votes(truth, CELLS, seed=1)


@given(gap=st.floats(-2.0, 2.0), fresh=st.floats(0.0, 2.5))
def test_a_difference_is_nearly_the_log_odds_of_a_vote_on_replies_that_are_not_known(gap: float, fresh: float) -> None:
    """Within 7 % where what is shared is wide, as Zeger, Liang & Albert's approximation is; ties are left out."""
    nodes, weights = normal_nodes(3 * NODES)
    chance = float(expit(gap + fresh * nodes) @ weights)
    assert logit(chance) == pytest.approx(gap / unit_of(fresh), rel=0.07, abs=1e-9)


def test_what_is_said_of_votes_does_not_depend_on_the_unit() -> None:
    found = board()
    marginal = found.marginal()
    assert marginal.scales.unit == pytest.approx(unit_of(found.scales.fresh))
    a, b, prompt = CELLS[::7].T
    assert marginal.vote_probabilities(a, b, prompt) == pytest.approx(found.vote_probabilities(a, b, prompt), abs=1e-12)
    new = np.full(len(a), -1)
    assert marginal.vote_probabilities(a, b, new) == pytest.approx(found.vote_probabilities(a, b, new), abs=1e-9)
    assert marginal.scales.fresh == pytest.approx(found.scales.fresh)
    assert marginal.ability * marginal.scales.unit == pytest.approx(found.ability)
    assert marginal.differences().p_better == pytest.approx(found.differences().p_better)


def test_what_is_in_marginal_logits_stays_so_and_is_kept_in_its_bytes() -> None:
    marginal = board().marginal()
    assert marginal.marginal() is marginal
    again = Posterior.from_bytes(marginal.to_bytes())
    assert again.scales == marginal.scales
    assert again.marginal().ability == pytest.approx(marginal.ability)


def test_bytes_from_before_there_were_units_are_read_as_what_a_fit_leaves() -> None:
    found = board()
    assert Posterior.from_bytes(found.to_bytes()).scales.unit == 1.0
    without = replace(found, scales=replace(found.scales, cell=None, reply=None))
    assert without.marginal().ability == pytest.approx(without.ability)


@pytest.mark.filterwarnings("ignore::irt_engine.EngineWarning")  # where a few votes do not tell the SDs
def test_few_votes_and_many_put_a_board_on_one_scale() -> None:
    """Replies of SD 2, of which a ninth of single votes cannot tell how wide they are, some say .9 and some 2.8."""
    cells, apart, marginal = all_cells(8, 100), [], []
    for seed in range(5 if FULL else 3):
        truth = draw_truth(8, 100, seed=seed, form="vote", priors=PRIORS, pair_sd=0.1, cell_sd=0.25, reply_sd=2.0)
        mixed: IntArray = np.random.default_rng(seed).permutation(cells)
        few, many = (fit(draw_votes(truth, mixed[:n], seed=seed), form="vote", priors=PRIORS) for n in (300, 2800))
        apart.append(few.ability.std() / many.ability.std())
        marginal.append(few.marginal().ability.std() / many.marginal().ability.std())
    assert rms(np.log(marginal)) < 0.8 * rms(np.log(apart))


def rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2)))
