"""ResponseTable.from_votes: what it builds and what it refuses."""

from __future__ import annotations

import csv
import datetime as dt
import io
import uuid
import warnings
from dataclasses import fields
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irt_engine import EngineWarning, InvalidResponses, ResponseTable

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


NAMES = st.text("abAB é", min_size=1, max_size=2)
UNKNOWN: st.SearchStrategy[None] = st.none()
VOTES = st.tuples(
    st.tuples(NAMES, NAMES).filter(lambda pair: pair[0] != pair[1]),
    NAMES,
    st.sampled_from([-1, 0, 1]),
    UNKNOWN | NAMES.filter(str.strip),
    UNKNOWN | st.sampled_from([0, 1, False, True]),
    st.text("xy", max_size=1),
)


@given(st.lists(VOTES, min_size=1, max_size=30))
def test_numbers_are_places_among_the_sorted_names(votes: list[Any]) -> None:
    pairs, prompt, outcome, annotator, first, label = (list(column) for column in zip(*votes, strict=True))
    a, b = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    table = ResponseTable.from_votes(a, b, prompt, outcome, annotator_id=annotator, a_first=first, label=label)
    for given_names, names, numbers in (
        (a, sorted({*a, *b}), table.a),
        (b, list(table.chatbots), table.b),
        (prompt, sorted({*prompt}), table.prompt),
        (annotator, sorted({*annotator} - {None}), table.annotator),
        (label, sorted({*label}), table.label),
    ):
        assert numbers.tolist() == [-1 if name is None else names.index(name) for name in given_names]
    assert (list(table.prompts), list(table.labels)) == (sorted({*prompt}), sorted({*label}))
    assert table.outcome.tolist() == outcome
    assert table.a_first.tolist() == [-1 if x is None else int(x) for x in first]
    frame = {"system_a": a, "system_b": b, "prompt_id": prompt, "outcome": outcome, "kind": label}
    frame |= {"annotator_id": annotator, "a_first": [np.nan if x is None else x for x in first]}
    assert same_table(ResponseTable.from_votes(frame, label="kind"), table)


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


def test_it_refuses_a_number_that_no_column_holds() -> None:
    assert refused(outcome=[10**400, 0]) == "not_a_number"


def test_it_refuses_no_votes() -> None:
    assert refused(system_a=[], system_b=[], prompt_id=[], outcome=[]) == "no_votes"


def test_it_refuses_columns_of_unequal_length() -> None:
    assert refused(outcome=[0]) == "length"
    assert refused(annotator_id=["w1"]) == "length"


@pytest.mark.parametrize("unknown", [None, float("nan"), np.float64("nan"), pd.NA])
def test_nan_in_a_column_is_unknown_as_in_a_frame(unknown: Any) -> None:
    table = ResponseTable.from_votes(**GOOD, annotator_id=["w1", unknown], a_first=[unknown, True])
    assert table.annotator.tolist() == [0, -1]
    assert table.a_first.tolist() == [-1, 1]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_columns_that_csv_reads_give_the_table_that_pandas_gives(ending: str) -> None:
    rows = ("system_a,system_b,prompt_id,outcome,annotator_id,a_first", "eliza,echo,p2,-1,,1", "echo,parry,p1,0,w1,",
            "eliza,parry,p1,1,  ,0")  # fmt: skip
    text = ending.join(rows)
    read = list(csv.DictReader(io.StringIO(text, newline="")))
    table = ResponseTable.from_votes({name: [row[name] for row in read] for name in read[0]})
    assert same_table(table, ResponseTable.from_votes(pd.read_csv(io.StringIO(text.replace("  ", "")))))
    assert (table.annotator.tolist(), table.a_first.tolist()) == ([-1, 0, -1], [1, -1, 0])


@pytest.mark.parametrize("first", [[1, 0], [True, False], [1.0, 0.0], np.array([1, 0]), np.array([True, False])])
def test_who_was_shown_first_is_told_by_truth_or_number(first: Any) -> None:
    assert ResponseTable.from_votes(**GOOD, a_first=first).a_first.tolist() == [1, 0]


@pytest.mark.parametrize("first", [0.7, -0.3, "x", "True", "2", float("inf"), 2, -2, 10**30, [1], b"1"])
def test_anything_else_is_no_word_on_who_was_shown_first(first: object) -> None:
    assert refused(a_first=[None, first]) == "out_of_range"
    with pytest.raises(InvalidResponses, match="row 2: a_first is"):
        ResponseTable.from_votes(GOOD | {"a_first": [None, first]})


