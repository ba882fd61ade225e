"""ResponseTable.from_votes: what it builds and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from irt_engine import InvalidResponses, ResponseTable

GOOD: dict[str, Any] = {
    "system_a": ["eliza", "echo"],
    "system_b": ["echo", "parry"],
    "prompt_id": ["p2", "p1"],
    "outcome": [-1, 0],
}


def refused(**change: Any) -> str:
    with pytest.raises(InvalidResponses) as caught:
        ResponseTable.from_votes(**(GOOD | change))
    assert caught.value.hint
    return caught.value.code


def test_names_are_sorted_and_unknown_stays_unknown() -> None:
    table = ResponseTable.from_votes(**GOOD, annotator_id=[None, "w1"], a_first=[1, None])
    assert table.chatbots == ("echo", "eliza", "parry")
    assert table.prompts == ("p1", "p2")
    assert table.a.tolist() == [1, 0]
    assert table.annotator.tolist() == [-1, 0]
    assert table.a_first.tolist() == [1, -1]
    assert table.labels == ()


def test_its_arrays_are_read_only() -> None:
    table = ResponseTable.from_votes(**GOOD)
    with pytest.raises(ValueError, match="read-only"):
        table.outcome[0] = 1


def test_it_refuses_a_chatbot_against_itself() -> None:
    assert refused(system_b=["eliza", "parry"]) == "self_comparison"


@pytest.mark.parametrize("outcome", [[2, 0], [-1, -2]])
def test_it_refuses_an_outcome_out_of_range(outcome: list[int]) -> None:
    assert refused(outcome=outcome) == "out_of_range"


@pytest.mark.parametrize("outcome", [[float("nan"), 0], [0.5, 0], [float("inf"), 0]])
def test_it_refuses_an_outcome_that_is_no_whole_number(outcome: list[float]) -> None:
    assert refused(outcome=outcome) == "not_whole"


def test_it_refuses_a_word_as_outcome() -> None:
    assert refused(outcome=["tie", "0"]) == "not_a_number"


def test_it_refuses_no_votes() -> None:
    assert refused(system_a=[], system_b=[], prompt_id=[], outcome=[]) == "no_votes"


def test_it_refuses_columns_of_unequal_length() -> None:
    assert refused(outcome=[0]) == "length"
    assert refused(annotator_id=["w1"]) == "length"


@pytest.mark.parametrize("name", ["", None, 3])
def test_it_refuses_what_is_not_a_name(name: object) -> None:
    assert refused(system_a=[name, "echo"]) == "missing_name"


def test_it_refuses_a_single_chatbot() -> None:
    column = np.zeros(1, np.int64)
    with pytest.raises(InvalidResponses) as caught:
        ResponseTable(("echo",), ("p",), (), column, column, column, column, column, column, column)
    assert caught.value.code == "one_chatbot"


def test_the_message_names_the_row() -> None:
    with pytest.raises(InvalidResponses, match="row 2"):
        ResponseTable.from_votes(**(GOOD | {"outcome": [0, 7]}))
