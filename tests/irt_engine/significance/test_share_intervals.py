"""Wilson's and Wald's intervals of a share."""

import math

import pytest
from scipy.stats import binom, binomtest

from irt_engine.errors import InvalidResponses
from irt_engine.significance.share_intervals import share_interval
from tests.published_selections import SINGLE


@pytest.mark.parametrize("chatbot", SINGLE)
def test_wald_gives_the_published_shares_and_intervals(chatbot: str) -> None:
    k, n, percent, lower, upper = SINGLE[chatbot]
    found = share_interval(k, n, method="wald")
    assert (round(100 * found.k / found.n), round(found.lower, 2), round(found.upper, 2)) == (percent, lower, upper)


@pytest.mark.parametrize(("k", "n"), [(0, 7), (3, 10), (111, 128), (9, 9)])
def test_wilson_agrees_with_scipy(k: int, n: int) -> None:
    found, other = share_interval(k, n, level=0.9), binomtest(k, n).proportion_ci(0.9, method="wilson")
    assert (found.lower, found.upper) == pytest.approx((other.low, other.high), abs=1e-12)


def test_wilson_covers_about_as_often_as_it_says() -> None:
    n, theta = 40, 0.85
    bounds = [share_interval(k, n) for k in range(n + 1)]
    covered = sum(float(binom.pmf(x.k, n, theta)) for x in bounds if x.lower <= theta <= x.upper)
    assert 0.93 <= covered <= 0.97


def test_wald_stays_within_zero_and_one() -> None:
    assert share_interval(1, 3, method="wald").lower == 0.0
    assert share_interval(2, 3, method="wald").upper == 1.0


@pytest.mark.parametrize(("k", "n"), [(3, 2), (-1, 2), (0, 0)])
def test_impossible_counts_are_refused(k: int, n: int) -> None:
    with pytest.raises(InvalidResponses):
        share_interval(k, n)


@pytest.mark.parametrize("level", [0.0, 1.0, math.nan])
def test_an_impossible_level_is_refused(level: float) -> None:
    with pytest.raises(InvalidResponses):
        share_interval(1, 2, level=level)


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(InvalidResponses):
        share_interval(1, 2, method="exact")  # type: ignore[arg-type]
