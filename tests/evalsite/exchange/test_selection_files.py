"""What files of selections may hold, and what is refused, with the place and what to do."""

from collections.abc import Callable
from pathlib import Path

import pytest

from evalsite.exchange.selection_file import SelectionFileError, read_selections

Write = Callable[..., Path]
HEADER = "conversation_id,turn,setting,chatbot,position,selected\n"
GOOD = "c,1,S,A,1,1\nc,1,S,B,2,0\nc,2,S,A,2,0\nc,2,S,B,1,1\n"


def refused(path: Path) -> SelectionFileError:
    with pytest.raises(SelectionFileError) as caught:
        read_selections(path)
    assert caught.value.path == path
    assert caught.value.message.startswith(str(path))
    return caught.value


def test_data_frame_numbers_and_truth_values_are_read(write: Write) -> None:
    found = read_selections(write(HEADER + "c,1.0,S,A,1.0,True\nc,1.0,S,B,2.0,false\n")).settings
    assert found[0].selections.selected.tolist() == [1, 0]


def test_column_order_is_free_and_position_optional(write: Write) -> None:
    content = "selected,chatbot,setting,turn,conversation_id\n1,A,S,1,c\n0,B,S,1,c\n"
    (found,) = read_selections(write(content)).settings
    assert found.table is not None
    assert (found.selections.turns, found.table.position) == (1, None)


def test_blank_lines_and_blanks_around_cells_change_nothing(write: Write) -> None:
    content = "\n" + (HEADER + GOOD).replace(",", " ; ").replace("\n", "\n\n")
    (found,) = read_selections(write(content)).settings
    assert found.selections.turns == 2


@pytest.mark.parametrize(
    ("rows", "row", "column"),
    [
        ("c,3,S,A,1,2\n", 5, "selected"),
        ("c,3,S,A,1,\n", 5, "selected"),
        ("c,third,S,A,1,1\n", 5, "turn"),
        ("c,-1,S,A,1,1\n", 5, "turn"),
        ("c,99999999999,S,A,1,1\n", 5, "turn"),
        (",3,S,A,1,1\n", 5, "conversation_id"),
        ("c,3,,A,1,1\n", 5, "setting"),
        ("c,3,S,,1,1\n", 5, "chatbot"),
        (f"c,3,S,{'A' * 300},1,1\n", 5, "chatbot"),
        ("c,3,S,A\x07,1,1\n", 5, "chatbot"),
        ("c,3,S,A,first,1\n", 5, "position"),
        ("c,3,S,A,1,1\n", 5, "chatbot"),
        ("c,2,S,A,1,1\n", 5, "chatbot"),
        ("c,3,S,A,1,1\nc,3,S,B,1,0\n", 5, "position"),
        ("c,3,S,A,1,1,1\n", 5, None),
        ('c,3,"S,A,1,1\n', 5, None),
    ],
)
def test_a_bad_row_is_named_by_row_line_and_column(write: Write, rows: str, row: int, column: str | None) -> None:
    error = refused(write(HEADER + GOOD + rows))
    assert (error.row, error.line, error.column) == (row, row + 1, column)


def test_soba_turn_with_two_selected_is_refused(write: Write) -> None:
    error = refused(write(HEADER + GOOD.replace(",S,", ",PM-SOBA,").replace("2,0\nc,2", "2,1\nc,2")))
    assert (error.row, error.column) == (1, "selected")
    assert "name the setting SATA" in str(error)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty. A file of selections has"),
        (HEADER, "holds no turns"),
        ("a,b\n1,2\n", "there is no column 'conversation_id'"),
        (HEADER.replace("position", "turn") + "c,1,S,A,1,1\n", "this column stands twice"),
        ((HEADER + GOOD).encode("utf-16"), "UTF-16"),
        ((HEADER + GOOD.replace("A", "Ä")).encode("latin-1"), "not UTF-8"),
        ("[]", "is not an object of settings"),
        ("{}", "holds no settings"),
        ('{"S": {}}', "there are no patterns"),
        ('{"S": 5}', "is not an object of counts"),
        ('{"S": {"10": 1', "is not valid JSON"),
        ('{"S": {"10": NaN}}', "NaN is not JSON"),
        ('{"S": {"10": 1, "10": 2}}', "the key '10' stands twice"),
        ('{"S": {"10": 1, "1": 2}}', "the pattern '1' has 1 digits for 2 chatbots"),
        ('{"S": {"1x": 1}}', "other characters than 0 and 1"),
        ('{"S": {"10": 0}}', "there are 0 turns"),
        ('{"S": {"10": -1}}', "is not a whole number"),
        ('{"S": {"10": 1.5}}', "is not a whole number"),
        ('{"S": {"10": "5"}}', "is not a whole number"),
        ('{"S": {"10": true}}', "is not a whole number"),
        ('{"S": {"10": 1e300}}', "is not a whole number"),
        ('{"S": {"10": 6000000}}', "at most 5,000,000"),
        ('{"chatbots": ["x"], "S": {"10": 1}}', "2 digits for 1 chatbots"),
        ('{"chatbots": ["x", "x"], "S": {"10": 1}}', "stands twice"),
        ('{"chatbots": "xy", "S": {"10": 1}}', "not a list of names"),
        ('{"SOBA": {"10": 1, "11": 1}}', "with SOBA exactly one is selected"),
        ('{"S": {"' + "0" * 30 + '": 1}}', "Name the chatbots"),
        ("[" * 100_000, "is not valid JSON"),
    ],
)
def test_a_bad_file_is_refused_with_what_to_do(write: Write, content: str | bytes, said: str) -> None:
    error = refused(write(content))
    assert said in str(error)
    assert error.hint


def test_chatbots_are_named_in_the_file_or_the_setting(write: Write) -> None:
    content = '{"chatbots": ["x", "y"], "S": {"10": 3}, "T": {"chatbots": ["z"], "1": 2}, "_": "a comment"}'
    found = read_selections(write(content)).settings
    assert [(one.name, one.selections.chatbots) for one in found] == [("S", ("x", "y")), ("T", ("z",))]
    by_setting = read_selections(write('{"chatbots": {"S": ["x", "y"]}, "S": {"10": 3}, "T": {"0": 2}}')).settings
    assert [one.selections.chatbots for one in by_setting] == [("x", "y"), ("A",)]


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "No such file" in str(refused(tmp_path / "nothing.csv"))
