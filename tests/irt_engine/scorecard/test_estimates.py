import numpy as np
import pytest

from irt_engine.errors import InvalidResponses
from irt_engine.scorecard import Estimate, clustered_mean, clustered_share


def test_mean_without_clusters_has_the_textbook_interval() -> None:
    found = clustered_mean([1, 2, 3, 4, 5])
    half = 2.7764451 * np.sqrt(2.5 / 5)  # Student's t with 4 degrees of freedom.
    assert (found.value, found.n) == (3.0, 5)
    assert [found.lower, found.upper] == pytest.approx([3 - half, 3 + half])


def test_repeated_ratings_of_a_user_widen_the_interval() -> None:
    values, users = [1, 1, 1, 5, 5, 5, 3, 3, 3], ["a"] * 3 + ["b"] * 3 + ["c"] * 3
    alone, clustered = clustered_mean(values), clustered_mean(values, users)
    assert alone.lower is not None
    assert clustered.lower is not None
    assert clustered.lower < alone.lower


def test_weights_undo_unequal_assignment() -> None:
    found = clustered_mean([5, 1, 1], weights=[1 / 0.25, 1 / 0.5, 1 / 0.5])
    assert found.value == pytest.approx(3.0)


def test_one_cluster_has_no_interval() -> None:
    assert clustered_mean([2, 4], ["a", "a"]) == Estimate(3.0, None, None, 2)
    assert clustered_share([0, 1], ["a", "a"]) == Estimate(0.5, None, None, 2)


@pytest.mark.parametrize(
    ("values", "weights"), [([], None), ([1, 2], [1]), ([float("nan")], None), ([1], [0]), ([1], [-1])]
)
def test_bad_observations_are_refused(values: list[float], weights: list[float] | None) -> None:
    with pytest.raises(InvalidResponses):
        clustered_mean(values, weights=weights)


def test_share_outside_0_to_1_is_refused() -> None:
    with pytest.raises(InvalidResponses, match="outside 0 to 1"):
        clustered_share([2.0])


def test_share_stays_between_0_and_1() -> None:
    found = clustered_share([0] * 49 + [1])
    assert found.lower is not None
    assert found.upper is not None
    assert 0 < found.lower < 0.02 < found.upper < 0.15


def test_share_of_no_errors_still_has_an_upper_limit() -> None:
    found = clustered_share([0] * 50, ["a"] * 25 + ["b"] * 25)
    assert (found.value, found.lower) == (0.0, 0.0)
    assert found.upper is not None
    assert found.upper > 0.5  # Two conversations say little.


@pytest.mark.full
def test_intervals_of_clustered_ratings_cover_the_mean() -> None:
    rng = np.random.default_rng(1)
    covered = np.zeros(2)
    for _ in range(2_000):
        users = np.repeat(np.arange(60), rng.integers(1, 6, 60))
        ability = rng.normal(0, 1, 60)
        mean = clustered_mean(ability[users] + rng.normal(0, 1, len(users)), users)
        chance = rng.beta(2, 6, 60)
        share = clustered_share((rng.random(len(users)) < chance[users]).astype(float), users)
        for position, (found, truth) in enumerate(((mean, 0.0), (share, 0.25))):
            assert found.lower is not None
            assert found.upper is not None
            covered[position] += found.lower <= truth <= found.upper
    assert (covered >= 0.93 * 2_000).all()
    assert (covered <= 0.97 * 2_000).all()
