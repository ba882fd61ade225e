"""Rows of one reply each become tables of turns."""

import pytest

from irt_engine.errors import InvalidResponses
from irt_engine.selections import SelectionRow, SelectionRowError, turn_tables


def turn(
    number: int, *selected: bool, conversation: str = "c", setting: str = "S", chatbots: str = "AB"
) -> list[SelectionRow]:
    return [
        SelectionRow(conversation, number, setting, chatbot, place + 1, chosen)
        for place, (chatbot, chosen) in enumerate(zip(chatbots, selected, strict=True))
    ]


def test_rows_in_any_order_become_turns() -> None:
    rows = [*turn(2, True, False), *turn(1, True, True)]
    (found,) = turn_tables(rows[::-1])
    assert (found.setting, found.table.chatbots, found.conversations) == ("S", ("A", "B"), ("c",))
    assert found.table.turn.tolist() == [1, 2]
    assert found.table.selected.tolist() == [[1, 1], [1, 0]]


def test_each_setting_and_set_of_chatbots_has_a_table() -> None:
    rows = [
        *turn(1, True, False),
        *turn(1, True, False, conversation="d", chatbots="AC"),
        *turn(1, True, False, setting="T"),
    ]
    found = turn_tables(rows)
    assert [(one.setting, one.table.chatbots) for one in found] == [
        ("S", ("A", "B")),
        ("S", ("A", "C")),
        ("T", ("A", "B")),
    ]


@pytest.mark.parametrize(
    ("setting", "selected", "one_best"),
    [
        ("PM-SOBA", (True, False), True),
        ("sata-user", (True, False), False),
        ("any", (True, False), True),
        ("any", (True, True), False),
    ],
)
def test_name_or_else_turns_say_whether_one_is_best(setting: str, selected: tuple[bool, bool], one_best: bool) -> None:
    (found,) = turn_tables(turn(1, *selected, setting=setting))
    assert found.table.one_best is one_best


def test_a_single_reply_can_be_rejected() -> None:
    (found,) = turn_tables(turn(1, True, chatbots="A"))
    assert found.table.one_best is False


def test_positions_may_begin_at_zero_and_may_be_unknown() -> None:
    rows = turn(1, True, False)
    (from_zero,) = turn_tables([row._replace(position=(row.position or 1) - 1) for row in rows])
    assert from_zero.table.position is not None
    assert from_zero.table.position.tolist() == [[1, 2]]
    (unknown,) = turn_tables([row._replace(position=None) for row in rows])
    assert unknown.table.position is None


@pytest.mark.parametrize(
    ("rows", "row", "column"),
    [
        ([*turn(1, True, False), *turn(1, True, False)], 2, "chatbot"),
        ([*turn(1, True, False), *turn(2, True, chatbots="A")], 2, "chatbot"),
        ([*turn(1, True, False, setting="SOBA"), *turn(2, True, True, setting="SOBA")], 2, "selected"),
        ([turn(1, True, False)[0], turn(1, True, False)[1]._replace(position=1)], 0, "position"),
        ([turn(1, True, False)[0], turn(1, True, False)[1]._replace(position=None)], 0, "position"),
    ],
)
def test_an_error_names_row_and_column(rows: list[SelectionRow], row: int, column: str) -> None:
    with pytest.raises(SelectionRowError) as caught:
        turn_tables(rows)
    assert (caught.value.row, caught.value.column) == (row, column)


def test_no_rows_are_refused() -> None:
    with pytest.raises(InvalidResponses):
        turn_tables([])
