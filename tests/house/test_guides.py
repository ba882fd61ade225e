"""The guides in docs/: their tables are whole, and the API's names every act."""

import re
from pathlib import Path

from evalsite.operations.actions import PERFORMED

ROOT = Path(__file__).resolve().parents[2]
GUIDES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CODE = re.compile(r"```.*?```", re.DOTALL)


def tables(text: str) -> list[list[str]]:
    """The rows of each table outside of code."""
    blocks = re.split(r"\n(?!\|)", CODE.sub("", text))
    return [[row for row in block.splitlines() if row.startswith("|")] for block in blocks if "\n|" in block]


def cells(row: str) -> int:
    """A bar in a cell ends it, also within backticks, unless a backslash is before it."""
    return len(re.findall(r"(?<!\\)\|", row)) - 1


def test_every_row_of_a_table_has_as_many_cells_as_its_head() -> None:
    found = [rows for guide in GUIDES for rows in tables(guide.read_text())]
    assert len(found) > len(GUIDES)
    for rows in found:
        assert {cells(row) for row in rows} == {cells(rows[0])}, rows[0]


def test_tables_are_found_and_a_bar_in_a_cell_is_seen() -> None:
    assert tables("x\n\n| a | b |\n|---|---|\n| `|` | c |\n\ny") == [["| a | b |", "|---|---|", "| `|` | c |"]]
    assert [cells("| a | b |"), cells("| `|` | b |"), cells(r"| `\|` | b |")] == [2, 3, 2]


def test_the_guide_to_the_api_names_every_act_the_gold_and_the_files() -> None:
    text = (ROOT / "docs" / "api.md").read_text()
    assert [act.value for act in PERFORMED if f"`{act.value}`" not in text] == []
    assert "/campaigns/<key>/gold`" in text
    assert "/organisations/alice/prompts?" in text
    assert "/organisations/alice/chatbots?" in text
