"""Discriminations that differ by tier: derivatives go through the layer, effects are found where they are there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from irt_engine import InvalidResponses, Posterior, Priors, ResponseTable, fit
from irt_engine.fitting.design import FitDesign, design
from irt_engine.fitting.everyday import Form
from irt_engine.fitting.expectations import CellEvaluator
from irt_engine.fitting.joint_mode import find_joint_mode
from irt_engine.fitting.observed_information import curvature_at
from irt_engine.fitting.schur_complement import slot_blocks
from irt_engine.fitting.variational import solve, state_at
from irt_engine.information import pair_information
from irt_engine.models.parameters import Point
from irt_engine.simulate import all_cells, draw_votes
from irt_engine.truth import Truth, draw_truth
from tests.environment import FULL
from tests.irt_engine.cast import everything, observed_information, rebuilt, rows, small_board, start_of

FORMS = pytest.mark.parametrize("form", ["net", "vote"])
TIERS = np.array([0, 0, 1, 1, 2])


def made_with_tiers(form: Form, tiers: np.ndarray = TIERS) -> FitDesign:
    """Five chatbots on twelve prompts; and one prompt in a single cell, which has no parameters of its own."""
    return design(small_board(share=0.3), "board", form, Priors(), tiers)


def somewhere(made: FitDesign, seed: int = 0) -> Point:
    rng = np.random.default_rng(seed)
    problem = made.problem
    at = Point(
        0.5 * rng.standard_normal(problem.shared_size), 0.5 * rng.standard_normal((problem.slots, problem.width))
    )
    at.phi[:, problem.prompts.size :] *= 0.3  # farther out, digits of the log-likelihood of votes are lost
    return at


def along(made: FitDesign, seed: int) -> Point:
    """A direction that moves all parameters."""
    there = somewhere(made, seed)
    return Point(there.z / 5.0, there.phi / 5.0)


@FORMS
def test_the_gradient_through_the_layer_is_the_finite_difference(form: Form) -> None:
    made, step = made_with_tiers(form), 1e-5
    cells, log_sd, at = CellEvaluator(made.problem, made.effects), made.effects.start(), somewhere(made)
    gradient = cells.evaluate(at, log_sd, None).gradient
    for seed in range(1, 6):
        way = along(made, seed)
        up, down = (cells.evaluate(at.moved(way, sign * step), log_sd, None).log_posterior for sign in (1, -1))
        slope = gradient.z @ way.z + (gradient.phi * way.phi).sum()
        assert slope == pytest.approx((up - down) / (2.0 * step), rel=1e-6)


@FORMS
def test_each_tier_of_each_prompt_has_its_own_derivative(form: Form) -> None:
    made, step = made_with_tiers(form), 1e-5
    cells, log_sd, at = CellEvaluator(made.problem, made.effects), made.effects.start(), somewhere(made)
    gradient = cells.evaluate(at, log_sd, None).gradient
    assert made.problem.width > 3
    for p in range(made.problem.width):
        phi = np.zeros_like(at.phi)
        phi[2, p] = 1.0
        way = Point(np.zeros_like(at.z), phi)
        up, down = (cells.evaluate(at.moved(way, sign * step), log_sd, None).log_posterior for sign in (1, -1))
        assert gradient.phi[2, p] == pytest.approx((up - down) / (2.0 * step), rel=1e-5, abs=1e-7)


@FORMS
def test_the_observed_information_through_the_layer_is_the_fall_of_the_gradient(form: Form) -> None:
    made, step = made_with_tiers(form), 1e-5
    problem, prior = made.problem, made.effects.precision(made.effects.start())
    cells, log_sd, at = CellEvaluator(problem, made.effects), made.effects.start(), somewhere(made)
    seen = observed_information(problem, cells.evaluate(at, log_sd, None, observed=True))
    assert problem.prompts.first_gap == 4  # the log discrimination, and the effects of three tiers
    for p in range(problem.prompts.first_gap):  # the common log gaps stay where they are
        way = Point(np.zeros_like(at.z), np.zeros_like(at.phi))
        way.phi[:, p] = 1.0
        up, down = (cells.evaluate(at.moved(way, sign * step), log_sd, None).gradient for sign in (1, -1))
        fall = -(up.phi - down.phi) / (2.0 * step)
        own = slot_blocks(problem, seen, prior)[:, :, p]
        assert np.allclose(own, fall, rtol=1e-5, atol=1e-5 * np.abs(prior.phi).max() / 1e6 + 1e-5)
        of_shaft = -(up.z - down.z) / (2.0 * step)
        assert np.allclose(
            problem.shared_sums(seen.cross[:, p])[: made.abilities], of_shaft[: made.abilities], atol=1e-5
        )


@FORMS
@pytest.mark.parametrize("tiers", [None, TIERS], ids=["without tiers", "with tiers"])
def test_steps_divide_by_the_observed_information(form: Form, tiers: np.ndarray | None) -> None:
    """Every prompt has enough votes to have a clear curvature of its own."""
    made = design(everything(5, 20, seed=9), "board", form, Priors(learn=False, reply_sd=0.0), tiers)
    with CellEvaluator(made.problem, made.effects) as cells:
        found = solve(cells, state_at(cells, find_joint_mode(cells, made.origin)[0]))
        point, log_sd = found.state.point, found.state.log_sd
        told = cells.evaluate(point, log_sd, None, observed=True)
        by = curvature_at(cells, found.state, found.at_mean, None, told, learn=False)
        assert by is not None
        expected = cells.factor(observed_information(made.problem, told), made.effects.precision(log_sd))
    assert np.allclose(by.factors.covariance(), expected.covariance(), rtol=1e-9, atol=0.0)


def test_parts_see_the_covariance_of_what_they_are_made_of() -> None:
    parts = made_with_tiers("vote").problem.parts
    assert parts is not None
    rng = np.random.default_rng(0)
    slots_of_all, parts_of_all, wide = len(parts.first) - 1, len(parts.share), 2 + parts.tiers
    root = rng.standard_normal((slots_of_all, wide, wide))
    cover = root @ root.swapaxes(1, 2)
    slots = slice(2, 5)
    with_shared, own = parts.covariances(slots, root[slots], cover[slots])
    of = parts.of(slots)
    slot = np.repeat(np.arange(slots_of_all), np.diff(parts.first))
    for k, part in enumerate(range(parts_of_all)[of]):
        down = np.zeros((2, wide))
        down[0, 0], down[0, 1 : 1 + parts.tiers], down[1, -1] = 1.0, parts.share[part], 1.0
        assert np.allclose(own[k], down @ cover[slot[part]] @ down.T)
        assert np.allclose(with_shared[k], down @ root[slot[part]])
    phi, narrow = rng.standard_normal((slots_of_all, wide)), rng.standard_normal((parts_of_all, 2))
    assert (parts.phi(phi) * narrow).sum() == pytest.approx((phi * parts.gradient(narrow)).sum())


@FORMS
def test_tiers_that_are_all_the_same_are_as_none(form: Form) -> None:
    table = small_board()
    assert fit(table, form=form, tiers=[1] * 5).to_bytes() == fit(table, form=form).to_bytes()


@FORMS
def test_names_of_tiers_and_the_order_of_rows_do_not_matter(form: Form) -> None:
    table = small_board()
    found = fit(table, form=form, tiers=[0, 1, 0, 1, 1])
    other = fit(table, form=form, tiers=[1, 0, 1, 0, 0])
    assert np.allclose(other.ability, found.ability, atol=1e-8)
    assert np.allclose(other.tier_discrimination[:, ::-1, ::-1], found.tier_discrimination, atol=1e-8)
    order = np.random.default_rng(0).permutation(len(table))
    mixed = fit(
        rebuilt(table, {name: column[order] for name, column in rows(table).items()}), form=form, tiers=[0, 1, 0, 1, 1]
    )
    assert mixed.to_bytes() == found.to_bytes()


@FORMS
def test_a_warm_fit_ends_where_a_cold_one_does_whatever_tiers_the_earlier_one_had(form: Form) -> None:
    table = small_board()
    cold = fit(table, form=form, tiers=[0, 0, 1, 1, 1])
    for tiers in ([0, 0, 1, 1, 1], [0, 1, 1, 1, 0], None):
        start = start_of(table, form=form, tiers=tiers)
        warm = fit(table, form=form, tiers=[0, 0, 1, 1, 1], start=start)
        assert np.allclose(warm.covariance, cold.covariance, atol=1e-9)
        assert np.allclose(warm.tier_discrimination_se, cold.tier_discrimination_se, atol=1e-8)
        assert warm.iterations < cold.iterations


@FORMS
def test_a_fit_without_tiers_may_begin_with_one_that_has_them(form: Form) -> None:
    table = small_board()
    cold = fit(table, form=form)
    warm = fit(table, form=form, start=start_of(table, form=form, tiers=[0, 0, 1, 1, 1]))
    assert warm.iterations < cold.iterations
    assert np.allclose(warm.covariance, cold.covariance, atol=1e-9)


def test_a_posterior_with_tiers_goes_through_bytes_and_its_parts_fit_together() -> None:
    found = fit(small_board(), form="vote", tiers=[0, 0, 1, 1, 1])
    again = Posterior.from_bytes(found.to_bytes())
    assert again.to_bytes() == found.to_bytes()
    assert np.array_equal(again.tier, [0, 0, 1, 1, 1])
    inside = np.diagonal(found.tier_discrimination, axis1=1, axis2=2)
    assert np.allclose(found.tier_discrimination[:, 0, 1], np.sqrt(inside.prod(axis=1)))
    assert np.allclose(found.discrimination, np.sqrt(inside.prod(axis=1)))
    assert (found.tier_discrimination_se > 0).all()
    assert found.scales.tier is not None


def test_predictions_and_information_use_the_discrimination_of_the_pair_s_tiers() -> None:
    found = fit(small_board(), form="vote", tiers=[0, 0, 1, 1, 1])
    a, b, prompt = np.array([0, 3, 2]), np.array([1, 0, 4]), np.array([5, 5, 5])
    s, t = found.tier[a], found.tier[b]
    for k in range(3):
        plain = replace(
            found,
            tier=np.empty(0, np.int64),
            discrimination=found.tier_discrimination[:, s[k], t[k]],
            discrimination_se=found.tier_discrimination_se[:, s[k], t[k]],
        )
        row = slice(k, k + 1)
        for j in (prompt, np.full(3, -1)):
            assert np.allclose(
                found.vote_probabilities(a, b, j)[row], plain.vote_probabilities(a[row], b[row], j[row]), atol=1e-5
            )
        assert np.allclose(pair_information(found, a, b)[row], pair_information(plain, a[row], b[row]))
    own = found.comparison_vote_probabilities(np.arange(3), prompt)
    pairs = np.array([(found.index(c.a), found.index(c.b)) for c in found.comparisons[:3]])
    assert np.allclose(own, found.vote_probabilities(pairs[:, 0], pairs[:, 1], prompt))


@pytest.mark.parametrize("tiers", [[0, 1], [0, 1, 2, 3, -1], [0.5] * 5, [0, 1, 2, 3, 10], [[0], 1, 2, 3, 4]])
def test_tiers_that_do_not_fit_the_chatbots_are_refused(tiers: list) -> None:
    with pytest.raises(InvalidResponses, match="tiers") as caught:
        fit(small_board(), tiers=tiers)
    assert caught.value.hint


def test_the_pair_model_has_no_tiers() -> None:
    with pytest.raises(InvalidResponses, match="tiers"):
        fit(small_board(), "pair", tiers=[0, 0, 1, 1, 1])


@pytest.fixture(scope="module", params=[0.0, 0.6])
def recovered(request: pytest.FixtureRequest) -> tuple[Truth, Posterior, Posterior, ResponseTable]:
    """A truth without and one with effects of tiers, a fit that knows of tiers, one that does not, and other votes."""
    truth = draw_truth(10, 20, seed=11, form="vote", tiers=2, tier_sd=request.param)
    assert truth.tier is not None
    train = draw_votes(truth, all_cells(10, 20), seed=12, votes=3)
    unseen = draw_votes(truth, all_cells(10, 20), seed=13, votes=3)
    with_tiers = fit(train, form="vote", tiers=truth.tier)
    return truth, with_tiers, fit(train, form="vote"), unseen


def test_effects_of_tiers_are_found_where_they_are_and_shrink_where_they_are_not(
    recovered: tuple[Truth, Posterior, Posterior, ResponseTable],
) -> None:
    truth, found, plain, unseen = recovered
    assert truth.tier is not None
    assert truth.tier_effect is not None
    assert found.scales.tier is not None
    gain = log_loss(plain, unseen) - log_loss(found, unseen)
    if truth.tier_effect.any():
        assert 0.4 < found.scales.tier < 0.9
        assert gain > 0.003
        log_alpha = np.log(np.diagonal(found.tier_discrimination, axis1=1, axis2=2))
        se = np.diagonal(found.tier_discrimination_se / found.tier_discrimination, axis1=1, axis2=2)
        true = np.log(truth.discrimination)[:, None] + truth.tier_effect
        assert np.corrcoef(log_alpha.ravel(), true.ravel())[0, 1] > 0.8
        covered = np.abs(log_alpha - log_alpha.mean() - true + true.mean()) < 1.96 * se
        assert covered.mean() > 0.85
    else:
        assert abs(gain) < 0.003


def test_effects_of_tiers_that_are_not_there_shrink() -> None:
    """On a single board of this size they may look as if they were: the first of these has the SD that it was given."""
    learned = []
    for seed in (11, 21, 31, 41) if FULL else (11, 21, 31):
        truth = draw_truth(10, 20, seed=seed, form="vote", tiers=2, tier_sd=0.0)
        votes = draw_votes(truth, all_cells(10, 20), seed=seed + 1, votes=3)
        learned.append(fit(votes, form="vote", tiers=truth.tier).scales.tier or 0.0)
    assert np.median(learned) < 0.6 * Priors().tier_sd


def log_loss(found: Posterior, votes: ResponseTable) -> float:
    p = found.vote_probabilities(votes.a, votes.b, votes.prompt)
    return float(-np.log(p[np.arange(len(votes)), votes.outcome + 1]).mean())
