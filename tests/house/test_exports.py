"""Files that we write: safe in a spreadsheet, wherever they are written."""

import ast
import csv
import io
from pathlib import Path

import pytest

from evalsite.core.row_files import csv_text, defused, undefused

ROOT = Path(__file__).resolve().parents[2]
WRITERS = {"writer", "DictWriter", "to_csv"}
SIGNS = ["=1", "+1", "-1", "@a", "\t=1", "\r=1", "\n=1", "＝1", " =1", "\u00a0@a", "\u3000=1"]  # noqa: RUF001


def writers(path: Path) -> list[str]:
    """Names of the writers of CSV that a module uses."""
    source = path.read_text()
    if not any(name in source for name in WRITERS):
        return []
    named = [node.attr for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)]
    return [name for name in named if name in WRITERS]


def test_all_csv_is_written_in_one_place() -> None:
    found = {path.relative_to(ROOT).as_posix() for path in (ROOT / "evalsite").rglob("*.py") if writers(path)}
    assert found == {"evalsite/core/row_files.py"}


@pytest.mark.parametrize("text", SIGNS)
def test_a_text_that_a_spreadsheet_computes_is_defused(text: str) -> None:
    assert defused(text) == f"'{text}"
    rows = list(csv.reader(io.StringIO(csv_text([[text], ["a", text]]), newline="")))
    assert rows == [[f"'{text}"], ["a", f"'{text}"]]


@pytest.mark.parametrize("text", [*SIGNS, "'=1", "''-", "it's", "'quoted'", "' =1", "'", "", "plain"])
def test_every_text_is_restored_from_csv(text: str) -> None:
    ((cell,),) = csv.reader(io.StringIO(csv_text([[text]]), newline="")) if text else [[""]]
    assert undefused(cell) == text


@pytest.mark.parametrize("value", ["a=1", "a b", "", 1, -1.5, None, "'a=1", "'"])
def test_other_cells_are_left_as_they_are(value: object) -> None:
    assert defused(value) == value
