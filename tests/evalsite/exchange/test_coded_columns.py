"""A coded column is the same sequence as the list of its cells."""

from __future__ import annotations

import numpy as np
import pytest

from evalsite.exchange.coded_columns import CodedColumn, ColumnBuilder, counts_of, different, numbered, same_value


def coded(*codes: int) -> CodedColumn:
    return CodedColumn(["a", None, "b", "a"], np.array(codes))


def test_a_coded_column_equals_its_cells() -> None:
    column = coded(0, 1, 3)
    assert column == ["a", None, "a"]
    assert column == ("a", None, "a")
    assert column == coded(3, 1, 0)
    assert column != ["a", None, "b"]
    assert column != ["a", None]
    assert column != "a"
    assert column[1:] == [None, "a"]
    assert [column[0], column[2], column.count("a"), column.count(None)] == ["a", "a", 2, 1]


def test_values_without_a_row_are_not_counted() -> None:
    assert different(coded(1, 2)) == {None, "b"}
    assert dict(counts_of(coded(2, 2))) == {"b": 2}
    assert dict(counts_of(["b", "b"])) == {"b": 2}


@pytest.mark.parametrize("column", [coded(0, 2, 3, 1), ["a", "b", "a", None]])
def test_equal_cells_get_equal_numbers(column: list[str | None] | CodedColumn) -> None:
    numbers: dict[str | None, int] = {None: 0}
    found = numbered(column, numbers).tolist()
    assert found[0] == found[2] != found[1]
    assert found[3] == 0
    assert numbered(["b"], numbers).tolist() == [found[1]]


def test_pieces_make_one_column() -> None:
    builder = ColumnBuilder()
    builder.add(coded(0, 1))
    builder.add(CodedColumn(["b", "a"], np.array([1, 0])))
    assert isinstance(builder.column(), CodedColumn)
    assert builder.column() == ["a", None, "a", "b"]


def test_a_list_among_the_pieces_makes_a_list() -> None:
    builder = ColumnBuilder()
    for piece in (coded(0, 1), ["c"], same_value(None, 2)):
        builder.add(piece)
    assert builder.column() == ["a", None, "c", None, None]


def test_no_pieces_are_an_empty_column() -> None:
    assert ColumnBuilder().column() == []