@pytest.mark.parametrize("label", [None, float("nan"), ["x"], {}])
def test_a_label_is_text(label: Any) -> None:
    assert refused(label=["x", label]) == "missing_label"
    with pytest.raises(InvalidResponses, match="row 2: label is"):
        ResponseTable.from_votes(**GOOD, label=["x", label])


@pytest.mark.parametrize("annotator", [["w1"], {}, {"w1"}])
def test_an_annotator_is_something_that_can_be_told_from_others(annotator: object) -> None:
    assert refused(annotator_id=[None, annotator]) == "bad_annotator"
    with pytest.raises(InvalidResponses, match="row 2: annotator_id is"):
        ResponseTable.from_votes(GOOD | {"annotator_id": [None, annotator]})


@pytest.mark.parametrize("name", ["", None, float("nan"), ["echo"], b"echo"])
def test_it_refuses_what_is_not_a_name(name: object) -> None:
    assert refused(system_a=[name, "echo"]) == "missing_name"


def test_it_refuses_a_single_chatbot() -> None:
    column = np.zeros(1, np.int64)
    with pytest.raises(InvalidResponses) as caught:
        ResponseTable(("echo",), ("p",), (), column, column, column, column, column, column, column)
    assert caught.value.code == "one_chatbot"


def test_the_message_names_the_row() -> None:
    with pytest.raises(InvalidResponses, match="row 2: prompt_id is ''"):
        ResponseTable.from_votes(**(GOOD | {"prompt_id": ["p1", ""]}))
    with pytest.raises(InvalidResponses, match="row 2"):
        ResponseTable.from_votes(**(GOOD | {"outcome": [0, 7]}))


def same_table(one: ResponseTable, other: ResponseTable) -> bool:
    return all(np.array_equal(getattr(one, field.name), getattr(other, field.name)) for field in fields(ResponseTable))


COLUMNS: dict[str, Any] = GOOD | {"annotator_id": [None, "w1"], "a_first": [1, None]}
AS_COLUMNS = ResponseTable.from_votes(**COLUMNS)
FRAMES = [
    COLUMNS,
    {name: tuple(column) for name, column in COLUMNS.items()},
    {name: np.array(column, object) for name, column in COLUMNS.items()},
    pd.DataFrame(COLUMNS),
    pd.DataFrame(COLUMNS).convert_dtypes(),
    pd.DataFrame(COLUMNS).assign(category="x", timestamp=None).iloc[:, ::-1],
]


@pytest.mark.parametrize("frame", FRAMES, ids=["lists", "tuples", "arrays", "pandas", "nullable", "more columns"])
def test_a_frame_gives_the_table_of_its_columns(frame: Any) -> None:
    assert same_table(ResponseTable.from_votes(frame), AS_COLUMNS)


@pytest.mark.parametrize("library", [pl.DataFrame, pa.table])
def test_frames_of_polars_and_arrow_are_read(library: Any) -> None:
    frame = {name: list(values) for name, values in GOOD.items()}
    frame["annotator_id"] = [None, *frame["outcome"][1:]]
    assert same_table(ResponseTable.from_votes(library(frame)), ResponseTable.from_votes(frame))


def test_a_frame_without_the_optional_columns_leaves_them_unknown() -> None:
    assert same_table(ResponseTable.from_votes(GOOD), ResponseTable.from_votes(**GOOD))


def test_optional_columns_that_hold_nothing_are_unknown() -> None:
    frame = pd.DataFrame(GOOD).assign(annotator_id=np.nan, a_first=np.nan)
    assert same_table(ResponseTable.from_votes(frame), ResponseTable.from_votes(**GOOD))


def test_a_frames_label_is_the_name_of_a_column() -> None:
    table = ResponseTable.from_votes(pd.DataFrame(GOOD).assign(category=["second", "first"]), label="category")
    assert table.labels == ("first", "second")
    assert table.label.tolist() == [1, 0]
    numbered = ResponseTable.from_votes(pd.DataFrame(GOOD).assign(run=[2.5, np.nan]), label="run")
    assert numbered.labels == ("", "2.5")


