"""kernels: what cells say at a point, against finite differences, sums over all outcomes and numerical integrals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit

from irt_engine.fitting.expectations import CellEvaluator, Expectations, sigma_points
from irt_engine.fitting.kernels import use_kernels
from irt_engine.fitting.problem import FitProblem
from irt_engine.models.effects import Effects, Group
from irt_engine.models.parameters import Point
from irt_engine.models.thresholds import FREE, FREE_VOTE, MIRRORED, MIRRORED_VOTE, PromptModel
from tests.environment import FULL
from tests.irt_engine.cast import observed_information

NET = pytest.mark.parametrize("prompts", [FREE, MIRRORED], ids=lambda m: m.name)
VOTE = pytest.mark.parametrize("prompts", [FREE_VOTE, MIRRORED_VOTE], ids=lambda m: m.name)
SD, SLOPE_SD = 0.8, 0.5
GAP = -0.3  # log of half the width of a tie
THETAS = np.array([-3.0, -0.7, 0.0, 0.4, 2.5])


@pytest.fixture(autouse=True, params=["reference", "compiled"])
def kernels(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test asks both kinds of kernels."""
    with use_kernels(request.param):
        yield


def problem_of(prompts: PromptModel, counts: np.ndarray, starts: np.ndarray) -> FitProblem:
    """Every row of counts is a cell with a theta of its own."""
    n = len(counts)
    return FitProblem(
        prompts=prompts,
        starts=starts,
        counts=counts,
        weight=np.ones(n),
        again=counts.sum(axis=1) > 1.0,
        col=np.arange(n)[:, None],
        coef=np.ones((n, 1)),
        shared_size=n + prompts.gaps,
    )


def vague_cells(problem: FitProblem, sd: float, *, pooled: float = 0.0) -> CellEvaluator:
    """Everything has so vague a prior that only the likelihood is left; `pooled`: SD of the log discriminations where
    all prompts share a slot."""
    vague, prompts = 1e8, problem.prompts
    of_slope = Group("log_discrimination", pooled or vague, False, phi=slice(0, 1))
    effects = Effects(
        groups=(
            of_slope,
            Group("theta", vague, False, z=slice(0, problem.shared_size)),
            Group("prompt", vague, False, phi=slice(1, prompts.size)),
        ),
        cell=Group("cell", sd, False) if problem.counts.shape[1] == 3 else None,
        shared_size=problem.shared_size,
        shape=(problem.slots, prompts.size),
        shared=0 if pooled else -1,
    )
    return CellEvaluator(problem, effects)


def asked(
    prompts: PromptModel, counts: np.ndarray, at: np.ndarray, sd: float = SD, *, observed: bool = False
) -> Expectations:
    """Every row of counts is a cell with a slot and a theta of its own; at (n, 1 + P) are theta and phi."""
    cells = vague_cells(problem_of(prompts, counts, np.arange(len(counts) + 1)), sd)
    point = Point(np.r_[at[:, 0], np.zeros(prompts.gaps)], at[:, 1:])
    return cells.evaluate(point, cells.effects.start(), None, observed=observed)


def pooled(
    counts: np.ndarray, theta: np.ndarray, *, observed: bool = False, slope_sd: float = SLOPE_SD, gap: float = GAP
) -> Expectations:
    """Every row of counts is a cell of a prompt that was met once, and has a theta of its own (n,)."""
    problem = problem_of(MIRRORED_VOTE, counts, np.array([0, len(counts)]))
    cells = vague_cells(problem, SD, pooled=slope_sd)
    point = Point(np.r_[theta, gap], np.zeros((1, MIRRORED_VOTE.size)))
    return cells.evaluate(point, cells.effects.start(), None, observed=observed)


def categories() -> np.ndarray:
    return np.arange(7.0)[:, None]


