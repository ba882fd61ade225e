"""Effects of style in a fit: laws, and recovery of a known effect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irt_engine import InvalidResponses, Posterior, ResponseTable, fit, fit_with_warm_start, read_warm_start
from irt_engine.arrays import FloatArray
from irt_engine.responses.style import StyleDifferences, style_differences
from tests.irt_engine.cast import random_votes, rebuilt, rows, small_board

TABLE = small_board()


def counts(table: ResponseTable, seed: int = 1) -> tuple[FloatArray, FloatArray]:
    """Return lengths of the replies of A and of B: one for each chatbot and prompt."""
    lengths = np.random.default_rng(seed).integers(1, 400, (len(table.chatbots), len(table.prompts))).astype(float)
    return lengths[table.a, table.prompt], lengths[table.b, table.prompt]


def style(table: ResponseTable, **covariates: tuple[FloatArray, FloatArray]) -> StyleDifferences:
    return style_differences(covariates or {"length": counts(table)})


def same(one: Posterior, other: Posterior, tolerance: float = 1e-9) -> bool:
    pairs = [(one.ability, other.ability), (one.covariance, other.covariance), (one.style, other.style)]
    return all(np.allclose(a, b, rtol=0, atol=tolerance) for a, b in pairs)


@pytest.mark.parametrize("options", [{}, {"form": "vote"}, {"model": "pair"}])
def test_covariate_that_is_zero_everywhere_changes_nothing(options: Any) -> None:
    nothing = np.zeros(len(TABLE))
    found = fit(TABLE, style=style(TABLE, bold=(nothing, nothing), length=(nothing + 7.0, nothing + 7.0)), **options)
    plain = fit(TABLE, **options)
    assert np.array_equal(found.theta, plain.theta)
    assert np.array_equal(found.covariance, plain.covariance)
    assert found.style_names == ()


@settings(max_examples=3)
@given(st.sampled_from([0.01, 3.0, 1000.0]))
def test_unit_of_a_covariate_changes_nothing_but_its_unit(factor: float) -> None:
    a, b = counts(TABLE)
    assert same(fit(TABLE, style=style(TABLE, length=(factor * a, factor * b))), fit(TABLE, style=style(TABLE)))


def test_exchanging_a_and_b_negates_no_effect() -> None:
    turned = np.arange(len(TABLE)) % 2 == 0
    columns = rows(TABLE)
    columns["a"], columns["b"] = np.where(turned, TABLE.b, TABLE.a), np.where(turned, TABLE.a, TABLE.b)
    columns["outcome"] = np.where(turned, -TABLE.outcome, TABLE.outcome)
    other = rebuilt(TABLE, columns)
    one = fit(TABLE, form="vote", style=style(TABLE))
    again = fit(other, form="vote", style=style(other))
    assert same(one, again)
    assert one.style_names == ("length",)


def test_order_of_votes_has_no_influence() -> None:
    order = np.random.default_rng(5).permutation(len(TABLE))
    shuffled = rebuilt(TABLE, {name: column[order] for name, column in rows(TABLE).items()})
    assert same(fit(TABLE, style=style(TABLE)), fit(shuffled, style=style(shuffled)))


def test_two_covariates_in_any_order_give_the_same() -> None:
    both = {"length": counts(TABLE), "bold": counts(TABLE, 2)}
    one, other = (fit(TABLE, style=style(TABLE, **dict(order))) for order in (both.items(), reversed(both.items())))
    assert same(one, Posterior(**(fields_of(other) | {"style": other.style[::-1], "style_se": other.style_se[::-1]})))


def fields_of(posterior: Posterior) -> dict[str, Any]:
    return {name: getattr(posterior, name) for name in posterior.__dataclass_fields__}


@pytest.mark.full
@pytest.mark.parametrize("effect", [0.6, -0.6])
@pytest.mark.parametrize("prompts", [40, 2000], ids=["met often", "met once"])
def test_effect_is_found_with_its_sign(effect: float, prompts: int) -> None:
    table = random_votes(6, prompts, 1500, seed=4)
    given_style = style(table)
    chance = 1.0 / (1.0 + np.exp(-effect * given_style.values[:, 0]))
    outcome = np.where(np.random.default_rng(2).random(len(table)) < chance, 1, -1)
    found = fit(rebuilt(table, rows(table) | {"outcome": outcome}), form="vote", style=given_style).marginal()
    assert found.style[0] == pytest.approx(effect, abs=4.0 * found.style_se[0])
    assert abs(found.style[0]) > 4.0 * found.style_se[0]


def test_posterior_is_stored_with_its_style() -> None:
    found = fit_with_warm_start(TABLE, style=style(TABLE))
    stored = found.posterior.to_bytes(found.warm_start)
    again = Posterior.from_bytes(stored)
    assert again.style_names == ("length",)
    assert np.array_equal(again.style, found.posterior.style)
    assert read_warm_start(stored) is not None


def test_warm_start_changes_nothing_with_or_without_style() -> None:
    plain, styled = fit_with_warm_start(TABLE), fit_with_warm_start(TABLE, style=style(TABLE))
    starts = [plain.warm_start, styled.warm_start]
    assert all(same(fit(TABLE, style=style(TABLE), start=start), styled.posterior, 1e-8) for start in starts)
    assert all(same(fit(TABLE, start=start), plain.posterior, 1e-8) for start in starts)


def test_style_of_other_votes_is_refused() -> None:
    with pytest.raises(InvalidResponses) as refused:
        fit(TABLE, style=style(random_votes(3, 5, 10, seed=1)))
    assert refused.value.code == "bad_style"
