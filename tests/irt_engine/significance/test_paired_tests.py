"""Tests of differences: published numbers, other libraries, error rates under the null, laws, and refusals."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, chi2, norm, studentized_range
from statsmodels.stats.multitest import multipletests

from irt_engine.errors import EngineWarning, InvalidResponses
from irt_engine.significance.multiple_comparisons import holm, simultaneous
from irt_engine.significance.paired_tests import Significance, binomial, chi_square, cochran_q, mcnemar

NO_SEEDS: list[object] = [-1, 1.5, True, None, "a", [1, 2], float("nan"), 2**63]

# Cochran (1950), Biometrika 37, table of four media on 69 specimens: how many specimens grew on which media.
MEDIA = np.repeat(
    np.array([[1, 1, 1, 1], [1, 1, 0, 1], [0, 1, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0]]), [4, 2, 3, 1, 59], axis=0
)
P_VALUES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12)


def test_the_exact_binomial_has_the_p_of_r() -> None:
    # Conover (1971), p. 97f., as in R's help page of binom.test: 682 of 925 against 0.75, p = 0.3825
    found = binomial(682, 925, null=0.75)
    assert found.p == pytest.approx(0.3825, abs=5e-5)
    assert (found.statistic, found.n) == (682.0, 925)
    assert found.effect == pytest.approx(682 / 925 - 0.75)


def test_the_normal_binomial_is_its_formula() -> None:
    found = binomial(123, 200, method="normal")
    assert found.statistic == pytest.approx((123 - 100) / np.sqrt(50))
    assert found.p == pytest.approx(2 * norm.sf(found.statistic))


def test_mcnemar_has_the_published_statistic() -> None:
    # Agresti (2007), table 8.1: 794 and 570 agree, 150 and 86 changed; z = -4.17, z^2 = 17.36
    found = mcnemar(150, 86, both=794, neither=570, method="chi_square")
    assert found.statistic == pytest.approx(17.36, abs=0.005)
    assert (found.df, found.n) == (1, 1600)
    assert found.effect == pytest.approx(-0.04)
    assert mcnemar(150, 86, both=794, neither=570).p == pytest.approx(binomtest(86, 236).pvalue)


def test_mcnemar_has_the_p_of_the_interactive_evaluations() -> None:
    # Four-way SATA-Random of the study of interactive evaluations, table 5, BST against WoW: difference 0.041 in 896
    # turns, chi-square 3.06, p 0.080. The discordant counts follow from the first two.
    found = mcnemar(205, 242, neither=449, method="chi_square")
    assert (round(found.effect, 3), round(found.statistic, 2), round(found.p, 3)) == (0.041, 3.06, 0.080)


def test_a_correction_for_continuity_is_on_demand() -> None:
    found = mcnemar(150, 86, method="chi_square", corrected=True)
    assert found.statistic == pytest.approx(63**2 / 236)
    assert mcnemar(118, 119, method="chi_square", corrected=True).statistic == 0.0


def test_a_correction_makes_no_difference_of_equal_counts() -> None:
    found = mcnemar(20, 20, neither=5, method="chi_square", corrected=True)
    assert (found.statistic, found.p, found.df, found.n, found.effect) == (0.0, 1.0, 1, 45, 0.0)


def test_cochrans_q_has_cochrans_own_number() -> None:
    found = cochran_q(MEDIA)
    assert found.statistic == pytest.approx(8.05, abs=0.005)
    assert found.p == pytest.approx(chi2.sf(found.statistic, 3))
    assert (found.df, found.n) == (3, 69)
    assert found.effect == pytest.approx(4 / 69)


def test_cochrans_q_of_two_is_mcnemars() -> None:
    rows = np.repeat([[1, 0], [0, 1], [1, 1], [0, 0]], [30, 18, 5, 7], axis=0)
    one, other = cochran_q(rows), mcnemar(30, 18, both=5, neither=7, method="chi_square")
    assert (one.statistic, one.p, one.effect) == pytest.approx((other.statistic, other.p, abs(other.effect)))


def test_turns_in_which_all_or_none_were_selected_change_no_q() -> None:
    assert cochran_q(MEDIA).statistic == pytest.approx(cochran_q(MEDIA[4:10]).statistic)


def test_pearsons_chi_square_has_its_textbook_value() -> None:
    found = chi_square([16, 18, 16, 14, 12, 12])  # the example of scipy.stats.chisquare: 2.0, p 0.8491450
    assert found.statistic == pytest.approx(2.0)
    assert (found.df, found.n) == (5, 88)
    assert found.p == pytest.approx(0.84914504)
    assert found.effect == pytest.approx(6 / 88)


def test_no_evidence_is_p_one() -> None:
    for found in (mcnemar(0, 0, both=3), mcnemar(0, 0, both=3, method="chi_square"), cochran_q([[1, 1], [0, 0]])):
        assert (found.statistic, found.p, found.effect) == (0.0, 1.0, 0.0)
    assert chi_square([10, 10, 10]).p == 1.0


@given(st.integers(1, 80), st.floats(0.02, 0.98), st.floats(0.001, 0.3))
def test_the_exact_binomial_never_exceeds_its_level(n: int, null: float, alpha: float) -> None:
    rejects = [wins for wins in range(n + 1) if binomial(wins, n, null=null).p <= alpha]
    assert np.sum(binom.pmf(rejects, n, null)) <= alpha + 1e-9


def test_the_chi_square_tests_keep_their_level_on_many_turns() -> None:
    rng = np.random.default_rng(5)
    pearson = [chi_square(counts).p for counts in rng.multinomial(400, [0.25] * 4, size=2000)]
    easy = rng.random((1000, 150, 1)) * 0.8  # turns differ in how easily anything is selected
    q = [cochran_q(rows).p for rows in (rng.random((1000, 150, 4)) < easy).astype(int)]
    assert np.mean(np.array(pearson) <= 0.05) == pytest.approx(0.05, abs=0.015)
    assert np.mean(np.array(q) <= 0.05) == pytest.approx(0.05, abs=0.02)


@given(st.integers(0, 60), st.integers(0, 60))
def test_swapping_a_and_b_mirrors_the_effect_and_keeps_p(a: int, b: int) -> None:
    one, other = mcnemar(a, b, both=1), mcnemar(b, a, both=1)
    assert (one.p, one.effect) == pytest.approx((other.p, -other.effect))
    won, lost = binomial(a, a + b + 1), binomial(b + 1, a + b + 1)
    assert (won.p, won.effect) == pytest.approx((lost.p, -lost.effect))


@given(st.permutations([40, 31, 25, 60]))
def test_the_order_of_chatbots_is_irrelevant(counts: list[int]) -> None:
    found, sorted_found = chi_square(counts), chi_square(sorted(counts))
    assert (found.statistic, found.effect) == pytest.approx((sorted_found.statistic, sorted_found.effect))


def test_holm_steps_down() -> None:
    adjusted = holm([0.01, 0.04, 0.03, 0.005])  # by hand: 4 x .005, 3 x .01, 2 x .03, and the last no smaller
    assert np.allclose(adjusted.adjusted, [0.03, 0.06, 0.06, 0.02])
    assert adjusted.rejected(0.05).tolist() == [True, False, False, True]


@pytest.mark.full
def test_holm_agrees_with_statsmodels() -> None:
    p_values = np.random.default_rng(2).random((4, 9)) ** 3
    theirs = [multipletests(p, method="holm")[1] for p in p_values]
    assert np.allclose([holm(p).adjusted for p in p_values], theirs, rtol=1e-12)


@given(P_VALUES)
def test_holm_lies_between_raw_and_bonferroni_and_keeps_the_order(p: list[float]) -> None:
    found = holm(p)
    assert (found.adjusted >= found.p).all()
    assert (found.adjusted <= np.minimum(1.0, len(p) * found.p) + 1e-12).all()
    order = np.argsort(found.p, kind="stable")
    assert all(x <= y + 1e-12 for x, y in pairwise(found.adjusted[order]))


@pytest.mark.parametrize("means", [3, 5])
def test_simultaneous_differences_of_equal_means_are_tukeys(means: int) -> None:
    contrasts = np.array([np.eye(means)[i] - np.eye(means)[j] for i in range(means) for j in range(i)])
    found = simultaneous(np.zeros(len(contrasts)), contrasts @ contrasts.T)
    tukey = studentized_range.ppf(0.95, means, 1e6) / np.sqrt(2)  # 3.314 and 3.858 in the tables, over sqrt(2)
    assert found.critical == pytest.approx(tukey, abs=0.03)


def test_simultaneous_intervals_hold_together_at_their_level() -> None:
    rng = np.random.default_rng(3)
    root = rng.standard_normal((6, 6))
    truth, covariance = rng.standard_normal(6), root @ root.T
    found = simultaneous(truth, covariance)
    half = 0.5 * np.ptp(found.interval, axis=1)
    estimates = truth + rng.standard_normal((20_000, 6)) @ root.T
    assert np.mean((np.abs(estimates - truth) <= half).all(axis=1)) == pytest.approx(0.95, abs=0.006)


@given(st.integers(1, 8), st.integers(0, 1000))
def test_simultaneous_p_lies_between_one_test_and_sidak(k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((k, k + 1))
    mean, covariance = 2.0 * rng.standard_normal(k), root @ root.T
    found = simultaneous(mean, covariance, draws=500)
    raw = 2.0 * norm.sf(np.abs(mean) / np.sqrt(np.diag(covariance)))
    assert (found.adjusted >= raw * (1 - 1e-9)).all()
    assert (found.adjusted <= 1.0 - (1.0 - raw) ** k + 1e-9).all()
    assert norm.ppf(0.975) - 1e-9 <= found.critical <= norm.ppf(0.5 + 0.5 * 0.95 ** (1 / k)) + 1e-9


def test_equal_seeds_give_equal_intervals() -> None:
    one, other = (simultaneous(np.ones(3), np.eye(3), seed=4) for _ in range(2))
    assert np.array_equal(one.interval, other.interval)


@pytest.mark.parametrize(
    ("test", "better"),
    [
        (lambda: binomial(3, 6, method="normal"), "exact"),
        (lambda: mcnemar(3, 4, method="chi_square"), "exact"),
        (lambda: chi_square([3, 4, 2]), "more turns"),
        (lambda: cochran_q([[1, 0, 0], [0, 1, 0]]), "more turns"),
    ],
)
def test_a_rough_approximation_says_so(test: Callable[[], Significance], better: str) -> None:
    with pytest.warns(EngineWarning, match=better):
        test()


@pytest.mark.parametrize(
    ("test", "code"),
    [
        (lambda: binomial(-1, 5), "bad_count"),
        (lambda: binomial(6, 5), "bad_count"),
        (lambda: binomial(0, 0), "bad_count"),
        (lambda: binomial(True, 5), "bad_count"),
        (lambda: binomial(1, 5, null=1.0), "bad_probability"),
        (lambda: binomial(1, 5, method="guess"), "unknown_method"),  # type: ignore[arg-type]
        (lambda: mcnemar(-1, 2), "bad_count"),
        (lambda: mcnemar(1, 2.5), "bad_count"),  # type: ignore[arg-type]
        (lambda: mcnemar(1, float("nan")), "bad_count"),  # type: ignore[arg-type]
        (lambda: mcnemar(0, 0), "no_votes"),
        (lambda: binomial(10**400, 5), "bad_count"),
        (lambda: chi_square([5]), "shape"),
        (lambda: chi_square([[5, 5]]), "shape"),
        (lambda: chi_square([0, 0]), "no_votes"),
        (lambda: chi_square([5, -5]), "bad_count"),
        (lambda: chi_square([5, [5]]), "shape"),  # type: ignore[arg-type]
        (lambda: cochran_q([[1, 0], [1]]), "shape"),
        (lambda: cochran_q([]), "shape"),
        (lambda: cochran_q(np.empty((0, 3))), "no_votes"),
        (lambda: cochran_q([[1, 2]]), "bad_selection"),
        (lambda: cochran_q([[1.0, np.nan]]), "bad_selection"),
        (lambda: cochran_q([["yes", "no"]]), "bad_selection"),
        (lambda: holm([]), "shape"),
        (lambda: holm([0.1, 1.1]), "bad_probability"),
        (lambda: holm([0.1, float("nan")]), "bad_probability"),
        (lambda: holm([0.1]).rejected(0.0), "bad_probability"),
        (lambda: simultaneous(np.zeros(2), np.eye(3)), "shape"),
        (lambda: simultaneous(np.zeros(2), np.diag([1.0, 0.0])), "bad_covariance"),
        (lambda: simultaneous(np.zeros(2), np.array([[1.0, 0.5], [0.2, 1.0]])), "bad_covariance"),
        (lambda: simultaneous(np.zeros(2), np.array([[1.0, 5.0], [5.0, 1.0]])), "bad_covariance"),
        (lambda: simultaneous(np.zeros(2), np.eye(2), level=95.0), "bad_probability"),
        (lambda: binomial(10**400, 3), "bad_count"),
        (lambda: binomial(1, 1e300), "bad_count"),  # type: ignore[arg-type]
        (lambda: binomial(1, 3, null="half"), "bad_probability"),  # type: ignore[arg-type]
        (lambda: binomial(1, 3, null=np.array([0.4, 0.6])), "bad_probability"),  # type: ignore[arg-type]
        (lambda: binomial(1, 3, method=np.array([1, 2])), "unknown_method"),  # type: ignore[arg-type]
        (lambda: chi_square([[1, 2], [3]]), "shape"),
        (lambda: chi_square(["a", "b"]), "bad_count"),
        (lambda: chi_square([2**63, 2**63]), "bad_count"),
        (lambda: cochran_q([["a", "b"]]), "bad_selection"),
        (lambda: holm(["a", "b"]), "not_a_number"),  # type: ignore[list-item]
        (lambda: holm(["0.1", "0.2"]), "not_a_number"),  # type: ignore[list-item]
        (lambda: holm(["0.1", None]), "not_a_number"),  # type: ignore[list-item]
        (lambda: holm([0.1, None]), "bad_probability"),  # type: ignore[list-item]
        (lambda: holm([[0.1, 0.2], [0.3]]), "shape"),  # type: ignore[list-item]
        (lambda: holm([10**400]), "not_a_number"),
        (lambda: holm([0.1, 0.2]).rejected("a"), "bad_probability"),  # type: ignore[arg-type]
        (lambda: simultaneous(["a", "b"], np.eye(2)), "not_a_number"),  # type: ignore[arg-type]
        (lambda: simultaneous(np.zeros(2), [[1.0, 0.0], [1.0]]), "shape"),  # type: ignore[arg-type]
        (lambda: simultaneous(np.zeros(2), np.eye(2), draws="many"), "bad_count"),  # type: ignore[arg-type]
        *((lambda seed=seed: simultaneous(np.zeros(2), np.eye(2), seed=seed), "bad_seed") for seed in NO_SEEDS),
    ],
)
def test_bad_input_is_refused_with_a_hint(test: Callable[[], object], code: str) -> None:
    with pytest.raises(InvalidResponses) as caught:
        test()
    assert caught.value.code == code
    assert caught.value.hint


def test_the_engine_starts_without_statsmodels() -> None:
    code = "import sys, irt_engine, irt_engine.power, irt_engine.significance; sys.exit('statsmodels' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
