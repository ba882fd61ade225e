"""Shares of few trials: the interval holds what it says, at every share and number."""

import math

import pytest
from scipy.stats import binom

from irt_engine.errors import InvalidResponses
from irt_engine.significance.proportions import chance_below, share


def test_the_interval_is_the_published_one() -> None:
    """Clopper & Pearson's own kind of table, as R's binom.test(7, 10) prints it."""
    found = share(7, 10)
    assert (found.value, round(found.lower, 4), round(found.upper, 4)) == (0.7, 0.3475, 0.9333)


@pytest.mark.parametrize("n", [1, 5, 20])
@pytest.mark.parametrize("theta", [0.05, 0.5, 0.93])
def test_the_interval_covers_at_least_as_often_as_it_says(n: int, theta: float) -> None:
    covered = sum(
        float(binom.pmf(k, n, theta)) for k in range(n + 1) if share(k, n).lower <= theta <= share(k, n).upper
    )
    assert covered >= 0.95


def test_none_and_all_reach_the_ends_and_nothing_tried_says_nothing() -> None:
    assert share(0, 4).lower == 0.0
    assert share(4, 4).upper == 1.0
    nothing = share(0, 0)
    assert (nothing.value, nothing.lower, nothing.upper) == (None, 0.0, 1.0)


def test_the_chance_of_doing_so_badly_is_the_binomial_tail() -> None:
    by_hand = sum(math.comb(6, x) * 0.7**x * 0.3 ** (6 - x) for x in range(3))
    assert chance_below(2, 6, 0.7) == pytest.approx(by_hand)
    assert chance_below(0, 0, 0.7) == 1.0


@pytest.mark.parametrize(("k", "n"), [(3, 2), (-1, 2), (1.5, 2)])
def test_impossible_counts_are_refused(k: float, n: int) -> None:
    with pytest.raises(InvalidResponses):
        share(k, n)  # type: ignore[arg-type]


@pytest.mark.parametrize("mark", [0.0, 1.0, math.nan])
def test_an_impossible_mark_is_refused(mark: float) -> None:
    with pytest.raises(InvalidResponses):
        chance_below(1, 2, mark)