def outcomes(n: int) -> tuple[np.ndarray, np.ndarray]:
    """All counts of n votes, and in how many orders each can come."""
    counts = np.array([(a, t, n - a - t) for a in range(n + 1) for t in range(n + 1 - a)], dtype=float)
    ways = [math.factorial(n) / math.prod(math.factorial(int(k)) for k in row) for row in counts]
    return counts, np.array(ways)


def somewhere(prompts: PromptModel, cells: int, *, same: bool = False) -> np.ndarray:
    at = 0.5 * np.random.default_rng(0).standard_normal((cells, 1 + prompts.size))
    return np.tile(at[:1], (cells, 1)) if same else at


def directions(cells: int, parameters: int) -> Iterator[np.ndarray]:
    """Each parameter of each cell; in a usual run those of all cells at once, each as far as no other."""
    rng = np.random.default_rng(1)
    for p in range(parameters):
        for cell in range(cells if FULL else 1):
            direction = np.zeros((cells, parameters))
            direction[:, p] = np.eye(cells)[cell] if FULL else rng.uniform(0.5, 1.5, cells)
            yield direction


def assert_gradient(prompts: PromptModel, counts: np.ndarray) -> None:
    at = somewhere(prompts, len(counts))
    told = asked(prompts, counts, at)
    analytic = np.column_stack([told.gradient.z[: len(counts)], told.gradient.phi])
    assert analytic.size > 0
    for direction in directions(len(counts), at.shape[1]):
        up, down = (asked(prompts, counts, at + sign * 1e-5 * direction).log_posterior for sign in (1, -1))
        assert (analytic * direction).sum() == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-6)


def assert_information(prompts: PromptModel, counts: np.ndarray, ways: np.ndarray) -> None:
    at = somewhere(prompts, len(counts), same=True)
    told = asked(prompts, counts, at)
    alone = [asked(prompts, counts[k : k + 1], at[k : k + 1]).log_posterior for k in range(len(counts))]
    p = ways * np.exp(alone)
    assert p.sum() == pytest.approx(1.0, abs=1e-9)
    score = np.column_stack([told.gradient.z[: len(counts)], told.gradient.phi])
    expected = (p[:, None] * score).T @ score
    assert told.information.i_theta[0] == pytest.approx(expected[0, 0], abs=1e-9)
    assert np.allclose(told.information.cross[0], expected[0, 1:], atol=1e-9)
    assert np.allclose(told.information.i_phi[0], expected[1:, 1:], atol=1e-9)


@NET
def test_the_gradient_of_a_net_rating_is_the_finite_difference(prompts: PromptModel) -> None:
    assert_gradient(prompts, categories())


@NET
def test_the_information_of_a_net_rating_is_the_expected_square_of_its_score(prompts: PromptModel) -> None:
    assert_information(prompts, categories(), np.ones(7))


@VOTE
@pytest.mark.parametrize("votes", [1, 2, 3, 5, 12])
def test_the_gradient_of_votes_is_the_finite_difference(prompts: PromptModel, votes: int) -> None:
    assert_gradient(prompts, outcomes(votes)[0][:10])


def assert_observed(prompts: PromptModel, counts: np.ndarray) -> None:
    """Less the scores times the edges' bends, observed information is the fall of the gradient, to 1e-5."""
    at = somewhere(prompts, len(counts))
    told = asked(prompts, counts, at, observed=True)
    seen = observed_information(problem_of(prompts, counts, np.arange(len(counts) + 1)), told)
    whole = np.concatenate([seen.cross[:, None, :], seen.i_phi], axis=1)
    whole = np.concatenate([np.column_stack([seen.i_theta, seen.cross])[:, :, None], whole], axis=2)
    assert whole.shape == (len(counts), at.shape[1], at.shape[1])
    for p in range(at.shape[1]):
        step = np.zeros_like(at)
        step[:, p] = 1e-5
        up, down = (asked(prompts, counts, at + sign * step).gradient for sign in (1, -1))
        rise = np.column_stack([(up.z - down.z)[: len(counts)], up.phi - down.phi]) / 2e-5
        assert np.allclose(whole[:, :, p], -rise, atol=1e-5)


