"""prompt_table: what a prompt tells about a pair, looked up as exactly as it is worth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irt_engine import Posterior
from irt_engine.arrays import FloatArray
from irt_engine.information import InformationTable
from scheduler import CampaignState
from scheduler.prompt_information import POINTS, REACH, PairTables, prompt_table, vote_table
from tests.environment import FULL
from tests.scheduler.cast import POSTERIOR, fresh


@settings(max_examples=15 if FULL else 5)
@given(st.integers(0, 1000), st.floats(0.0, 2.5))
def test_one_table_for_all_prompts_is_what_each_has_alone(seed: int, cell_sd: float) -> None:
    rng = np.random.default_rng(seed)
    alpha, half = np.exp(0.5 * rng.standard_normal(6)), np.exp(0.5 * rng.standard_normal(6) - 1.0)
    se = alpha * rng.uniform(0.01, 0.5, 6)
    quick = vote_table(alpha, se, half, cell_sd)
    edges = np.stack([-half, half], axis=1)
    exact = InformationTable.of(alpha, edges, discrimination_se=se, cell_sd=cell_sd, reach=REACH, points=POINTS)
    assert np.abs(quick.values - exact.values).max() < 0.01 * exact.values.max()


def test_a_prompt_without_votes_is_a_typical_one_whose_discrimination_is_not_known() -> None:
    state = CampaignState(POSTERIOR.chatbots, (*POSTERIOR.prompts, "zz-new"), POSTERIOR)
    known, more = prompt_table(fresh(), POSTERIOR), prompt_table(state, POSTERIOR)
    assert more.values[:, :-1] == pytest.approx(known.values)
    surer = replace(POSTERIOR, scales=replace(POSTERIOR.scales, log_discrimination=0.01))
    # E alpha^2 of a lognormal grows with its spread: what is not known yet may be very good.
    assert more.values[POINTS // 2, -1] > prompt_table(state, surer).values[POINTS // 2, -1]


WEAK_ONLY = 0  # the prompt that tells weak chatbots apart and not strong ones
TIERED = replace(
    POSTERIOR,
    tier=np.array([0, 0, 1, 1, 1]),
    scales=replace(POSTERIOR.scales, tier=0.3),
    tier_discrimination=np.array([[[0.3, 0.8], [0.8, 2.0]]] + 7 * [[[1.0, 1.0], [1.0, 1.0]]]),
    tier_discrimination_se=np.full((8, 2, 2), 0.1),
)
LOW, HIGH = np.triu_indices(5, 1)


def told(state: CampaignState, posterior: Posterior, a: int, b: int) -> FloatArray:
    pair = int(np.flatnonzero((a == LOW) & (b == HIGH))[0])
    return PairTables(state, posterior, LOW, HIGH).of_pair(pair, 0.0, 0.5)


def test_a_pairs_prompts_are_valued_by_the_discriminations_of_its_tiers() -> None:
    among_strong, across, among_weak = (told(fresh(), TIERED, a, b) for a, b in ((0, 1), (1, 3), (2, 4)))
    others = [j for j in range(8) if j != WEAK_ONLY]
    assert among_strong[others] == pytest.approx(among_weak[others])
    assert among_strong[WEAK_ONLY] < across[WEAK_ONLY] < among_weak[WEAK_ONLY]
    assert among_strong[WEAK_ONLY] < among_strong[others].min()
    assert among_weak[WEAK_ONLY] > among_weak[others].max()


def test_a_chatbot_that_the_board_has_not_seen_is_in_no_tier() -> None:
    state = replace(fresh(), chatbots=(*POSTERIOR.chatbots[:4], "new"))
    assert told(state, TIERED, 0, 4) == pytest.approx(told(state, POSTERIOR, 0, 4))


def test_a_prompt_without_votes_is_less_known_inside_a_tier_than_across_two() -> None:
    state = CampaignState(POSTERIOR.chatbots, (*POSTERIOR.prompts, "zz-new"), POSTERIOR)
    inside, across, alike = (
        told(state, found, *ends)[-1] for found, ends in ((TIERED, (0, 1)), (TIERED, (1, 3)), (POSTERIOR, (0, 1)))
    )
    assert alike < across < inside


def test_without_tiers_all_pairs_are_looked_up_in_one_table() -> None:
    table, tables = prompt_table(fresh(), POSTERIOR), PairTables(fresh(), POSTERIOR, LOW, HIGH)
    mean, se = np.linspace(-1.0, 1.0, 10), np.full(10, 0.4)
    assert tables.typical(mean, se) == pytest.approx(table.typical(mean, se))
    assert tables.of_pair(3, 0.2, 0.4) == pytest.approx(table.of_pair(0.2, 0.4))
