"""Number formats that all pages share."""

from decimal import Decimal

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from evalsite.boards.rows import BoardRow
from evalsite.core.number_format import whole as whole


def fixed(value: float | Decimal, digits: int = 2) -> str:
    """Format a number with this many decimals and thousands separators, in the reader's language."""
    return str(number_format(f"{value:.{digits}f}", decimal_pos=digits, force_grouping=True)).replace("-", "−")


def plain(value: float) -> str:
    """Format a number as short as it was entered: 0.2, not 0.20."""
    return str(number_format(f"{value:g}")).replace("-", "−")


def signed(value: float) -> str:
    """Format with two decimals and a true minus sign. A value that rounds to zero has no sign."""
    sign = {"+": "+", "-": "−"}[f"{value:+.2f}"[0]]
    return fixed(0.0) if f"{abs(value):.2f}" == "0.00" else sign + fixed(abs(value))


def interval_text(lower: float, upper: float) -> str:
    return _("%(lower)s to %(upper)s") % {"lower": signed(lower), "upper": signed(upper)}


def rank_text(row: BoardRow) -> str:
    """Format the rank with its possible range in brackets: "2 (1–4)". A withdrawn chatbot has none."""
    if "withdrawn" in row:
        return "–"
    if row["rank_lower"] == row["rank_upper"]:
        return str(row["rank"])
    return f"{row['rank']} ({row['rank_lower']}–{row['rank_upper']})"


def share(value: float | None) -> str:
    """Format a share in whole percent, or a dash without one."""
    return "–" if value is None else _("%(percent)s %%") % {"percent": round(100 * value)}


def chance(probability: float) -> str:
    """Format a probability in whole percent that never claims certainty."""
    if probability > 0.99:
        return _("over 99 %")
    return _("under 1 %") if probability < 0.01 else share(probability)
