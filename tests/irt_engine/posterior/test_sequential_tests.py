"""Who may be shown as different, however often the board is looked at: sequential p, and what is told apart by them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm

from irt_engine import DEFAULT_PRIORS, EngineError, Posterior
from irt_engine.posterior.sequential_tests import MOST_LOOKS, discoveries, log_p_apart, log_p_equal, told_apart
from tests.irt_engine.posteriors import boards, exchangeable, made_up, random_board

APART = random_board(7, 5, group=[1, 2, 1, 2, 1, 1, 3])
KAPPA = 0.5 / DEFAULT_PRIORS.ability_sd**2


def p_of(z: float, looks: int | None, se: float = 0.3) -> float:
    return float(np.exp(log_p_equal(np.array([z * se]), np.array([se]), looks=looks))[0])


def from_votes(score: float, information: float) -> tuple[np.ndarray, np.ndarray]:
    """The posterior mean and SE of a difference about which votes say this."""
    precision = information + KAPPA
    return np.array([score / precision]), np.array([precision**-0.5])


@pytest.mark.parametrize(
    ("alpha", "looks", "critical"),
    [
        (0.05, 1, 1.960), (0.05, 2, 2.178), (0.05, 3, 2.289), (0.05, 4, 2.361), (0.05, 5, 2.413), (0.05, 10, 2.555),
        (0.05, 20, 2.672), (0.01, 2, 2.772), (0.01, 5, 2.986), (0.01, 10, 3.117), (0.1, 5, 2.122),
    ],
)  # fmt: skip
def test_planned_looks_have_pococks_critical_values(alpha: float, looks: int, critical: float) -> None:
    """Jennison and Turnbull (2000), Group Sequential Methods, table 2.1."""
    assert brentq(lambda z: p_of(z, looks) - alpha, 1.0, 4.0) == pytest.approx(critical, abs=0.002)


@pytest.mark.parametrize("looks", [4, 30])
def test_a_random_walk_crosses_at_some_look_with_probability_p(looks: int) -> None:
    steps = np.random.default_rng(0).standard_normal((40_000, looks))
    highest = np.abs(np.cumsum(steps, axis=1) / np.sqrt(np.arange(1, looks + 1))).max(axis=1)
    for z in (1.0, 2.0, 2.6):
        share = float(np.mean(highest >= z))
        assert p_of(z, looks) == pytest.approx(share, abs=4.0 * np.sqrt(share * (1.0 - share) / 40_000))


def test_one_look_is_the_ordinary_test() -> None:
    for z in (0.0, 0.7, 1.96, 4.0, 9.0, 30.0):
        assert p_of(z, 1) == pytest.approx(2.0 * norm.sf(z), rel=2e-3)


def test_one_look_at_a_margin_is_two_one_sided_tests() -> None:
    mean, se = np.array([0.0, 0.2, -0.2, 0.7]), np.full(4, 0.2)
    p = np.exp(log_p_apart(mean, se, 0.5, looks=1))
    assert p == pytest.approx([norm.sf(2.5), norm.sf(1.5), norm.sf(1.5), 0.5], rel=2e-3)


def test_more_looks_and_the_more_so_any_number_of_them_ask_for_more() -> None:
    p = [p_of(2.5, looks) for looks in (1, 2, 12, 40, MOST_LOOKS, None)]
    assert p == sorted(p)
    assert p_of(2.5, MOST_LOOKS + 1) == p_of(2.5, None)


@pytest.mark.parametrize(("score", "information"), [(5.0, 3.0), (-30.0, 40.0), (60.0, 400.0)])
def test_for_any_number_of_looks_p_is_1_over_the_average_likelihood_ratio(score: float, information: float) -> None:
    def weighed(x: float) -> float:
        return float(np.exp(score * x - 0.5 * information * x**2) * norm.pdf(x))

    mean, se = from_votes(score, information)
    evidence = quad(weighed, -4.0, 4.0, points=[score / information])[0]
    assert float(np.exp(-log_p_equal(mean, se, looks=None))[0]) == pytest.approx(evidence, rel=1e-6)


@pytest.mark.parametrize(("score", "information"), [(5.0, 100.0), (-8.0, 60.0), (0.0, 20.0)])
def test_and_for_a_margin_over_what_lies_on_the_inner_side_of_its_border(score: float, information: float) -> None:
    margin = 0.5

    def weighed(x: float) -> float:
        inward = information * margin - abs(score)
        return float(np.exp(inward * x - 0.5 * information * x**2) * 2.0 * norm.pdf(x, scale=margin))

    mean, se = from_votes(score, information)
    evidence = quad(weighed, 0.0, 4.0, points=[margin])[0]
    assert float(np.exp(-log_p_apart(mean, se, margin, looks=None))[0]) == pytest.approx(evidence, rel=1e-6)


def test_equals_are_hardly_ever_told_apart_at_any_look_and_the_different_are_in_the_end() -> None:
    rng = np.random.default_rng(3)
    information = np.arange(1.0, 201.0)
    noise = np.cumsum(rng.standard_normal((2000, 200)), axis=1)
    precision = information + KAPPA
    for gap, least, most in ((0.0, 0.0, 0.05), (0.5, 0.99, 1.0)):
        mean = (noise + gap * information) / precision
        log_p = log_p_equal(mean.ravel(), np.tile(precision**-0.5, 2000), looks=None).reshape(mean.shape)
        assert least <= np.mean((log_p <= np.log(0.05)).any(axis=1)) <= most


@pytest.mark.parametrize("looks", [12, None])
def test_a_difference_at_the_margin_is_hardly_ever_shown_smaller_and_none_at_all_is_in_the_end(
    looks: int | None,
) -> None:
    rng = np.random.default_rng(4)
    information = np.linspace(25.0, 300.0, 12)
    noise = np.cumsum(5.0 * rng.standard_normal((4000, 12)), axis=1)
    precision = information + KAPPA
    for gap, least, most in ((0.5, 0.0, 0.055), (-0.5, 0.0, 0.055), (0.0, 0.95, 1.0)):
        mean = (noise + gap * information) / precision
        log_p = log_p_apart(mean.ravel(), np.tile(precision**-0.5, 4000), 0.5, looks=looks).reshape(mean.shape)
        assert least <= np.mean((log_p <= np.log(0.05)).any(axis=1)) <= most


@pytest.mark.parametrize("looks", [1, 12, None])
def test_what_is_certain_is_told_apart_or_equal_and_nothing_is_nan(looks: int | None) -> None:
    mean, se = np.array([0.0, 0.3, 0.0, 1e3]), np.array([0.0, 0.0, 5.0, 1e-9])
    for log_p in (log_p_equal(mean, se, looks=looks), log_p_apart(mean, se, 0.5, looks=looks)):
        assert np.isfinite(log_p).all()
        assert (log_p <= 0.0).all()
    different, small = log_p_equal(mean, se, looks=looks), log_p_apart(mean, se, 0.5, looks=looks)
    assert (different <= np.log(0.01)).tolist() == [False, True, False, True]
    assert (small <= np.log(0.01)).tolist() == [True, True, False, False]


def test_the_step_up_procedure_rejects_the_most_that_the_level_allows() -> None:
    p = np.array([0.001, 0.02, 0.021, 0.6, 0.9])
    assert discoveries(np.log(p), 0.05).tolist() == [True, True, True, False, False]  # .021 <= 3/5 x .05
    assert discoveries(np.log(p[1:]), 0.05).tolist() == [True, True, False, False]
    assert not discoveries(np.log(np.array([0.04, 0.04, 0.9, 0.9])), 0.05).any()
    assert discoveries(np.empty(0), 0.05).tolist() == []


@given(st.lists(st.floats(-20.0, 0.0), min_size=1, max_size=12), st.integers(0, 11))
def test_nobody_is_told_apart_whose_own_p_is_above_the_level(log_p: list[float], row: int) -> None:
    found = discoveries(np.array(log_p), 0.05)
    assert all(value <= np.log(0.05) for value in np.array(log_p)[found])
    clearer = np.array(log_p)
    clearer[row % len(log_p)] -= 1.0
    assert (discoveries(clearer, 0.05) | ~found).all()  # a clearer pair takes nothing from the others


@given(boards, st.sampled_from([1, 12, None]))
def test_who_is_better_bounds_and_classes_say_the_same(board: Posterior, looks: int | None) -> None:
    told = told_apart(board, looks=looks)
    assert told.better.sum() == told.apart.sum()
    assert not (told.better & told.better.T).any()
    assert (board.ability[:, None] > board.ability[None, :])[told.better].all()
    rank, best, worst = told.bounds.T
    assert ((best <= rank) & (rank <= worst)).all()
    assert (best - 1 == told.better.sum(axis=0)).all()
    for m, number in enumerate(told.classes):
        opener = next(i for i in np.argsort(-board.ability, kind="stable") if told.classes[i] == number)
        assert m == opener or not told.better[opener, m]


def test_one_look_at_two_chatbots_is_their_difference() -> None:
    for gap in (0.0, 0.8, 0.9):
        board = exchangeable(2, 0.3, [0.0, gap])
        assert told_apart(board, looks=1).apart.tolist() == [board.difference("bot0", "bot1").excludes_zero]


def test_more_looks_tell_fewer_apart() -> None:
    board = exchangeable(6, 0.15, [0.0, 0.4, 0.9, 1.1, 1.7, 2.4])
    counts = [int(told_apart(board, looks=looks).apart.sum()) for looks in (1, 12, 100, None)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1] > 0
    assert (told_apart(board, looks=12, alpha=0.01).apart <= told_apart(board, looks=12).apart).all()


def test_separate_parts_are_never_told_apart() -> None:
    told = told_apart(APART, looks=1, alpha=0.9)
    assert told.apart.any()
    assert not told.better[APART.group[:, None] != APART.group[None, :]].any()
    assert told.bounds[6].tolist() == [1, 1, 1]


def test_what_it_gives_is_frozen_and_empty_for_one_chatbot() -> None:
    told = told_apart(made_up([0.0], [[1.0]]), looks=None)
    assert (len(told.apart), told.bounds.tolist(), told.classes.tolist()) == (0, [[1, 1, 1]], [1])
    with pytest.raises(ValueError, match="read-only"):
        told.better[0, 0] = True


@pytest.mark.parametrize(("looks", "alpha"), [(0, 0.05), (-1, 0.05), (12, 0.0), (12, 1.0), (None, float("nan"))])
def test_no_looks_and_no_probability_are_refused(looks: int | None, alpha: float) -> None:
    with pytest.raises(EngineError):
        told_apart(APART, looks=looks, alpha=alpha)


def test_classes_and_intervals_answer_different_questions() -> None:
    """Within a class intervals may lie apart, and between classes they may overlap."""
    apart, alike = (exchangeable(2, 0.1, ability=np.array([half, -half])) for half in (0.15, 0.4))
    (low, _), (_, high) = apart.interval()
    assert low > high
    assert told_apart(apart, looks=None).classes.tolist() == [1, 1]
    many = exchangeable(12, 0.1, ability=np.linspace(0.55, -0.55, 12))
    classes, interval = told_apart(many, looks=None).classes, many.interval()
    opens = [m for m in range(1, 12) if classes[m] > classes[m - 1]]
    assert opens
    assert all(interval[m, 1] > interval[m - 1, 0] for m in opens)
    assert told_apart(alike, looks=None).classes.tolist() == [1, 2]
