import numpy as np
import pytest

from irt_engine.errors import NotIdentified
from irt_engine.scorecard import correlate, ranks


def test_correlation_states_n_p_and_interval() -> None:
    found = correlate([1, 2, 3, 4, 5, 6], [1, 3, 2, 5, 4, 6])
    assert found.n == 6
    assert [found.pearson, found.spearman] == pytest.approx([0.8857, 0.8857], abs=1e-4)
    assert found.pearson_p == pytest.approx(0.0188, abs=1e-4)
    assert found.lower is not None
    assert found.upper is not None
    assert found.lower < found.pearson < found.upper <= 1


def test_correlation_is_repeatable() -> None:
    x = np.arange(8)
    assert correlate(x, x**2, seed=3) == correlate(x, x**2, seed=3)


def test_four_units_are_too_few() -> None:
    with pytest.raises(NotIdentified, match="too few"):
        correlate([1, 2, 3, 4], [1, 2, 3, 4])


def test_constant_metric_has_no_correlation() -> None:
    with pytest.raises(NotIdentified, match="same value"):
        correlate([1] * 6, range(6))


def test_ties_share_the_average_rank() -> None:
    assert ranks([3, 5, 3, 1], higher_is_better=True).tolist() == [2.5, 1, 2.5, 4]
    assert ranks([3, 5, 3, 1], higher_is_better=False).tolist() == [2.5, 4, 2.5, 1]
