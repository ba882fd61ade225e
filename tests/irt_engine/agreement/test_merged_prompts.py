"""Fits with merged prompts."""

import numpy as np
import pytest

from irt_engine import FitResult, InvalidResponses, ResponseTable, WarmStart, fit, fit_with_warm_start
from irt_engine.agreement import merge_prompts, merged_fit
from tests.irt_engine.cast import small_board

TABLE = small_board()
GROUPS = [TABLE.prompts[1:3], TABLE.prompts[5:8]]


def plain(table: ResponseTable, start: WarmStart | None) -> FitResult:
    return fit_with_warm_start(table, form="vote", start=start)


def test_fit_is_that_of_the_merged_table() -> None:
    found, merged = merged_fit(TABLE, plain, groups=GROUPS)
    reference = fit(merge_prompts(TABLE, GROUPS), form="vote")
    assert np.allclose(found.posterior.ability, reference.ability, rtol=0, atol=1e-8)
    assert np.allclose(found.posterior.covariance, reference.covariance, rtol=0, atol=1e-8)
    assert merged.groups == tuple(map(tuple, GROUPS))
    assert merged.change == pytest.approx(reference.se.mean() / fit(TABLE, form="vote").se.mean() - 1.0, abs=1e-6)


def test_members_of_a_group_have_equal_estimates() -> None:
    posterior = merged_fit(TABLE, plain, groups=GROUPS)[0].posterior
    assert posterior.prompts == TABLE.prompts
    for group in GROUPS:
        places = [TABLE.prompts.index(name) for name in group]
        assert len({posterior.discrimination[place] for place in places}) == 1
        assert len({tuple(posterior.thresholds[place]) for place in places}) == 1


def test_posterior_is_stored_with_the_warm_start_of_all_prompts() -> None:
    found, _ = merged_fit(TABLE, plain, groups=GROUPS)
    assert found.posterior.to_bytes(found.warm_start)
    assert found.warm_start.prompts == TABLE.prompts


def test_without_groups_the_fit_is_as_before() -> None:
    found, merged = merged_fit(TABLE, plain)
    assert np.array_equal(found.posterior.ability, fit(TABLE, form="vote").ability)
    assert (merged.groups, merged.change) == ((), 0.0)


def test_unknown_prompts_are_refused() -> None:
    with pytest.raises(InvalidResponses):
        merged_fit(TABLE, plain, groups=[["nobody", TABLE.prompts[0]]])
