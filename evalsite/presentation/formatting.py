"""Numbers as readers read them, the same on every page."""

from decimal import Decimal

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from evalsite.boards.rows import BoardRow
from evalsite.core.number_format import whole as whole


def fixed(value: float | Decimal, digits: int = 2) -> str:
    """So many decimals, thousands apart, both as the reader's language does it."""
    return str(number_format(f"{value:.{digits}f}", decimal_pos=digits, force_grouping=True)).replace("-", "−")


def plain(value: float) -> str:
    """As short as it was entered: 0.2 is not 0.20."""
    return str(number_format(f"{value:g}")).replace("-", "−")


def signed(value: float) -> str:
    """Two decimals with a true minus sign; what rounds to zero has no sign."""
    sign = {"+": "+", "-": "−"}[f"{value:+.2f}"[0]]
    return fixed(0.0) if f"{abs(value):.2f}" == "0.00" else sign + fixed(abs(value))


def interval_text(lower: float, upper: float) -> str:
    return _("%(lower)s to %(upper)s") % {"lower": signed(lower), "upper": signed(upper)}


def rank_text(row: BoardRow) -> str:
    """The rank, and in brackets the places that the evidence still allows: "2 (1–4)"."""
    if row["rank_lower"] == row["rank_upper"]:
        return str(row["rank"])
    return f"{row['rank']} ({row['rank_lower']}–{row['rank_upper']})"


def share(value: float | None) -> str:
    """A share in whole percent; a dash where there is none."""
    return "–" if value is None else _("%(percent)s %%") % {"percent": round(100 * value)}


def chance(probability: float) -> str:
    """A probability in whole percent that never claims certainty."""
    if probability > 0.99:
        return _("over 99 %")
    return _("under 1 %") if probability < 0.01 else share(probability)
