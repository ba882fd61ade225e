"""What asking at random would have cost: what it took where it was done, and more where votes went to better use."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from irt_engine.simulate import draw_votes
from irt_engine.truth import draw_truth
from scheduler import CampaignState, InvalidState
from scheduler.estimator import CAMPAIGN_PRIORS, estimate
from scheduler.forecasting.random_baseline import random_baseline
from tests.environment import FULL
from tests.scheduler.stopping.test_feasibility import campaign, covariance, fitted, largest


@pytest.mark.parametrize(
    ("reply_sd", "share"),
    [
        (0.5, 0.5),
        pytest.param(0.0, 0.2, marks=pytest.mark.full),
        pytest.param(0.0, 0.5, marks=pytest.mark.full),
        pytest.param(0.5, 0.2, marks=pytest.mark.full),
    ],
)
def test_a_campaign_that_asked_at_random_is_told_what_it_took(reply_sd: float, share: float) -> None:
    ratios = []
    for seed in range(4):
        state = campaign(seed, reply_sd, share)
        found = random_baseline(state)
        assert found.reached
        ratios.append(found.judgments[-1] / state.judgments)
    assert float(np.exp(np.mean(np.log(ratios)))) == pytest.approx(1.0, abs=0.1)
    assert 0.75 < min(ratios) < max(ratios) < 1.3


def test_where_several_judged_every_item_all_their_judgments_are_told() -> None:
    states = [campaign(seed, 0.5, 0.4, each=3) for seed in range(4 if FULL else 2)]
    ratios = [random_baseline(state).judgments[-1] / state.judgments for state in states]
    assert float(np.exp(np.mean(np.log(ratios)))) == pytest.approx(1.0, abs=0.1)


@pytest.mark.full
def test_its_course_is_that_of_fits_on_fewer_of_the_same_votes() -> None:
    """At half of the judgments, as the fit of half of them has it, in the unit of today's; over several campaigns."""
    ratios = []
    for seed in range(8):
        whole, half = campaign(seed, 0.5, 0.8), campaign(seed, 0.5, 0.4)
        found = random_baseline(whole)
        then = np.interp(half.judgments, found.judgments, found.largest_se**-2.0) ** -0.5
        units = fitted(half).scales.unit / fitted(whole).scales.unit
        ratios.append(then / largest(covariance(fitted(half))) / units)
    assert float(np.exp(np.mean(np.log(ratios)))) == pytest.approx(1.0, abs=0.1)


LOPSIDED = 60 if FULL else 30  # prompts


def lopsided(seed: int) -> CampaignState:
    """Nearly all votes are on pairs of two chatbots; the other four are hardly known."""
    sds = {"pair_sd": CAMPAIGN_PRIORS.pair_sd, "cell_sd": CAMPAIGN_PRIORS.cell_sd, "reply_sd": 0.0}
    truth = draw_truth(6, LOPSIDED, seed=seed, form="vote", priors=CAMPAIGN_PRIORS, **sds)  # type: ignore[arg-type]
    few = [(a, b, p) for a in range(6) for b in range(a + 1, 6) for p in range(8)]
    many = [(0, 1, p) for p in range(LOPSIDED)] * 3
    cells = np.array([*few, *many], np.int64)
    return CampaignState(
        truth.chatbots,
        truth.prompts,
        estimate(draw_votes(truth, cells, seed=seed)),
        judged=cells,
        votes_per_item=4,
        judgments=len(cells),
    )


def test_votes_wasted_on_one_pair_would_have_been_fewer_at_random() -> None:
    states = [lopsided(seed) for seed in range(3 if FULL else 1)]
    assert max(random_baseline(state).judgments[-1] / state.judgments for state in states) < 0.8


def test_the_course_falls_and_ends_at_todays_se() -> None:
    state = campaign(0, 0.5, 0.5)
    found = random_baseline(state)
    assert np.all(np.diff(found.judgments) > 0)
    assert np.all(np.diff(found.largest_se) < 0)
    assert found.largest_se[-1] == pytest.approx(largest(covariance(fitted(state))), rel=1e-6)
    again = random_baseline(state)
    assert np.array_equal(found.judgments, again.judgments)


def test_before_a_fit_there_is_nothing_to_compare_with() -> None:
    with pytest.raises(InvalidState, match="no fit"):
        random_baseline(replace(campaign(0, 0.0, 0.2), posterior=None))
