"""Files of rows: what is not of their form is refused with its line, and says how to mend it."""

import pytest

from evalsite.core.errors import InvalidInput
from evalsite.core.row_files import rows_read


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_other_separators_than_commas_are_named(separator: str) -> None:
    for head in ("prompt_id", '"prompt_id"'):
        with pytest.raises(InvalidInput, match=f"not separated by commas: {head}") as refused:
            rows_read(f"{head}{separator}reply\np0{separator}Hello, you\n".encode(), "replies.csv")
        assert refused.value.hint == "Save the file with commas between its columns."


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_may_end_as_any_system_ends_them(end: str) -> None:
    reading = rows_read(f"prompt_id,reply{end}p0,Hello; there{end}".encode(), "replies.csv")
    assert [dict(row.cells) for row in reading.rows] == [{"prompt_id": "p0", "reply": "Hello; there"}]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_head_of_one_column_is_one_column(end: str) -> None:
    assert rows_read(f"text{end}Why; and when?{end}".encode(), "prompts.csv").columns == ("text",)
