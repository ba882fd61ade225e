"""average: the fit settles where verdicts are one-sided and cells few, and says so where it does not."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from irt_engine import DidNotConverge, EngineWarning, Priors, ResponseTable, fit, fit_with_warm_start
from irt_engine.arrays import FloatArray
from irt_engine.fitting import variational
from irt_engine.fitting.anderson_acceleration import AndersonAccelerator
from irt_engine.fitting.design import design
from irt_engine.fitting.everyday import Form, Model
from irt_engine.fitting.expectations import MOST_AVERAGED, SLOPES, CellEvaluator
from irt_engine.fitting.iterations import CAREFUL, TOGETHER
from irt_engine.fitting.joint_mode import find_joint_mode
from irt_engine.fitting.state import FitState, Solution
from irt_engine.fitting.variational import Unsettled, no_excess, settle
from irt_engine.models.effects import MOST
from irt_engine.models.parameters import Point
from irt_engine.simulate import draw_votes
from irt_engine.truth import draw_truth
from tests.irt_engine.cast import ladder, random_votes, small_board, start_of


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
        monkeypatch.setattr(f"irt_engine.fitting.variational.{way}", CAREFUL)
    monkeypatch.setattr("irt_engine.fitting.anderson_acceleration.MEMORY", 4)
    calm = fit(small_board(), model, form=form, priors=Priors(learn=learn))
    assert brisk.iterations != calm.iterations
    assert np.allclose(brisk.theta, calm.theta, rtol=0, atol=1e-8)
    assert np.allclose(brisk.theta_se, calm.theta_se, rtol=0, atol=1e-8)


@SHAPES
def test_many_cells_whose_excess_is_not_mixed_end_where_few_do(
    model: Model, form: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    mixed = fit(small_board(), model, form=form)
    monkeypatch.setattr("irt_engine.fitting.iterations.MOST_CARRIED", 0)
    plain = fit(small_board(), model, form=form)
    assert np.allclose(mixed.theta, plain.theta, rtol=0, atol=1e-9)
    assert np.allclose(mixed.theta_se, plain.theta_se, rtol=0, atol=1e-9)
    assert mixed.iterations <= plain.iterations < 3 * mixed.iterations


@SHAPES
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


def test_a_scale_that_is_nearly_open_is_followed_to_its_end() -> None:
    """Four verdicts around a ring, each for the candidate shown second: the score of the side effect's SD falls to .01
    at an SD of 1.1, rises, and vanishes at 1.8. Mixed rounds went back and forth between the two, and the first fit of
    a campaign failed."""
    first, second, prompts = ["a", "b", "a", "d"], ["b", "c", "d", "c"], ["p", "q", "r", "s"]
    table = ResponseTable.from_votes(first, second, prompts, [1] * 4, a_first=[1] * 4)
    found = fit(table, form="vote", priors=Priors(cell_sd=0.25, pair_sd=0.1, shared_width=0.5))
    assert found.scales.learned
    assert found.scales.side == pytest.approx(1.8, abs=0.1)


@pytest.mark.parametrize("far", [-1e3, 1e3])
def test_a_mixture_that_leads_scales_astray_is_held_within_their_limits(
    far: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = fit(small_board(), form="vote")
    made = design(small_board(), "board", "vote", Priors(), None)
    first = made.problem.shared_size + made.problem.slots * made.problem.width
    count, mixed = itertools.count(), AndersonAccelerator.next

    def astray(self: AndersonAccelerator, x: FloatArray, end: FloatArray, error: float) -> FloatArray:
        there = mixed(self, x, end, error)
        if next(count) == 3:
            there[[first + index for index in made.effects.learnable]] += far
        return there

    monkeypatch.setattr(AndersonAccelerator, "next", astray)
    found = fit(small_board(), form="vote")
    assert found.scales.learned
    assert found.iterations != usual.iterations
    assert np.allclose(found.theta, usual.theta, rtol=0, atol=1e-8)


def test_a_search_for_a_scale_turns_back_where_the_means_have_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its strides double, and the first that goes beyond the end may go where the means have none."""
    made = design(random_votes(6, 12, 100, seed=5), "board", "vote", Priors(reply_sd=0.0))
    index = [group.name for group in made.effects.groups].index("log_gap")
    tried: list[float] = []
    settled_before = variational._settled

    def beyond(most: float) -> Callable[..., Solution | Unsettled]:
        def settled(cells: CellEvaluator, state: FitState, *rest: Any) -> Solution | Unsettled:
            tried.append(float(state.log_sd[index]))
            return Unsettled(100, 1.0) if tried[-1] > most else settled_before(cells, state, *rest)

        return settled

    with CellEvaluator(made.problem, made.effects) as cells:
        near = find_joint_mode(cells, made.origin)[0]
        log_sd = made.effects.start()
        log_sd[index] -= 1.5
        first = FitState(near, log_sd, no_excess(made.problem))
        monkeypatch.setattr(variational, "_settled", beyond(np.inf))
        end = variational._ScalesApart(cells, 0, None).along(first, index).log_sd[index]
        farthest = max(tried)
        assert log_sd[index] + 0.5 < end < farthest - 0.1
        monkeypatch.setattr(variational, "_settled", beyond(0.5 * (end + farthest)))
        assert variational._ScalesApart(cells, 0, None).along(first, index).log_sd[index] == pytest.approx(
            end, abs=1e-8
        )


