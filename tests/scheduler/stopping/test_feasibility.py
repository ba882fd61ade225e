"""How far the judgments that are left lead: against fits of simulated campaigns, and never below what replies set."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from irt_engine import EngineWarning, Posterior
from irt_engine.arrays import FloatArray, IntArray
from irt_engine.models.comparison_graph import centred
from irt_engine.simulate import all_cells, draw_votes
from irt_engine.truth import draw_truth
from scheduler import CampaignState, Futility, TargetSE
from scheduler.estimator import CAMPAIGN_PRIORS, estimate
from scheduler.overlap import Overlap
from scheduler.stopping.feasibility import AttainablePrecision, attainable_precision
from tests.environment import FULL

CHATBOTS, PROMPTS = 6, 40
SEEDS = range(6 if FULL else 4)
TELLS = Futility(TargetSE(0.01))


@cache
def campaign(seed: int, reply_sd: float, share: float, each: int = 1) -> CampaignState:
    """This share of the items of a simulated campaign is judged, in random order, and fitted; `each` by so many."""
    sds = {"pair_sd": CAMPAIGN_PRIORS.pair_sd, "cell_sd": CAMPAIGN_PRIORS.cell_sd, "reply_sd": reply_sd}
    truth = draw_truth(CHATBOTS, PROMPTS, seed=seed, form="vote", priors=CAMPAIGN_PRIORS, **sds)  # type: ignore[arg-type]
    cells: IntArray = np.random.default_rng(seed).permutation(all_cells(CHATBOTS, PROMPTS))
    judged = np.repeat(cells[: round(share * len(cells))], each, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EngineWarning)
        posterior = estimate(draw_votes(truth, judged, seed=seed))
    overlap = Overlap(1.0 if each > 1 else 0.0, max(each, 2))
    return CampaignState(
        truth.chatbots, truth.prompts, posterior, judged=judged, judgments=len(judged), overlap=overlap
    )


def fitted(state: CampaignState) -> Posterior:
    assert state.posterior is not None
    return state.posterior


def covariance(posterior: Posterior) -> FloatArray:
    return centred(posterior.ability, posterior.covariance, np.ones(len(posterior.ability), np.int64))[1]


def largest(covariance: FloatArray) -> float:
    return float(np.sqrt(np.diag(covariance).max()))


@pytest.mark.parametrize(
    ("reply_sd", "share"),
    [
        (0.5, 0.5),
        *(
            pytest.param(reply_sd, share, marks=pytest.mark.full)
            for reply_sd in (0.0, 0.5, 0.9)
            for share in (0.2, 0.5, 0.8)
            if (reply_sd, share) != (0.5, 0.5)
        ),
    ],
)
def test_what_is_said_to_be_in_reach_is_the_se_of_a_fit_on_all_items(reply_sd: float, share: float) -> None:
    """One campaign's scales may still be anywhere; over several, what is said lies where the fits end. The unit is one
    of them: where replies are worth nothing, a fifth of the votes still make it 8 % too large."""
    ratio = [
        TELLS.decide(campaign(seed, reply_sd, share)).evidence["reachable_se"]
        / largest(covariance(fitted(campaign(seed, reply_sd, 1.0))))
        for seed in SEEDS
    ]
    assert float(np.exp(np.mean(np.log(ratio)))) == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize("reply_sd", [0.0, pytest.param(0.9, marks=pytest.mark.full)])
def test_where_several_judge_every_item_their_further_votes_count_for_what_they_tell(reply_sd: float) -> None:
    ratio = [
        TELLS.decide(campaign(seed, reply_sd, 0.4, each=3)).evidence["reachable_se"]
        / largest(covariance(fitted(campaign(seed, reply_sd, 1.0, each=3))))
        for seed in SEEDS
    ]
    assert float(np.exp(np.mean(np.log(ratio)))) == pytest.approx(1.0, abs=0.12)


def test_the_items_left_are_those_that_the_overlap_has_not_filled() -> None:
    state = campaign(0, 0.0, 0.4, each=3)
    assert attainable_precision(state).judgments == 3 * len(all_cells(CHATBOTS, PROMPTS)) - len(state.judged)
    on_their_way = state.judged[::3][:10]
    begun = replace(state, judged=state.judged[30:], pending=on_their_way)  # ten items back, and one vote of each asked
    assert attainable_precision(begun).judgments == attainable_precision(state).judgments + 20


def endless(
    reply_sd: float = 0.9, share: float = 0.5, votes: int = 10_000
) -> tuple[CampaignState, AttainablePrecision]:
    """Every item may be judged as often as one likes."""
    state = replace(campaign(0, reply_sd, share), votes_per_item=votes)
    return state, attainable_precision(state)


def test_endless_votes_on_the_same_prompts_do_not_lead_below_what_their_replies_set() -> None:
    state, reach = endless()
    reply_sd = fitted(state).scales.reply
    assert reply_sd is not None
    floor = reply_sd / np.sqrt(PROMPTS) * np.sqrt(1.0 - 1.0 / CHATBOTS)  # of an ability minus the mean of six
    assert floor < np.sqrt(np.diag(reach.then)).min()
    assert largest(reach.then) == pytest.approx(largest(endless(votes=1_000)[1].then), rel=0.05)


def test_more_prompts_do() -> None:
    state, reach = endless()
    more = (*state.prompts, *(f"new {number}" for number in range(3 * PROMPTS)))
    assert largest(attainable_precision(replace(state, prompts=more)).then) < 0.8 * largest(reach.then)


def test_a_target_below_the_floor_is_out_of_reach_however_many_votes_an_item_may_have() -> None:
    state, reach = endless()
    assert Futility(TargetSE(0.5 * largest(reach.then))).decide(state).stop
    assert not Futility(TargetSE(1.1 * largest(reach.then))).decide(state).stop


def test_where_nothing_is_left_nothing_changes() -> None:
    reach = attainable_precision(campaign(0, 0.9, 1.0))
    assert reach.judgments == 0
    assert reach.then == pytest.approx(reach.now, abs=1e-9)


def test_a_part_of_what_is_left_leads_to_a_part_of_the_way() -> None:
    state = campaign(1, 0.5, 0.2)
    ses = [largest(attainable_precision(state, judgments).then) for judgments in (0, 50, 150, 300, None)]
    assert ses == sorted(ses, reverse=True)
    assert ses[0] == pytest.approx(largest(attainable_precision(state).now))
