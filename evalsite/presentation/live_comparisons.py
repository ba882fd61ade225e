"""What a live report is compared with: third parties' judgments of its turns, and static campaigns."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from evalsite.presentation.formatting import signed, whole
from evalsite.presentation.report_text import TextTable, number, p_value, part_of


def third_parties_table(found: Sequence[Mapping[str, Any]]) -> TextTable | None:
    """Return the agreement of third parties with the live choices, a row for each coefficient of each sample."""
    if not found:
        return None
    annotators = {
        "with_live": _("live choices and third parties"),
        "among_themselves": _("third parties among themselves"),
    }
    names = {"krippendorff": _("Krippendorff's alpha (nominal)"), "fleiss": _("Fleiss' kappa")}
    rows = [
        (
            sample["made_at"][:10],
            annotators[who],
            names[name],
            number(sample[who][name]["value"]),
            number(sample[who][name]["se"]),
            whole(sample["turns"]),
            whole(sample["annotators"]),
            part_of(sample["same"], sample["compared"]),
        )
        for sample in found
        for who in annotators
        for name in names
    ]
    heads = (
        _("Sample of"),
        _("Annotators"),
        _("Coefficient"),
        _("Value"),
        _("SE"),
        _("Turns"),
        _("Third parties"),
        _("Same as the live choice"),
    )
    return TextTable(_("Agreement of third parties: each reply selected or not"), heads, tuple(rows))


def modes_table(found: Sequence[Mapping[str, Any]]) -> TextTable | None:
    """Return the tests that the mode makes no difference; None without a static campaign to compare with."""
    if not found:
        return None
    rows = [
        (
            one["name"],
            _("one board") if one["one_board"] else _("two boards"),
            one["test"],
            number(one["statistic"]),
            ", ".join(whole(df) for df in one["df"]),
            p_value(one["p"]),
            "; ".join(f"{name} {signed(shift)}" for name, shift in one["shifts"].items()),
        )
        for one in found
    ]
    heads = (
        _("Static campaign"),
        _("Result"),
        _("Test"),
        _("Statistic"),
        _("Degrees of freedom"),
        _("p"),
        _("Live minus static ability (logits)"),
    )
    return TextTable(_("Static and live judgments of the same chatbots"), heads, tuple(rows))
