"""prompt_table: what a prompt tells about a pair, looked up as exactly as it is worth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irt_engine.information import InformationTable
from scheduler import CampaignState
from scheduler.prompt_table import POINTS, REACH, prompt_table, vote_table
from tests.scheduler.cast import POSTERIOR, fresh


@settings(max_examples=15, deadline=None)
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
