"""scales: what the SDs of effects are learned from, and what their scores owe to the means."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irt_engine import Priors, ResponseTable, fit
from irt_engine.arrays import FloatArray
from irt_engine.fitting import observed_information
from irt_engine.fitting.design import design
from irt_engine.models.effects import MOST_SLOPES, Effects
from irt_engine.models.parameters import Point
from tests.irt_engine.cast import random_votes

CAMPAIGN = Priors(cell_sd=0.25, pair_sd=0.1, shared_width=0.5)


@pytest.fixture(scope="module")
def effects() -> Effects:
    """Of a board with replies, and with prompts that were met once."""
    made = design(random_votes(5, 40, 120, seed=1), "board", "vote", Priors())
    assert made.effects.shared >= 0
    assert made.effects.replies is not None
    return made.effects


@pytest.fixture(scope="module")
def point(effects: Effects) -> Point:
    rng = np.random.default_rng(2)
    return Point(rng.normal(0.0, 0.3, effects.shared_size), rng.normal(0.0, 0.3, effects.shape))


def scores(effects: Effects, point: Point) -> FloatArray:
    """By log SD, without what the cells add to them themselves."""
    variance = np.full(effects.shared_size, 0.05), np.full(effects.shape, 0.05)
    return effects.scores(effects.start(), point, *variance, np.zeros((2, 2)))[0]


def test_what_all_discriminations_share_says_nothing_of_their_spread(effects: Effects, point: Point) -> None:
    shifted = Point(point.z, point.phi.copy())
    shifted.phi[:, 0] += 0.7
    assert scores(effects, shifted) == pytest.approx(scores(effects, point), abs=1e-9)
    wider = Point(point.z, point.phi.copy())
    wider.phi[:, 0] *= 1.5
    other = np.flatnonzero(np.abs(scores(effects, wider) - scores(effects, point)) > 1e-9)
    assert [effects.groups[index].name for index in other] == ["log_discrimination"]


def test_a_score_follows_the_means_as_it_is_said_to(effects: Effects, point: Point) -> None:
    rng = np.random.default_rng(3)
    step = Point(rng.normal(size=effects.shared_size), rng.normal(size=effects.shape))
    near = 1e-6
    rise = (scores(effects, point.moved(step, near)) - scores(effects, point.moved(step, -near))) / (2 * near)
    others = [index for index in effects.learnable if not effects.is_cell(index)]
    assert len(others) >= 3
    for index in others:
        read = effects.score_gradient(index, effects.gradient_shift(index, effects.start(), point))
        assert rise[index] == pytest.approx(float(read.z @ step.z + (read.phi * step.phi).sum()), rel=1e-6)


@pytest.mark.parametrize("sd", [0.2, 0.5, 1.5])
def test_scores_of_discriminations_are_nothing_on_average_at_their_own_sd(effects: Effects, sd: float) -> None:
    """Effects drawn from their own prior, known exactly: of n deviations from a mean n - 1 are free."""
    index = [group.name for group in effects.groups].index("log_discrimination")
    log_sd = effects.start()
    log_sd[index] = np.log(sd)
    rng, found = np.random.default_rng(4), []
    pull = (np.log(effects.groups[index].sd) - np.log(sd)) * effects.groups[index].width ** -2.0
    for _ in range(2500):
        drawn = Point(np.zeros(effects.shared_size), rng.normal(0.0, sd, effects.shape))
        nothing = np.zeros(effects.shared_size), np.zeros(effects.shape)
        found.append(effects.scores(log_sd, drawn, *nothing, np.zeros((2, 2)))[0][index] - pull)
    assert abs(np.mean(found)) < 3.0 * np.std(found) / 50.0
    assert 3.0 * np.std(found) / 50.0 < 1.0, "a degree of freedom would be seen"


def test_discriminations_of_which_nothing_is_known_have_no_score(effects: Effects) -> None:
    index = [group.name for group in effects.groups].index("log_discrimination")
    still = Point(np.zeros(effects.shared_size), np.zeros(effects.shape))
    prior = np.ones(effects.shared_size), np.full(effects.shape, effects.groups[index].sd ** 2)
    assert effects.scores(effects.start(), still, *prior, np.zeros((2, 2)))[0][index] == pytest.approx(0.0, abs=1e-9)


def coin_tosses(seed: int) -> ResponseTable:
    """A thousand, on eight chatbots and 100 prompts."""
    rng = np.random.default_rng(seed)
    cells = [(a, b, j) for j in range(100) for a, b in itertools.combinations(range(8), 2)]
    a, b, prompt = np.array(cells)[rng.permutation(len(cells))[:1000]].T
    names = np.array([f"m{k}" for k in range(8)])
    tosses = np.where(rng.random(1000) < 0.5, 1, -1).tolist()
    return ResponseTable.from_votes(names[a].tolist(), names[b].tolist(), [f"p{j}" for j in prompt], tosses)


@pytest.mark.parametrize("seed", [2, 5])
def test_coin_tosses_spread_no_discriminations(seed: int) -> None:
    """What replies might have done, and did not, shifts all log discriminations down: their SD was learned from that
    shift, let go of it, and went to its limit."""
    found = fit(coin_tosses(seed), form="vote", priors=CAMPAIGN)
    assert found.scales.learned
    assert found.scales.log_discrimination < 0.9 * MOST_SLOPES * CAMPAIGN.log_discrimination_sd
    assert np.abs(found.ability / found.se).max() < 3.5


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.full)])
def test_coin_tosses_whose_discriminations_seem_to_spread_settle_at_the_limit(seed: int) -> None:
    """Twice as far, the means had no end."""
    found = fit(coin_tosses(seed), form="vote", priors=CAMPAIGN)
    assert found.scales.learned
    assert found.scales.log_discrimination == pytest.approx(MOST_SLOPES * CAMPAIGN.log_discrimination_sd)
    assert np.abs(found.ability / found.se).max() < 3.5


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_slopes_are_raised_where_they_are_flat_and_lean_as_they_did(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    slope, least = rng.normal(size=(count, count)), np.exp(rng.normal(size=count))
    raised = observed_information._at_least(slope, least)
    assert raised - raised.T == pytest.approx(slope - slope.T, abs=1e-9)
    unit = np.sqrt(np.outer(least, least))
    assert np.linalg.eigvalsh(0.5 * (raised + raised.T) / unit).min() >= 1.0 - 1e-9
    steep = slope @ slope.T + 10.0 * np.diag(least) + 0.1 * (slope - slope.T)
    assert observed_information._at_least(steep, least) == pytest.approx(steep, rel=1e-9, abs=1e-9)