@pytest.mark.parametrize(
    "moves",
    [
        [np.nan],
        pytest.param([0.3, 0.3, -0.3], marks=pytest.mark.full),
        pytest.param([0.3, -0.3, -0.3], marks=pytest.mark.full),
    ],
)
def test_scales_that_no_search_finds_are_no_error_of_another_kind(
    moves: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = itertools.cycle(moves)
    monkeypatch.setattr(
        "irt_engine.models.effects.Effects.moved",
        lambda self, log_sd, step, farthest: log_sd + next(other) if self.learned and farthest else log_sd,
    )
    with pytest.warns(EngineWarning, match="given ones stand"):
        assert not fit(small_board(), form="vote").scales.learned


@pytest.mark.full
@SHAPES
def test_under_the_result_the_slope_averages_to_nothing(model: str, form: str) -> None:
    """Checked by many independent draws from the whole Gaussian, where the fit used a few points cell by cell."""
    made = design(small_board(), model, form, Priors(learn=False))
    problem = made.problem
    with CellEvaluator(problem, made.effects) as cells:
        near, log_sd = find_joint_mode(cells, made.origin)[0], made.effects.start()
        found = settle(cells, FitState(near, log_sd, no_excess(made.problem)), False, 0, None)
        point, total = found.state.point, np.zeros(problem.shared_size)
        rng = np.random.default_rng(0)
        root = np.linalg.cholesky(found.covariance)
        still = np.zeros_like(point.phi)
        slope = np.stack([found.factors.step(Point(column, still)).phi for column in found.factors.schur], axis=2)
        roots = np.linalg.cholesky(found.factors.inverse)
        draws = 1500
        for _ in range(draws):
            dz = root @ rng.standard_normal(problem.shared_size)
            dphi = slope @ dz + np.einsum("jpq,jq->jp", roots, rng.standard_normal(point.phi.shape))
            total += cells.evaluate(point.moved(Point(dz, dphi), 1.0), found.state.log_sd, None).gradient.z
        sd = np.sqrt(np.diag(found.covariance))
        assert np.abs(sd * total / draws).max() < 0.15


@pytest.mark.parametrize(
    ("model", "form"),
    [
        ("pair", "vote"),
        pytest.param("pair", "net", marks=pytest.mark.full),
        pytest.param("board", "net", marks=pytest.mark.full),
        pytest.param("board", "vote", marks=pytest.mark.full),
    ],
)
def test_scales_that_cannot_be_learned_stay_as_given_and_it_is_said(
    model: Model, form: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = itertools.cycle([0.3, -0.3])
    monkeypatch.setattr(
        "irt_engine.models.effects.Effects.moved",
        lambda self, log_sd, step, farthest: log_sd + next(other) if self.learned and farthest else log_sd,
    )
    for way in ("TOGETHER", "PATIENT", "CAREFUL"):
        plan = getattr(variational, way)
        monkeypatch.setattr(variational, way, replace(plan, rounds=plan.rounds // 3))
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

    monkeypatch.setattr("irt_engine.fitting.variational._at_the_mean", singular)
    with pytest.raises(DidNotConverge, match="cannot be factored") as caught:
        fit(small_board(), priors=Priors(learn=False))
    assert caught.value.hint


def test_an_average_that_does_not_settle_is_an_error_and_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    for way in ("TOGETHER", "PATIENT", "CAREFUL"):
        monkeypatch.setattr(f"irt_engine.fitting.variational.{way}", replace(CAREFUL, rounds=2))
    with pytest.raises(DidNotConverge, match=r"did not settle in \d+ rounds") as caught:
        fit(small_board(), priors=Priors(learn=False))
    assert caught.value.hint


def test_a_refit_with_wide_effects_of_replies_takes_a_shorter_way_to_the_same_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    truth = draw_truth(12, 40, seed=3, form="vote", pair_sd=0.1, cell_sd=0.25, reply_sd=0.7)
    rng = np.random.default_rng(3)
    a = rng.integers(0, 12, 2000)
    pairs = np.stack([a, (a + rng.integers(1, 12, 2000)) % 12, rng.integers(0, 40, 2000)], axis=1)
    table = draw_votes(truth, pairs, seed=3)
    found = fit_with_warm_start(part(table, 1960), form="vote")
    before = found.posterior
    brisk = fit(table, form="vote", start=found.warm_start)
    monkeypatch.setattr("irt_engine.fitting.variational.NEARBY", TOGETHER)
    usual = fit(table, form="vote", start=found.warm_start)
    assert before.scales.reply is not None
    assert before.scales.reply > 0.5
    assert brisk.iterations < 0.8 * usual.iterations
    assert np.allclose(brisk.theta, usual.theta, rtol=0, atol=1e-9)
    assert np.allclose(brisk.theta_se, usual.theta_se, rtol=0, atol=1e-9)


@pytest.mark.full
@pytest.mark.parametrize("again", [0, 30])
def test_a_board_of_single_votes_settles_while_its_scales_move_together(again: int) -> None:
    """Few cells or none tell the SD of cells, and the other scores must not be taken to wait for it: that took 256 and
    187 rounds."""
    truth = draw_truth(16, 80, seed=1, form="vote", pair_sd=0.2, cell_sd=0.6)
    pairs = np.array([(a, b, j) for a, b in itertools.combinations(range(16), 2) for j in range(80)])
    cells = np.random.default_rng(1).permutation(pairs)[:4000]
    votes = np.where(np.arange(4000) < again, 2, 1)
    found = fit(draw_votes(truth, cells, seed=2, votes=votes), form="vote")
    assert found.iterations < TOGETHER.rounds
    assert (found.scales.cell == pytest.approx(Priors().cell_sd, rel=1e-12)) == (again == 0)


@pytest.mark.full
def test_a_scale_at_its_limit_holds_no_other_back() -> None:
    """Scales move together; one that may go no farther must not be counted on by the others."""
    truth = draw_truth(6, 40, seed=24, form="vote", pair_sd=0.1, cell_sd=0.25)
    rng = np.random.default_rng(24)
    a = rng.integers(0, 6, 600)
    pairs = np.stack([a, (a + rng.integers(1, 6, 600)) % 6, rng.integers(0, 40, 600)], axis=1)
    table, priors = draw_votes(truth, pairs, seed=24), Priors(cell_sd=0.25, pair_sd=0.1)
    cold = fit(table, form="vote", priors=priors)
    warm = fit(table, form="vote", priors=priors, start=start_of(part(table, 550), form="vote", priors=priors))
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


@pytest.mark.parametrize(("pairs", "slopes"), [(MOST_AVERAGED, SLOPES), (MOST_AVERAGED + 1, 1)])
def test_discriminations_of_prompts_met_once_are_averaged_over_as_long_as_their_cells_are_few(
    pairs: int, slopes: int
) -> None:
    each = list(itertools.combinations([f"chatbot {m:02d}" for m in range(60)], 2))[:pairs]
    a, b = zip(*each, strict=True)
    table = ResponseTable.from_votes(a, b, [f"prompt {j}" for j in range(pairs)], [1] * pairs)
    made = design(table, "board", "vote", Priors())
    assert CellEvaluator(made.problem, made.effects).slopes == slopes
