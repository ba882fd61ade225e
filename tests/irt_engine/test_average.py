"""average: the fit settles where verdicts are one-sided and cells few, and says so where it does not."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from irt_engine import DidNotConverge, EngineWarning, Priors, ResponseTable, fit
from irt_engine.arrow import Point
from irt_engine.average import CAREFUL, Cells, State, settle
from irt_engine.design import design
from irt_engine.fit import Form, Model
from irt_engine.mode import climb
from irt_engine.scales import MOST
from irt_engine.simulate import draw_truth, draw_votes
from tests.irt_engine.cast import ladder, random_votes, small_board


def part(table: ResponseTable, votes: int) -> ResponseTable:
    """The first votes of a table."""
    names, prompts = np.array(table.chatbots), np.array(table.prompts)
    columns = (names[table.a[:votes]], names[table.b[:votes]], prompts[table.prompt[:votes]], table.outcome[:votes])
    return ResponseTable.from_votes(*(column.tolist() for column in columns))


SHAPES = pytest.mark.parametrize(
    ("model", "form"), [("pair", "net"), ("board", "net"), ("pair", "vote"), ("board", "vote")]
)


@SHAPES
def test_a_ladder_of_three_settles(model: Model, form: Form) -> None:
    """Its gaps are so vague that mean and variance chase each other when both move all the way in a round."""
    found = fit(ladder(), model, form=form)
    assert found.converged
    assert found.iterations <= 80


@SHAPES
@pytest.mark.parametrize("learn", [False, True])
def test_the_end_does_not_depend_on_the_way(
    model: Model, form: Form, learn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    brisk = fit(small_board(), model, form=form, priors=Priors(learn=learn))
    for way in ("QUICK", "TOGETHER"):
        monkeypatch.setattr(f"irt_engine.average.{way}", CAREFUL)
    monkeypatch.setattr("irt_engine.mixing.MEMORY", 4)
    calm = fit(small_board(), model, form=form, priors=Priors(learn=learn))
    assert brisk.iterations != calm.iterations
    assert np.allclose(brisk.theta, calm.theta, rtol=0, atol=1e-8)
    assert np.allclose(brisk.theta_se, calm.theta_se, rtol=0, atol=1e-8)


@SHAPES
@pytest.mark.filterwarnings("ignore:the SDs of the effects could not be learned")  # of the effects of one prompt
@pytest.mark.parametrize("seed", range(3))
def test_votes_on_one_prompt_settle(model: Model, form: Form, seed: int) -> None:
    """The scale of one prompt is nearly all prior; its joint mode lies far from the average."""
    assert fit(random_votes(6, 1, 200, seed=seed, spread=3.0), model, form=form).converged


@SHAPES
@pytest.mark.parametrize(("chatbots", "prompts", "votes"), [(2, 1, 1), (2, 30, 30), (3, 3, 10), (6, 5, 100)])
def test_a_table_where_the_stronger_always_wins_settles(
    model: Model, form: Form, chatbots: int, prompts: int, votes: int
) -> None:
    table = random_votes(chatbots, prompts, votes, seed=1, spread=1e6)
    assert fit(table, model, form=form).converged


@SHAPES
def test_under_the_result_the_slope_averages_to_nothing(model: str, form: str) -> None:
    """Checked by many independent draws from the whole Gaussian, where the fit used a few points cell by cell."""
    made = design(small_board(), model, form, Priors(learn=False))
    problem = made.problem
    with Cells(problem, made.effects) as cells:
        near, log_sd = climb(cells, made.origin)[0], made.effects.start()
        found = settle(cells, State(near, cells.ask(near, log_sd, None).information, log_sd), False, 0, None)
        point, total = found.state.point, np.zeros(problem.shaft)
        rng = np.random.default_rng(0)
        root = np.linalg.cholesky(found.covariance)
        still = np.zeros_like(point.phi)
        slope = np.stack([found.arrow.step(Point(column, still)).phi for column in found.arrow.schur], axis=2)
        roots = np.linalg.cholesky(found.arrow.inverse)
        draws = 1500
        for _ in range(draws):
            dz = root @ rng.standard_normal(problem.shaft)
            dphi = slope @ dz + np.einsum("jpq,jq->jp", roots, rng.standard_normal(point.phi.shape))
            total += cells.ask(point.moved(Point(dz, dphi), 1.0), found.state.log_sd, None).gradient.z
        sd = np.sqrt(np.diag(found.covariance))
        assert np.abs(sd * total / draws).max() < 0.15


@SHAPES
def test_scales_that_cannot_be_learned_stay_as_given_and_it_is_said(
    model: Model, form: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = itertools.cycle([0.3, -0.3])
    monkeypatch.setattr(
        "irt_engine.scales.Effects.moved",
        lambda self, log_sd, step, farthest: log_sd + next(other) if self.learned and farthest else log_sd,
    )
    with pytest.warns(EngineWarning, match="given ones stand"):
        found = fit(small_board(), model, form=form)
    monkeypatch.undo()
    given = fit(small_board(), model, form=form, priors=Priors(learn=False))
    assert found.converged
    assert not found.scales.learned
    assert np.allclose(found.theta, given.theta, atol=1e-8)


def test_a_precision_that_cannot_be_factored_is_an_error_with_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    def singular(*_: object) -> None:
        raise np.linalg.LinAlgError("Matrix is not positive definite")

    monkeypatch.setattr("irt_engine.average._at_the_mean", singular)
    with pytest.raises(DidNotConverge, match="cannot be factored") as caught:
        fit(small_board(), priors=Priors(learn=False))
    assert caught.value.hint


def test_an_average_that_does_not_settle_is_an_error_and_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    for way in ("TOGETHER", "CAREFUL"):
        monkeypatch.setattr(f"irt_engine.average.{way}", replace(CAREFUL, rounds=2))
    with pytest.raises(DidNotConverge, match="did not settle in 2 rounds") as caught:
        fit(small_board(), priors=Priors(learn=False))
    assert caught.value.hint


def test_a_scale_at_its_limit_holds_no_other_back() -> None:
    """Scales move together; one that may go no farther must not be counted on by the others."""
    truth = draw_truth(6, 40, seed=24, form="vote", pair_sd=0.1, cell_sd=0.25)
    rng = np.random.default_rng(24)
    a = rng.integers(0, 6, 600)
    pairs = np.stack([a, (a + rng.integers(1, 6, 600)) % 6, rng.integers(0, 40, 600)], axis=1)
    table, priors = draw_votes(truth, pairs, seed=24), Priors(cell_sd=0.25, pair_sd=0.1)
    cold = fit(table, form="vote", priors=priors)
    warm = fit(table, form="vote", priors=priors, start=fit(part(table, 550), form="vote", priors=priors))
    assert cold.scales.cell == pytest.approx(MOST * 0.25)
    assert warm.scales.pair == pytest.approx(cold.scales.pair, rel=1e-7)
    assert np.allclose(warm.se, cold.se, rtol=1e-8)


def test_prompts_with_many_votes_are_averaged_too_so_errors_are_as_large_as_their_ses() -> None:
    """Taken at their means, ten prompts of 435 cells each lean the same way: errors were three times the SEs."""
    ratio = []
    for seed in (0, 1):
        truth = draw_truth(30, 10, seed=seed, form="vote", pair_sd=0.0, cell_sd=0.8)
        cells = np.array([(a, b, j) for a in range(30) for b in range(a + 1, 30) for j in range(10)])
        found = fit(draw_votes(truth, cells, seed=seed + 10), form="vote", priors=Priors(pair_sd=0.0))
        error = found.ability - (truth.ability - truth.ability.mean())
        ratio.append(np.mean(error**2 / np.diag(found.covariance)))
    assert 0.4 < np.sqrt(np.mean(ratio)) < 1.4
