"""Tables and numbers of reports as text."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from evalsite.presentation.formatting import fixed, whole

DASH = "–"


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of a report: caption, heads, and rows of text. The first column names the row."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def percent(value: float) -> str:
    """Return a share in percent."""
    return _("%(percent)s %%") % {"percent": fixed(100.0 * value, 1)}


def points(value: float) -> str:
    """Return a difference of shares in percentage points, with its sign."""
    return f"{'+' if value > 0 else ''}{fixed(100.0 * value, 1)}"


def interval(found: Mapping[str, Any]) -> str:
    """Return the interval of a share; a dash where it is not known."""
    if found["lower"] is None or found["upper"] is None:
        return DASH
    return f"{fixed(100.0 * found['lower'], 1)} – {percent(found['upper'])}"


def part_of(part: int, all_of: int) -> str:
    """Return the share of a part with the size of the whole; a dash of nothing."""
    return f"{percent(part / all_of)} ({whole(all_of)})" if all_of else DASH


def number(value: float | None) -> str:
    """Return a number with two decimals; a dash if it is not known."""
    return DASH if value is None else fixed(value)


def p_value(value: float | None) -> str:
    """Return a p value; a dash if it is not known."""
    if value is None:
        return DASH
    return f"< {fixed(0.001, 3)}" if value < 0.001 else fixed(value, 3)