@NET
def test_the_observed_information_of_a_net_rating_is_the_fall_of_its_gradient(prompts: PromptModel) -> None:
    assert_observed(prompts, categories())


@VOTE
@pytest.mark.parametrize("votes", [1, 2, 3, 5])
def test_the_observed_information_of_votes_is_the_fall_of_their_gradient(prompts: PromptModel, votes: int) -> None:
    assert_observed(prompts, outcomes(votes)[0])


@VOTE
def test_parts_of_one_vote_have_the_derivatives_of_their_log_likelihood(prompts: PromptModel) -> None:
    parts = np.array([(0.25, 0.5, 0.25), (0.5, 0.5, 0.0), (0.0, 0.125, 0.875)])
    assert_gradient(prompts, parts)
    assert_observed(prompts, parts)


@VOTE
@pytest.mark.parametrize("observed", [False, True])
def test_cells_of_one_vote_few_and_many_are_told_as_they_are_alone(prompts: PromptModel, observed: bool) -> None:
    """Cells of one vote, of two, of three and of more go through a block side by side, each kind so many at a time."""
    kinds: list[list[float]] = [[1, 0, 0], [2, 0, 1], [0, 1, 0], [0, 0, 2], [0, 0, 1], [1, 1, 1], [1, 1, 0], [4, 3, 2]]
    kinds += [[2, 1, 1], [0, 0.3, 0.4], [0, 900, 0], [40_000, 9, 60_000]]
    counts = np.array(kinds * 37, float)  # more of each kind than a block takes
    at = somewhere(prompts, 1)
    cells = vague_cells(problem_of(prompts, counts, np.array([0, len(counts)])), SD)
    point = Point(np.r_[np.full(len(counts), at[0, 0]), np.zeros(prompts.gaps)], at[:, 1:])
    mixed = cells.evaluate(point, cells.effects.start(), None, observed=observed)
    assert len(kinds) == 12
    for first in range(len(kinds)):
        alone = asked(prompts, counts[first : first + 1], at, observed=observed)
        same = slice(first, None, len(kinds))
        assert np.allclose(mixed.gradient.z[: len(counts)][same], alone.gradient.z[0], rtol=1e-12)
        assert np.allclose(mixed.information.i_theta[same], alone.information.i_theta[0], rtol=1e-12)
        assert np.allclose(mixed.information.cross[same], alone.information.cross[0], rtol=1e-11)


@VOTE
@pytest.mark.parametrize("votes", [1, 2, 3])
def test_the_information_of_few_votes_is_the_expected_square_of_their_score(prompts: PromptModel, votes: int) -> None:
    assert_information(prompts, *outcomes(votes))


@VOTE
@pytest.mark.parametrize("votes", [4, 6, 8, pytest.param(20, marks=pytest.mark.full)])
def test_the_information_of_more_votes_is_close_to_the_expected_square_of_their_score(
    prompts: PromptModel, votes: int
) -> None:
    """It is that of normal votes: the more of them, the closer."""
    counts, ways = outcomes(votes)
    at = somewhere(prompts, len(counts), same=True)
    told = asked(prompts, counts, at)
    alone = [asked(prompts, counts[k : k + 1], at[k : k + 1]).log_posterior for k in range(len(counts))]
    exact = ways * np.exp(alone) @ told.gradient.z[: len(counts)] ** 2
    assert told.information.i_theta[0] == pytest.approx(exact, rel=0.12)


