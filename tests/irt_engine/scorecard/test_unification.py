import numpy as np
import pytest

from irt_engine.errors import InvalidResponses
from irt_engine.scorecard import MetricTable, confidence_bands, stack_ranking, winners_circle

# Ratings, and an error rate, of four chatbots.
VALUES = np.array([[4.0, 3.8, 3.0, 2.0], [0.2, 0.3, 0.1, 0.6]])
HALF = np.array([[0.2], [0.05]])


def table(*, weights: tuple[float, ...] = (1.0, 1.0), noise: float = 0.0, replicates: int = 0) -> MetricTable:
    drawn = np.random.default_rng(0).normal(0, 1, (replicates, 2, 4)) * HALF / 1.96 * noise
    return MetricTable(
        VALUES, VALUES - HALF, VALUES + HALF, np.array([True, False]), np.array(weights), VALUES[None] + drawn
    )


def test_stack_ranking_sums_ranks_with_the_best_first() -> None:
    found = stack_ranking(table())
    assert found.cells.tolist() == [[1, 2, 3, 4], [2, 3, 1, 4]]
    assert found.totals.tolist() == [3, 5, 4, 8]


def test_stack_ranking_follows_weights() -> None:
    assert stack_ranking(table(weights=(1, 3))).totals.tolist() == [7, 11, 6, 16]


def test_winners_circle_compares_with_the_best_rated_two() -> None:
    # The third chatbot has fewer errors than both winners: better than their error bars counts, too.
    found = winners_circle(table(), VALUES[0])
    assert found.cells.tolist() == [[1, 1, 0, 0], [1, 1, 1, 0]]
    assert found.totals.tolist() == [2, 2, 1, 0]
    assert found.bands == (1, 1, 2, 3)


def test_confidence_bands_compare_with_the_best_two_of_each_metric() -> None:
    # The best two of the errors are the third and the first; 0.3 - 0.05 touches 0.2 + 0.05.
    found = confidence_bands(table())
    assert found.cells.tolist() == [[1, 1, 0, 0], [1, 1, 1, 0]]
    close = MetricTable(
        VALUES, VALUES - HALF / 2, VALUES + HALF / 2, np.array([True, False]), np.ones(2), np.zeros((0, 2, 4))
    )
    assert confidence_bands(close).cells.tolist() == [[1, 1, 0, 0], [1, 0, 1, 0]]


def test_totals_without_replicates_have_no_interval() -> None:
    assert np.isnan(stack_ranking(table()).lower).all()


def test_interval_of_a_total_grows_with_the_noise_of_its_metrics() -> None:
    quiet, loud = (stack_ranking(table(noise=noise, replicates=300)) for noise in (0.01, 3))
    assert (quiet.lower == quiet.upper).all()
    assert (loud.upper - loud.lower).max() >= 2
    assert (loud.lower <= loud.totals).all()
    assert (loud.totals <= loud.upper).all()


def test_chatbots_with_overlapping_totals_share_a_band() -> None:
    assert stack_ranking(table(noise=0.01, replicates=50)).bands == (1, 3, 2, 4)
    assert len(set(stack_ranking(table(noise=5, replicates=300)).bands)) < 4


def test_missing_metric_is_refused() -> None:
    values = VALUES.copy()
    values[0, 0] = np.nan
    with pytest.raises(InvalidResponses, match="missing"):
        MetricTable(values, values, values, np.array([True, False]), np.ones(2), np.zeros((0, 2, 4)))


def test_second_table_of_the_paper_adds_up() -> None:
    """The published cells of zeros and ones, and their printed sums."""
    columns = ["1111111111", "1111111111", "1100010101", "0000011101", "1110010000", "0110001000", "0000010010"]
    cells = np.array([[int(one) for one in column] for column in columns]).T
    # A value of 1 lies within the error bars of the winners, the first two; a value of 0 lies outside.
    values = cells.astype(float)
    published = MetricTable(
        values, values - 0.1, values + 0.1, np.ones(10, bool), np.ones(10), np.zeros((0, *values.shape))
    )
    found = winners_circle(published, [5, 4, 3, 3, 3, 3, 3])
    assert found.cells.tolist() == cells.tolist()
    assert found.totals.tolist() == [10, 10, 5, 4, 4, 3, 2]