@pytest.mark.parametrize("name", GOOD)
def test_a_missing_column_is_named_together_with_what_is_there(name: str) -> None:
    rest = {key: column for key, column in GOOD.items() if key != name} | {"verdict": [1, 0]}
    for frame in (rest, pd.DataFrame(rest)):
        with pytest.raises(InvalidResponses, match=f"no column {name}") as caught:
            ResponseTable.from_votes(frame)
        assert caught.value.code == "missing_column"
        assert "verdict" in caught.value.hint
    if name != "system_a":
        with pytest.raises(InvalidResponses, match=f"{name} is missing"):
            ResponseTable.from_votes(**{key: column for key, column in GOOD.items() if key != name})


def test_a_label_that_is_no_column_is_refused() -> None:
    with pytest.raises(InvalidResponses, match="no column category"):
        ResponseTable.from_votes(GOOD, label="category")


def test_a_frame_and_columns_together_are_refused() -> None:
    with pytest.raises(InvalidResponses) as caught:
        ResponseTable.from_votes(GOOD, outcome=[1, 1])  # type: ignore[call-overload]
    assert caught.value.code == "two_sources"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"outcome": [1, np.nan]}, "not_whole"),
        ({"outcome": ["A", "B"]}, "not_a_number"),
        ({"system_a": ["eliza", np.nan]}, "missing_name"),
        ({"prompt_id": [1, np.nan]}, "missing_name"),
    ],
)
def test_what_columns_may_not_hold_a_frame_may_not_hold(change: dict[str, Any], code: str) -> None:
    for frame in (GOOD | change, pd.DataFrame(GOOD | change)):
        with pytest.raises(InvalidResponses) as caught:
            ResponseTable.from_votes(frame)
        assert caught.value.code == code


@pytest.mark.parametrize(
    ("name", "column", "code"),
    [
        *((name, column, "shape") for name in ("outcome", "annotator_id") for column in (3, "w1", b"w1")),
        ("outcome", None, "missing_column"),
    ],
)
def test_what_is_no_column_is_refused(name: str, column: Any, code: str) -> None:
    assert refused(**{name: column}) == code
    with pytest.raises(InvalidResponses) as caught:
        ResponseTable.from_votes(GOOD | {name: column})
    assert caught.value.code == "shape"


def test_a_frames_column_may_be_anything_that_can_be_gone_through_and_one_alone_may_not() -> None:
    once = map(int, "10")
    assert refused(outcome=once) == "shape"
    assert ResponseTable.from_votes(GOOD | {"outcome": once}).outcome.tolist() == [1, 0]


@pytest.mark.parametrize("number", [10**30, -(10**30), 1e300])
def test_a_number_that_cannot_be_counted_with_is_named_as_it_was_given(number: float) -> None:
    with pytest.raises(InvalidResponses, match=r"row 2: outcome is -?1e"):
        ResponseTable.from_votes(**(GOOD | {"outcome": [0, number]}))


def test_an_empty_frame_has_no_votes() -> None:
    with pytest.raises(InvalidResponses) as caught:
        ResponseTable.from_votes(pd.DataFrame(GOOD).iloc[:0])
    assert caught.value.code == "no_votes"


@pytest.mark.parametrize(
    ("ids", "names"),
    [
        ([81, 7], ("7", "81")),
        (np.array([81, 7]), ("7", "81")),
        (np.array([81.0, 7.5], np.float32), ("7.5", "81")),
        (pd.Series([81, 7], dtype="Int64"), ("7", "81")),
        (pd.Categorical(["x", "y"]), ("x", "y")),
        ([True, Decimal("1.5")], ("1.5", "True")),
        ([dt.date(2026, 1, 2), pd.Timestamp("2026-01-03")], ("2026-01-02", "2026-01-03 00:00:00")),
        ([uuid.UUID(int=1), np.str_("y")], ("00000000-0000-0000-0000-000000000001", "y")),
        ([81, "81"], ("81",)),
        ([81.0, 81], ("81",)),
    ],
)
def test_an_identifier_is_any_scalar_known_by_its_text(ids: Any, names: tuple[str, ...]) -> None:
    for frame in (GOOD | {"prompt_id": ids}, pd.DataFrame(GOOD | {"prompt_id": ids})):
        assert ResponseTable.from_votes(frame).prompts == names
    assert ResponseTable.from_votes(**(GOOD | {"prompt_id": ids})).prompts == names
    labels = ResponseTable.from_votes(**GOOD, label=ids).labels
    assert labels == names
    table = ResponseTable.from_votes(**GOOD, annotator_id=ids)
    assert len(set(table.annotator.tolist())) == len(names)