@pytest.mark.parametrize(
    "counts", [(1, 0, 0), (0, 1, 0), (1, 1, 1), (5, 0, 0), (4, 4, 4), (0, 0, 40), (300, 50, 10), (0, 0, 400)]
)
def test_the_effect_of_a_cell_is_integrated_out(counts: tuple[int, int, int]) -> None:
    a, t, b = counts
    theta, tie = 0.7, 0.5
    at = np.array([[theta, 0.0, math.log(tie)]])

    def chance(e: float) -> float:
        lose, win = 1 / (1 + math.exp(theta + e + tie)), 1 / (1 + math.exp(-(theta + e - tie)))
        return lose**a * (1 - lose - win) ** t * win**b * math.exp(-0.5 * (e / SD) ** 2) / (SD * math.sqrt(2 * math.pi))

    exact = quad(chance, -8, 8, epsabs=0, epsrel=1e-10, limit=500)[0]
    assert asked(MIRRORED_VOTE, np.array([counts], float), at).log_posterior == pytest.approx(math.log(exact), abs=2e-3)


def test_a_cell_without_an_effect_is_so_many_votes() -> None:
    counts = np.array([[2.0, 1.0, 3.0]])
    at = np.array([[0.3, 0.2, -0.5]])
    together = asked(MIRRORED_VOTE, counts, at, sd=0.01).log_posterior
    one = [asked(MIRRORED_VOTE, np.eye(3)[k : k + 1], at, sd=0.01).log_posterior for k in range(3)]
    assert together == pytest.approx(float(counts[0] @ one), abs=1e-3)


@pytest.mark.parametrize("theta", [-900.0, -80.0, 80.0, 900.0])
@pytest.mark.parametrize("prompts", [FREE, MIRRORED, FREE_VOTE, MIRRORED_VOTE], ids=lambda m: m.name)
def test_it_stays_finite_far_out(prompts: PromptModel, theta: float) -> None:
    counts = outcomes(2)[0] if prompts in (FREE_VOTE, MIRRORED_VOTE) else categories()
    at = np.zeros((len(counts), 1 + prompts.size))
    at[:, 0] = theta
    told = asked(prompts, counts, at)
    assert np.isfinite(told.log_posterior)
    for values in (told.gradient.z, told.gradient.phi, told.information.i_theta, told.information.i_phi):
        assert np.isfinite(values).all()


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("dimension", [3, 5, 8])
def test_sigma_points_have_the_moments_of_a_normal(dimension: int, mirrored: bool) -> None:
    points = sigma_points(dimension, mirrored=mirrored)
    assert np.allclose(points.mean(axis=0), 0.0, atol=1e-12)
    assert np.allclose(points.T @ points / len(points), np.eye(dimension), atol=1e-9)
    assert np.allclose((points**3).mean(axis=0), 0.0, atol=1e-9)


