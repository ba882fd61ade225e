"""Text and chart of the full Bayesian check: whether the board is reliable, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from evalsite.boards.chart_data import MARGIN
from evalsite.campaigns.permissions import Act
from evalsite.console.page_frame import CampaignContext
from evalsite.presentation.chart_geometry import Axis, Tick
from evalsite.presentation.formatting import fixed, plain, signed, whole
from evalsite.refits.full_check import check_shown
from evalsite.refits.models import FullCheck

# Limits of the root mean square for "agree", and for "similar".
SAME = {"mean": 0.25, "sd": 0.15}
NEAR = {"mean": 0.5, "sd": 0.35}
SIDE = 360.0


def check_context(desk: CampaignContext) -> dict[str, Any]:
    """Return the context of the page.

    check: None before the first request.
    """
    check = check_shown(desk.campaign)
    result = check.result if check else None
    return {
        "check": check,
        "stages": FullCheck.STAGES,
        "waiting": check is not None and check.finished_at is None and not check.trouble,
        "doing": _stages()[min(check.stage, FullCheck.STAGES - 1)] if check else "",
        "may_ask": desk.may(Act.FULL_CHECK),
        "answer": answer_of(result) if result else "",
        "facts": _facts(result) if result else [],
        "rows": [_row(row) for row in result["rows"]] if result else [],
        "figure": figure_of(result["rows"]) if result else None,
    }


def _stages() -> list[str]:
    return [_("The model is compiled."), _("The chains are drawn."), _("The draws are summarised.")]


def answer_of(result: Mapping[str, Any]) -> str:
    found = result["agreement"]
    if not result["diagnostics"]["converged"]:
        return _("The chains have not settled: this check says little for or against the board.")
    if _within(found, SAME):
        return _("The board can be trusted: full Bayes says the same.")
    if _within(found, NEAR):
        return _("Full Bayes tells the same story; read the board's intervals as a little rough.")
    return _("Full Bayes differs from the board. Rely on its numbers below, and tell who runs this site.")


def _within(found: Mapping[str, float], bounds: Mapping[str, float]) -> bool:
    return all(found[name] <= bound for name, bound in bounds.items())


def _facts(result: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return name, value and required value of each fact."""
    chains, found = result["diagnostics"], result["agreement"]
    return [
        (
            _("Distance of the means, in SDs"),
            fixed(found["mean"]),
            _("wanted: up to %(n)s") % {"n": plain(SAME["mean"])},
        ),
        (_("SEs, everyday over full"), fixed(found["ratio"]), _("wanted: near 1")),
        (_("r-hat"), fixed(chains["r_hat"], 3), _("wanted: below 1.01")),
        (_("Effective draws, middle"), fixed(chains["ess_bulk"], 0), _("wanted: 400 or more")),
        (_("Effective draws, tails"), fixed(chains["ess_tail"], 0), _("wanted: 400 or more")),
        (_("Divergences"), whole(chains["divergences"]), _("wanted: none")),
        (_("Judgments"), whole(result["judgments"]), ""),
        (_("Took"), _("%(n)s s") % {"n": fixed(result["seconds"], 0)}, ""),
    ]


def _row(row: Mapping[str, Any]) -> dict[str, str]:
    (mean, se), (full, full_se) = row["everyday"], row["full"]
    return {
        "name": row["name"],
        "everyday": f"{signed(mean)} ± {fixed(MARGIN * se)}",
        "full": f"{signed(full)} ± {fixed(MARGIN * full_se)}",
        "off": signed((mean - full) / full_se),
        "ratio": fixed(se / full_se),
    }


@dataclass(frozen=True, slots=True)
class ComparisonPoint:
    """A chatbot in the chart, in chart units: everyday fit across, full fit upwards, with 95 % intervals."""

    name: str
    x: float
    y: float
    left: float
    right: float
    top: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Scatter:
    """A scatter plot.

    side: side length of the square of the marks. On its diagonal, both fits agree.
    """

    side: float
    marks: Sequence[ComparisonPoint]
    ticks: Sequence[Tick]


def figure_of(rows: Sequence[Mapping[str, Any]]) -> Scatter:
    """Return the means of both fits on one common axis."""
    pairs = [pair for row in rows for pair in (row["everyday"], row["full"])]
    low, high = min(m - MARGIN * se for m, se in pairs), max(m + MARGIN * se for m, se in pairs)
    air = 0.04 * (high - low) or 1.0
    axis = Axis(low - air, high + air)

    def at(value: float) -> float:
        return round(axis.x(value) / 100 * SIDE, 1)

    marks = []
    for row in rows:
        (x, sx), (y, sy) = row["everyday"], row["full"]
        edges = (at(x - MARGIN * sx), at(x + MARGIN * sx), SIDE - at(y + MARGIN * sy), SIDE - at(y - MARGIN * sy))
        marks.append(ComparisonPoint(row["name"], at(x), round(SIDE - at(y), 1), *(round(edge, 1) for edge in edges)))
    return Scatter(SIDE, marks, [Tick(round(tick.x / 100 * SIDE, 1), tick.label) for tick in axis.ticks])
