"""A fit that begins at the scales of a part of its cells: the same result, whatever the part lacks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from irt_engine import Priors, ResponseTable, fit
from irt_engine.arrays import FloatArray
from irt_engine.fitting.design import FitDesign, design
from irt_engine.fitting.expectations import CellEvaluator
from irt_engine.fitting.joint_mode import find_joint_mode
from irt_engine.fitting.kernels import use_kernels
from irt_engine.fitting.state import FitState
from irt_engine.fitting.subsample_start import start_of_subsample
from irt_engine.fitting.variational import solve, solve_from, state_at
from irt_engine.responses.style import style_differences
from tests.irt_engine.cast import random_votes

TABLE = random_votes(14, 5, 2000, seed=5, spread=1.0)
TIERS = np.repeat([0, 1], 7)
PRIORS = Priors(reply_sd=0.0)


def with_rare(table: ResponseTable) -> ResponseTable:
    """Return the votes with one more, of a chatbot and on a prompt without other votes."""
    a, b = ([table.chatbots[k] for k in side] for side in (table.a, table.b))
    prompts = [table.prompts[k] for k in table.prompt]
    return ResponseTable.from_votes(
        [*a, "rare"], [*b, table.chatbots[0]], [*prompts, "rare"], [*table.outcome.tolist(), 1]
    )


def styled(table: ResponseTable, **options: Any) -> FitDesign:
    lengths = np.random.default_rng(0).poisson(9.0, (2, len(table))).astype(float)
    style = style_differences({"length": (lengths[0], lengths[1])})
    return design(table, "board", "vote", PRIORS, style=style, **options)


def ends(made: FitDesign) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the ends of the fits from a part and from zero, and their SEs."""
    with CellEvaluator(made.problem, made.effects) as cells:
        near, steps = find_joint_mode(cells, made.origin)
        cold = solve(cells, state_at(cells, near), steps)
        start = start_of_subsample(cells, least=100)
        assert start is not None
        warm = solve_from(cells, start)
        assert warm is not None
    return warm.state.point.z, cold.state.point.z, np.sqrt(np.diag(cold.covariance))


@pytest.mark.parametrize(
    "made",
    [
        design(TABLE, "board", "net", PRIORS),
        design(TABLE, "pair", "net", PRIORS),
        design(TABLE, "pair", "vote", PRIORS),
        design(TABLE, "board", "vote", PRIORS),
        design(TABLE, "board", "vote", PRIORS, TIERS),
        design(with_rare(TABLE), "board", "vote", PRIORS, np.append(TIERS, 1)),
        styled(TABLE),
    ],
    ids=["board-net", "pair-net", "pair-vote", "board-vote", "tiers", "rare", "style"],
)
def test_a_part_of_the_cells_starts_the_same_fit(made: FitDesign) -> None:
    warm, cold, se = ends(made)
    assert np.abs((warm - cold) / se).max() < 1e-9


def test_both_kinds_of_kernels_start_a_fit_from_slots_without_cells() -> None:
    starts: list[FitState | None] = []
    for kind in ("reference", "compiled"):
        with use_kernels(kind):
            made = design(with_rare(TABLE), "board", "vote", PRIORS, np.append(TIERS, 1))
            with CellEvaluator(made.problem, made.effects) as cells:
                starts.append(start_of_subsample(cells, least=100))
    one, other = starts
    assert one is not None
    assert other is not None
    assert np.allclose(one.point.z, other.point.z, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize(("priors", "least"), [(PRIORS, 50_000), (Priors(), 100)], ids=["few", "replies"])
def test_few_cells_and_reply_effects_have_no_part(priors: Priors, least: int) -> None:
    made = design(TABLE, "board", "vote", priors)
    with CellEvaluator(made.problem, made.effects) as cells:
        assert start_of_subsample(cells, least) is None


def test_a_part_that_cannot_be_fitted_is_no_start(monkeypatch: pytest.MonkeyPatch) -> None:
    made = design(TABLE, "board", "vote", PRIORS)
    monkeypatch.setattr("irt_engine.fitting.subsample_start.settle_roughly", lambda cells, state, tolerance: state)
    with CellEvaluator(made.problem, made.effects) as cells:
        assert start_of_subsample(cells, least=100) is None


def test_a_start_that_leads_nowhere_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = fit(TABLE, form="vote", priors=PRIORS)

    def astray(cells: CellEvaluator) -> FitState:
        state = state_at(cells, design(TABLE, "board", "vote", PRIORS).origin)
        return replace(state, log_sd=np.full_like(state.log_sd, np.nan))

    monkeypatch.setattr("irt_engine.fitting.subsample_start.start_of_subsample", astray)
    assert np.array_equal(fit(TABLE, form="vote", priors=PRIORS).ability, plain.ability)