@cache
def whole_chance(a: int, t: int, b: int, theta: float, slope_sd: float) -> float:
    """Of votes on a prompt that was met once, over its discrimination and the cell's effect, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    alpha, e = np.exp(slope_sd * nodes)[:, None], SD * nodes[None, :]
    low, high = (expit(alpha * (theta + side * math.exp(GAP)) + e) for side in (1.0, -1.0))
    chance = (1.0 - low) ** a * (low - high) ** t * high**b
    return float(weights @ chance @ weights)


@pytest.mark.parametrize("votes", [1, 2, 3])
@pytest.mark.parametrize("theta", THETAS)
@pytest.mark.parametrize("slope_sd", [0.5, 1.0])
def test_the_discrimination_of_a_prompt_met_once_is_integrated_out(votes: int, theta: float, slope_sd: float) -> None:
    every = outcomes(votes)[0].astype(int)
    assert len(every) == math.comb(votes + 2, 2)
    for a, t, b in every:
        told = pooled(np.array([[a, t, b]], float), np.array([theta]), slope_sd=slope_sd)
        assert math.exp(told.log_posterior) == pytest.approx(whole_chance(a, t, b, theta, slope_sd), rel=0.01, abs=1e-3)


@pytest.mark.parametrize("slope_sd", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("gap", [-18.0, GAP, 5.0])
def test_however_steep_a_prompt_met_once_may_be_it_tells_something_finite(slope_sd: float, gap: float) -> None:
    theta = np.array([-150.0, -20.0, -3.0, 0.0, 2.0, 20.0, 150.0])
    kinds = np.array([*np.eye(3), *(2.0 * np.eye(3)), np.ones(3), [0.4, 0.0, 1.3]])
    counts, thetas = np.repeat(kinds, len(theta), axis=0), np.tile(theta, len(kinds))
    for observed in (False, True):
        told = pooled(counts, thetas, observed=observed, slope_sd=slope_sd, gap=gap)
        assert np.isfinite(told.log_posterior)
        assert np.isfinite(told.gradient.z).all()
        assert np.isfinite(told.information.i_theta).all()
        assert observed or (told.information.i_theta >= 0.0).all()


@pytest.mark.parametrize("shares", [[1.0], [0.5, 0.5], [1.0, 1.0]], ids=["one vote", "two halves", "two votes"])
def test_what_tells_the_cell_effects_sd_are_cells_voted_on_again_whatever_their_votes_count(
    shares: list[float],
) -> None:
    at, counts = somewhere(FREE_VOTE, 1), np.array([[0.0, 0.0, sum(shares)]])
    problem = replace(problem_of(FREE_VOTE, counts, np.array([0, 1])), again=np.array([len(shares) > 1]))
    point, step = Point(np.r_[at[:, 0], np.zeros(FREE_VOTE.gaps)], at[:, 1:]), 1e-5

    def told(log_sd: float) -> Expectations:
        cells = vague_cells(problem, SD * math.exp(log_sd))
        return cells.evaluate(point, cells.effects.start(), None)

    by_log_sd = (told(step).log_posterior - told(-step).log_posterior) / (2.0 * step)
    assert told(0.0).sums[0, 0] == pytest.approx(by_log_sd if len(shares) > 1 else 0.0, rel=1e-6)
    assert abs(by_log_sd) > 1e-3


def test_votes_that_count_in_part_tell_what_lies_between_whole_ones() -> None:
    theta = np.array([0.7])
    one, most, two = (pooled(np.array([[0.0, 0.0, n]]), theta).information.i_theta[0] for n in (1.0, 1.999, 2.0))
    assert most == pytest.approx(one + 0.999 * (two - one), rel=1e-9)


@pytest.mark.parametrize("votes", [1, 2, 3, 2.5])
def test_the_gradient_of_a_prompt_met_once_is_the_finite_difference(votes: float) -> None:
    counts = outcomes(math.floor(votes))[0] * votes / math.floor(votes)
    theta = np.resize(THETAS, len(counts))
    told = pooled(counts, theta)
    assert len(counts) == math.comb(math.floor(votes) + 2, 2)
    for cell in range(len(counts)):
        step = 1e-5 * np.eye(len(counts))[cell]
        up, down = (pooled(counts, theta + sign * step).log_posterior for sign in (1, -1))
        assert told.gradient.z[cell] == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("votes", [1, 2, 3])
def test_the_observed_information_of_a_prompt_met_once_is_the_fall_of_its_gradient(votes: int) -> None:
    counts = outcomes(votes)[0]
    theta = np.resize(THETAS, len(counts))
    up, down = (pooled(counts, theta + step).gradient.z[: len(counts)] for step in (1e-5, -1e-5))
    assert np.allclose(pooled(counts, theta, observed=True).information.i_theta, (down - up) / 2e-5, atol=1e-5)


@pytest.mark.parametrize("votes", [1, 2, 3])
@pytest.mark.parametrize("theta", THETAS)
def test_the_information_of_a_prompt_met_once_is_the_expected_square_of_its_score(votes: int, theta: float) -> None:
    counts, ways = outcomes(votes)
    told = pooled(counts, np.full(len(counts), theta))
    alone = [pooled(counts[k : k + 1], np.array([theta])).log_posterior for k in range(len(counts))]
    p = ways * np.exp(alone)
    assert p.sum() == pytest.approx(1.0, abs=1e-9)
    assert told.information.i_theta[0] == pytest.approx(p @ told.gradient.z[: len(counts)] ** 2, abs=1e-9)
