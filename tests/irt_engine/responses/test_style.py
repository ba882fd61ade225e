"""Style of replies: counts of texts, and standardised differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irt_engine import InvalidResponses
from irt_engine.responses.style import StyleDifferences, style_counts, style_differences

COUNTS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=20)


def differences(pairs: list[tuple[int, int]], factor: float = 1.0) -> np.ndarray:
    a, b = zip(*pairs, strict=True)
    return style_differences({"length": ([factor * x for x in a], [factor * x for x in b])}).values


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("", (0, 0, 0, 0)),
        ("Two words.", (3, 0, 0, 0)),
        ("# One\n## Two\n#three", (7, 2, 0, 0)),
        ("1. a\n2) b\n- c\n* d\n+ e", (12, 0, 5, 0)),
        ("**a** and __b__ and **", (14, 0, 0, 2)),
        ("```\n# no header\n- no item\n```", (12, 0, 0, 0)),
    ],
)
def test_marks_of_a_text_are_counted(text: str, counts: tuple[int, ...]) -> None:
    assert style_counts(text) == counts


@given(st.text(max_size=200))
def test_any_text_has_counts(text: str) -> None:
    assert all(count >= 0 for count in style_counts(text))


def test_hostile_text_is_counted_in_linear_time() -> None:
    assert style_counts("```" + "*" * 200_000 + " \n" * 50_000)[1:] == (0, 0, 0)


@given(COUNTS)
def test_exchanging_replies_negates_the_differences(pairs: list[tuple[int, int]]) -> None:
    turned = [(b, a) for a, b in pairs]
    assert np.array_equal(differences(turned), -differences(pairs))


@given(COUNTS, st.sampled_from([0.25, 0.5, 2.0, 1024.0]))
def test_unit_of_counts_changes_nothing(pairs: list[tuple[int, int]], factor: float) -> None:
    assert np.array_equal(differences(pairs, factor), differences(pairs))


@given(COUNTS)
def test_differences_have_root_mean_square_one_or_zero(pairs: list[tuple[int, int]]) -> None:
    size = float(np.sqrt((differences(pairs) ** 2).mean()))
    assert size == pytest.approx(1.0) or size == 0.0


def test_unknown_counts_have_no_difference() -> None:
    found = style_differences({"length": ([1, np.nan, 3], [3, 5, 1]), "bold": ([0, 0, 0], [0, 1, 0])})
    assert found.known.tolist() == [1, 0, 1]
    assert found.values[1].tolist() == [0.0, 0.0]
    assert found.values[:, 0].tolist() == [1.0, 0.0, -1.0]
    assert found.varying().names == ("length",)


@pytest.mark.parametrize(
    "counts",
    [
        {},
        {"length": ([1], [1, 2])},
        {"length": ([-1], [1])},
        {"length": ([np.inf], [1])},
        {"length": (["long"], [1])},
        {str(k): ([1], [2]) for k in range(21)},
    ],
)
def test_counts_that_are_none_are_refused(counts: dict[str, tuple[list[float], list[float]]]) -> None:
    with pytest.raises(InvalidResponses) as refused:
        style_differences(counts)
    assert refused.value.code == "bad_style"


def test_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidResponses):
        StyleDifferences(("length",), np.zeros((2, 2)), np.zeros(1), np.ones(2, np.int64))
