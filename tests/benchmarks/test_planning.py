"""The benchmark of planning at toy size: its boards are campaigns that can be planned, and it can fail."""

from __future__ import annotations

import numpy as np

from scheduler import plan
from scheduler.estimator import CAMPAIGN_PRIORS
from tests.benchmarks import planning


def test_a_drawn_board_is_a_campaign_in_its_middle() -> None:
    state = planning.state_of(6, 40)
    posterior = state.posterior
    assert posterior is not None
    assert len(state.judged) == state.judgments == posterior.judgments == 6 * planning.VOTES_EACH // 2
    assert posterior.chatbot_judgments.sum() == 2 * state.judgments
    assert np.abs(posterior.covariance.sum(axis=1)).max() < 1e-12  # about the board's mean
    assert (posterior.se < CAMPAIGN_PRIORS.ability_sd / 2.0).all()
    assert planning.state_of(6, 40).judged.tolist() == state.judged.tolist()


def test_its_plans_are_made_of_what_teaches() -> None:
    asks = plan(planning.state_of(6, 40), policy="adaptive", count=20, seed=0).asks
    assert len(asks) == 20
    assert all(ask.value > 0.0 for ask in asks)


def test_every_size_is_timed_and_the_target_is_for_one_of_them() -> None:
    found = planning.timed(4, 60, 1)
    assert found.seconds > 0.0
    assert [c.passed for c in planning.checks_of([found])] == [None]
    slow = planning.Timed(*planning.TARGET, 10, 0.51, 0)
    assert [c.passed for c in planning.checks_of([found, slow])] == [False]
