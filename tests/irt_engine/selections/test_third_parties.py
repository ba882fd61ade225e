"""Agreement of third parties, and their judgments of written replies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irt_engine.errors import InvalidResponses
from irt_engine.selections import ThirdPartySelection, selection_agreement, written_quality


def rows(*judged: tuple[str, str, str]) -> list[ThirdPartySelection]:
    """(turn, annotator, names of the selected) of two chatbots."""
    return [ThirdPartySelection(turn, bot, who, bot in chosen) for turn, who, chosen in judged for bot in "AB"]


def test_equal_selections_agree_fully() -> None:
    found = selection_agreement(rows(("1", "x", "A"), ("1", "y", "A"), ("2", "x", "B"), ("2", "y", "B")))
    assert (found.fleiss.value, found.krippendorff.value) == (1.0, 1.0)
    assert (found.annotators, found.turns) == (2, 2)


def test_opposite_selections_disagree() -> None:
    found = selection_agreement(rows(("1", "x", "A"), ("1", "y", "B"), ("2", "x", "B"), ("2", "y", "A")))
    assert found.fleiss.value == pytest.approx(-1.0)


def test_turns_with_one_third_party_do_not_count() -> None:
    found = selection_agreement(rows(("1", "x", "A"), ("2", "x", "B")))
    assert (found.fleiss.value, found.turns) == (None, 0)


def test_a_repeated_judgment_is_refused() -> None:
    with pytest.raises(InvalidResponses, match="twice"):
        selection_agreement(rows(("1", "x", "A"), ("1", "x", "B")))


@given(st.lists(st.sampled_from(["better", "equal", "worse"]), min_size=1, max_size=40))
def test_shares_of_written_replies_are_ordered(comparisons: list) -> None:
    found = written_quality(comparisons)
    assert found.better.k <= found.at_least_as_good.k
    assert found.at_least_as_good.k == len(comparisons) - comparisons.count("worse")


def test_no_written_replies_are_refused() -> None:
    with pytest.raises(InvalidResponses):
        written_quality([])
