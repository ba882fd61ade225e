"""A fit that begins where an earlier one ended: the same result in fewer rounds, whatever has changed since."""

from __future__ import annotations

import numpy as np
import pytest

from irt_engine import Posterior, Priors, ResponseTable, fit, fit_with_warm_start, read_warm_start
from irt_engine.fitting.everyday import Form, Model
from tests.irt_engine.cast import random_votes, rebuilt, rows, small_board, start_of

SHAPES = pytest.mark.parametrize(
    ("model", "form"), [("pair", "net"), ("board", "net"), ("pair", "vote"), ("board", "vote")]
)


def part(table: ResponseTable, keep: np.ndarray) -> ResponseTable:
    return rebuilt(table, {name: column[keep] for name, column in rows(table).items()})


def assert_same(warm: Posterior, cold: Posterior) -> None:
    for name in ("ability", "covariance", "theta", "theta_se", "discrimination", "discrimination_se", "thresholds"):
        assert np.allclose(getattr(warm, name), getattr(cold, name), rtol=0, atol=1e-9), name


@SHAPES
@pytest.mark.parametrize("learn", [False, True])
def test_the_same_votes_again_take_a_round_or_two(model: Model, form: Form, learn: bool) -> None:
    table, priors = small_board(), Priors(learn=learn)
    cold = fit_with_warm_start(table, model, form=form, priors=priors)
    warm = fit(table, model, form=form, priors=priors, start=cold.warm_start)
    assert warm.iterations <= 3
    assert_same(warm, cold.posterior)


@SHAPES
def test_what_went_through_bytes_begins_as_well(model: Model, form: Form) -> None:
    table = small_board()
    cold = fit_with_warm_start(table, model, form=form)
    stored = cold.posterior.to_bytes(cold.warm_start)
    warm = fit(table, model, form=form, start=read_warm_start(stored))
    assert warm.iterations <= 3


@SHAPES
@pytest.mark.parametrize("share", [0.97, pytest.param(0.5, marks=pytest.mark.full)])
def test_more_votes_lead_to_the_same_end_and_a_few_more_sooner(model: Model, form: Form, share: float) -> None:
    table = random_votes(6, 12, 600, seed=5, spread=1.0)
    before = start_of(part(table, np.random.default_rng(0).random(len(table)) < share), model, form=form)
    cold, warm = fit(table, model, form=form), fit(table, model, form=form, start=before)
    if share > 0.9:
        assert warm.iterations < cold.iterations
    assert_same(warm, cold)


@SHAPES
def test_chatbots_and_prompts_may_come_and_go(model: Model, form: Form) -> None:
    table = random_votes(7, 12, 700, seed=6, spread=1.0)
    early = ResponseTable.from_votes(
        *_columns(table, (table.a != 3) & (table.b != 3) & (table.prompt != 2)),
    )
    late = ResponseTable.from_votes(*_columns(table, (table.a != 1) & (table.b != 1) & (table.prompt != 5)))
    cold = fit(late, model, form=form)
    warm = fit(late, model, form=form, start=start_of(early, model, form=form))
    assert_same(warm, cold)


def _columns(table: ResponseTable, keep: np.ndarray) -> list[list]:
    return [
        [table.chatbots[k] for k in table.a[keep]],
        [table.chatbots[k] for k in table.b[keep]],
        [table.prompts[k] for k in table.prompt[keep]],
        table.outcome[keep].tolist(),
    ]


def test_the_fit_of_another_model_is_no_start_and_no_harm() -> None:
    table = small_board()
    others = (start_of(table, "pair"), start_of(table, form="vote"), start_of(table, priors=Priors(pair_sd=0.0)))
    for other in others:
        assert_same(fit(table, start=other), fit(table))


def test_under_pair_the_covariance_of_theta_agrees_with_its_standard_errors() -> None:
    found = fit(small_board(), "pair")
    assert np.allclose(np.sqrt(np.diag(found.theta_covariance)), found.theta_se)
    assert np.linalg.eigvalsh(found.theta_covariance).min() > 0


def test_scales_that_are_not_learned_are_those_of_this_fit_and_not_of_the_one_it_begins_with() -> None:
    table = small_board()
    once = ResponseTable.from_votes(
        *zip(*{(a, b, p): (a, b, p, o) for a, b, p, o in _named(table)}.values(), strict=True)
    )
    narrow = Priors(ability_sd=0.5)
    for votes, priors in ((once, Priors()), (table, narrow)):
        cold = fit(votes, "board", form="vote", priors=priors)
        warm = fit(votes, "board", form="vote", priors=priors, start=start_of(table, form="vote"))
        assert warm.scales.cell == pytest.approx(cold.scales.cell, rel=1e-8)
        assert np.allclose(warm.ability, cold.ability, rtol=0, atol=1e-8)
        assert np.allclose(warm.se, cold.se, rtol=1e-8)


def _named(table: ResponseTable) -> list[tuple[str, str, str, int]]:
    """Votes by name, each comparison in one orientation."""
    names = zip(table.a, table.b, table.prompt, table.outcome, strict=True)
    return [(table.chatbots[a], table.chatbots[b], table.prompts[p], int(o)) for a, b, p, o in names]


def test_bytes_hold_a_warm_start_only_if_it_was_given() -> None:
    found = fit_with_warm_start(small_board())
    assert read_warm_start(found.posterior.to_bytes()) is None
    stored = found.posterior.to_bytes(found.warm_start)
    assert Posterior.from_bytes(stored).to_bytes() == found.posterior.to_bytes()
