import numpy as np
import pytest
from scipy.sparse import csr_array

from irt_engine.arrays import FloatArray
from irt_engine.scorecard import (
    Run,
    Sample,
    Statistic,
    cluster_numbers,
    conversation_domain,
    domain_entropy,
    domain_runs,
    group_rating_sd,
    median,
    rarefied_keywords,
    ratio,
    resample,
    reverse_coefficient_of_variation,
)


def value(statistic: Statistic, *weights: list[float]) -> list[float]:
    return [float(one) for one in statistic(np.array(weights))]


def test_median_follows_the_weights() -> None:
    statistic = median([30, 10, 20])
    assert value(statistic, [1, 1, 1], [1, 1, 0], [0, 3, 0]) == [20, 20, 10]


def test_median_of_nothing_is_unknown() -> None:
    assert np.isnan(value(median([1, 2]), [0, 0])).all()


def test_ratio_divides_totals() -> None:
    assert value(ratio([1, 0], [4, 6]), [1, 1], [2, 0]) == pytest.approx([0.1, 0.25])


def test_entropy_counts_in_bits() -> None:
    statistic = domain_entropy(np.array([0, 1, 2, 3]))
    assert value(statistic, [1, 1, 1, 1], [1, 1, 0, 0], [2, 0, 0, 0]) == pytest.approx([2, 1, 0])


def test_r_cov_of_equal_size_does_not_grow_with_volume() -> None:
    few, many = np.array([0, 0, 0, 1, 1, 2] * 5), np.array([0, 0, 0, 1, 1, 2] * 50)
    small, large = (
        value(reverse_coefficient_of_variation(domains, size=30), [1.0] * len(domains))[0] for domains in (few, many)
    )
    assert small == pytest.approx(large)
    assert small > 5


def test_r_cov_of_one_domain_is_unknown() -> None:
    assert np.isnan(value(reverse_coefficient_of_variation(np.array([0, 0]), size=2), [1, 1])).all()


def test_rating_sd_compares_means_of_groups() -> None:
    statistic = group_rating_sd([1, 3, 4, 4], np.array([0, 0, 1, 1]))
    assert value(statistic, [1, 1, 1, 1]) == pytest.approx([np.sqrt(2)])


def test_rating_sd_needs_two_groups() -> None:
    assert np.isnan(value(group_rating_sd([1, 3, 4], np.array([0, 0, 1])), [1, 1, 0])).all()


def test_utterances_without_subject_neither_break_nor_extend_a_run() -> None:
    assert domain_runs([3, 0, 3, 5, 0], unattached={0}) == [Run(3, 2), Run(5, 1)]
    assert domain_runs([0, 0], unattached={0}) == []


def test_longest_run_gives_the_domain_of_a_conversation() -> None:
    assert conversation_domain([Run(1, 2), Run(2, 3), Run(1, 2)]) == 2
    assert conversation_domain([Run(4, 2), Run(2, 2)]) == 4
    assert conversation_domain([]) is None


def test_vocabulary_is_rarefied_to_equal_utterances() -> None:
    keywords = csr_array(np.array([[1, 1, 0], [0, 1, 1]]))  # Two conversations of two utterances.
    statistic = rarefied_keywords(keywords, np.array([2.0, 2.0]), size=2)
    # Of 4 utterances 2 are drawn: a keyword in one of them appears with chance 1/2, one in two with 5/6.
    assert statistic(np.ones((1, 2)))[0] == pytest.approx([0.5 + 5 / 6 + 0.5])


def test_whole_vocabulary_is_found_without_rarefaction() -> None:
    keywords = csr_array(np.array([[1, 1, 0], [0, 1, 1]]))
    utterances = np.array([2.0, 2.0])
    size, frequency = rarefied_keywords(keywords, utterances, size=4)(np.ones((1, 2)))
    assert (size, frequency) == (pytest.approx([3]), pytest.approx([4 / 3]))


def test_resampling_draws_whole_users() -> None:
    sample = Sample(ratio([0, 0, 10, 10], [1, 1, 1, 1]), cluster_numbers(["a", "a", "b", "b"]), "percentile")
    found = resample({"mean": sample}, replicates=400, seed=1)["mean"]
    assert set(np.round(found.replicates)) == {0, 5, 10}
    assert found.estimate is not None
    assert (found.estimate.value, found.estimate.lower, found.estimate.upper) == (5, 0, 10)


def test_statistics_of_a_chatbot_share_their_draws() -> None:
    clusters = np.arange(30)
    samples = {name: Sample(median(np.arange(30.0)), clusters) for name in ("one", "other")}
    found = resample(samples, replicates=50, seed=2)
    assert (found["one"].replicates == found["other"].replicates).all()


def test_interval_of_a_deviation_is_not_below_zero() -> None:
    statistic = group_rating_sd([1, 2, 2, 1], np.array([0, 0, 1, 1]))
    found = resample({"sd": Sample(statistic, np.arange(4), least=0.0)}, replicates=100)["sd"].estimate
    assert found is not None
    assert (found.value, found.lower) == (0, 0)


def test_statistics_computed_together_have_their_names() -> None:
    def both(weights: FloatArray) -> FloatArray:
        return np.stack([weights.sum(axis=1), weights.max(axis=1)])

    found = resample({"both": Sample(both, np.arange(4), names=("sum", "largest"))}, replicates=20)
    assert set(found) == {"sum", "largest"}
    assert found["sum"].estimate is not None
    assert (found["sum"].estimate.value, found["sum"].estimate.lower, found["sum"].estimate.upper) == (4, 4, 4)
    assert found["largest"].replicates.max() > 1


def test_statistic_without_units_is_unknown() -> None:
    found = resample({"empty": Sample(median([]), np.zeros(0, np.int64))}, replicates=10)
    assert found["empty"].estimate is None
    assert np.isnan(found["empty"].replicates).all()