def test_chatbots_may_be_numbers_and_dates() -> None:
    table = ResponseTable.from_votes(GOOD | {"system_a": [1, 2], "system_b": [2.0, dt.date(2026, 1, 2)]})
    assert table.chatbots == ("1", "2", "2026-01-02")


def test_a_csv_with_numbers_as_ids_is_read_as_documented() -> None:
    text = "system_a,system_b,prompt_id,outcome,annotator_id\nheron,wren,0,-1,0\nwren,heron,1,0,\nheron,wren,10,1,3\n"
    frame = pd.read_csv(io.StringIO(text))
    table = ResponseTable.from_votes(frame)
    assert (table.prompts, table.annotator.tolist()) == (("0", "1", "10"), [0, -1, 1])
    assert same_table(table, ResponseTable.from_votes({name: frame[name].tolist() for name in frame}))
    read = list(csv.DictReader(io.StringIO(text)))
    assert same_table(table, ResponseTable.from_votes({name: [row[name] for row in read] for name in read[0]}))


TURNS: dict[str, Any] = {
    "system_a": ["a", "a", "a"],
    "system_b": ["b", "b", "b"],
    "prompt_id": [81, 81, 82],
    "outcome": [-1, 1, 0],
    "annotator_id": ["expert"] * 3,
    "turn": [1, 2, None],
}


def test_turns_of_a_prompt_are_items_of_their_own() -> None:
    table = ResponseTable.from_votes(**TURNS)
    assert table.prompts == ("81", "81 (turn 2)", "82")
    assert table.prompt.tolist() == [0, 1, 2]
    for frame in (TURNS, pd.DataFrame(TURNS)):
        assert same_table(ResponseTable.from_votes(frame), table)


def test_turns_are_merged_only_when_asked_for() -> None:
    assert ResponseTable.from_votes(TURNS, turn=None).prompts == ("81", "82")
    assert ResponseTable.from_votes(**(TURNS | {"turn": None})).prompts == ("81", "82")
    rounds = {("round" if name == "turn" else name): column for name, column in TURNS.items()}
    assert ResponseTable.from_votes(rounds).prompts == ("81", "82")
    assert ResponseTable.from_votes(rounds, turn="round").prompts == ("81", "81 (turn 2)", "82")
    with pytest.raises(InvalidResponses, match="no column round"):
        ResponseTable.from_votes(TURNS, turn="round")


@pytest.mark.parametrize(
    ("change", "code"),
    [({"turn": [1, [2], 3]}, "bad_turn"), ({"prompt_id": ["81", "81 (turn 2)", "82"]}, "ambiguous_prompt")],
)
def test_a_turn_that_names_no_item_is_refused(change: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidResponses) as caught:
        ResponseTable.from_votes(TURNS | change)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("anony", [False, True], "1 of 2 votes have anony False: the annotator could see"),
        ("anony", np.array([False, False]), "2 of 2 votes have anony False"),
        ("Counted", ["no", "yes"], "Counted no: the campaign did not count them"),
        ("status", ["Rejected", "Approved"], "status Rejected"),
        ("is_gold", [1.0, None], "is_gold 1.0"),
        ("aspect", ["style", "overall"], "holds 2 questions"),
        ("dedup_tag", [{"sampled": True}, {"sampled": False}], "holds objects that mark votes to leave out"),
    ],
)
def test_columns_that_change_what_counts_are_named(column: str, values: Any, said: str) -> None:
    for frame in (GOOD | {column: values}, pd.DataFrame(GOOD | {column: values})):
        with pytest.warns(EngineWarning, match=said):
            assert len(ResponseTable.from_votes(frame)) == 2


def test_columns_that_take_nothing_away_are_passed_over() -> None:
    frame = GOOD | {"anony": [True, "true"], "counted": [1, 1], "aspect": ["a", "a"], "language": ["en", "de"]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tables = [
            ResponseTable.from_votes(frame),
            ResponseTable.from_votes(GOOD | {"aspect": ["a", "b"]}, label="aspect"),
        ]
    assert [len(table.labels) for table in tables] == [0, 2]
