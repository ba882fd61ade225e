"""Layout of text tables: columns of equal width on a terminal, short names, counts with their noun."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from evalsite.core.row_files import defused
from evalsite.core.terminal import shown

GAP = "  "
_LONGEST_NAME = 40


def aligned(heads: Sequence[str], sides: str, cells: Sequence[Sequence[str]]) -> list[str]:
    """Return the header and the rows as lines of equal width.

    sides: "<" or ">" for each column, the side to which its texts move.
    """
    widths = [max(map(columns, column)) for column in zip(heads, *cells, strict=True)]
    return [
        GAP.join(_padded(cell, size, side) for cell, size, side in zip(row, widths, sides, strict=True))
        for row in (heads, *cells)
    ]


def counted(number: int, thing: str) -> str:
    """Return `1 vote` or `2 votes`."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def short_name(name: str) -> str:
    """Return the name on one line of limited length, without what a terminal or a spreadsheet would obey."""
    name = defused(shown(name))  # Users paste tables into spreadsheets.
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 3] + "..."


def columns(text: str) -> int:
    """Count the columns of the text on a terminal: two for a wide character, none for a combining mark."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)


def _padded(text: str, size: int, side: str) -> str:
    blanks = " " * (size - columns(text))
    return text + blanks if side == "<" else blanks + text
