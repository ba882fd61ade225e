"""How a board came to be: abilities and standard errors, snapshot by snapshot."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evalsite.adaptive.rows import BoardRow
from evalsite.adaptive.selectors import Moment
from evalsite.pages.charts import Frame, frame_for
from evalsite.pages.figures.base import Cell, Figure, Material, Table
from evalsite.pages.words import fixed, plain, rank_text, signed, whole

PANELS_AT_MOST = 12


@dataclass(frozen=True, slots=True)
class Panel:
    """One chatbot's ability over time. now: from where to where its latest interval reaches."""

    name: str
    rank: str
    ability: str
    line: str
    band: str
    dot: tuple[float, float]
    now: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Panels:
    frame: Frame
    panels: list[Panel]
    left_out: int
    first: int
    last: int


def over_time(given: Material) -> Figure:
    """Ability against judgments, a panel each: lines of several chatbots in one picture would need colours."""
    drawing = panels(given.rows[:PANELS_AT_MOST], given.moments, left_out=len(given.rows) - PANELS_AT_MOST)
    finding = ngettext(
        "Ability after %(count)s refit, with its 95 %% interval; all panels have one scale.",
        "Ability over %(count)s refits, with its 95 %% interval; all panels have one scale.",
        len(given.moments),
    ) % {"count": len(given.moments)}
    columns = ["snapshot", "judgments", "time", "chatbot", "ability", "lower", "upper"]
    rows: list[list[Cell]] = [
        [m.number, m.judgments, m.created_at.isoformat(), row["name"], row["ability"], row["lower"], row["upper"]]
        for m in given.moments
        for row in m.rows
    ]
    return Figure("over_time", _("Ability over time"), finding, Table(columns, rows), drawing)


def panels(rows: Sequence[BoardRow], moments: Sequence[Moment], *, left_out: int = 0) -> Panels:
    """A panel for each row, all on one scale. Early intervals may leave it: they say only "not known yet"."""
    latest = [row for moment in moments[len(moments) // 3 :] for row in moment.rows]
    wanted = {_identity(row) for row in rows}
    seen = [row for row in latest if _identity(row) in wanted]
    frame = frame_for(
        [moment.judgments for moment in moments],
        [row["lower"] for row in seen],
        [row["upper"] for row in seen],
        top=4.0,
        bottom=116.0,
    )
    drawn = [_panel(row, moments, frame) for row in rows]
    return Panels(frame, drawn, max(0, left_out), moments[0].judgments, moments[-1].judgments)


def _identity(row: BoardRow) -> tuple[str, str]:
    """A row's version, or its chatbot in snapshots that did not name versions."""
    return row["chatbot"], row.get("version_label", "")


def _panel(row: BoardRow, moments: Sequence[Moment], frame: Frame) -> Panel:
    past = [(m.judgments, each) for m in moments for each in m.rows if _identity(each) == _identity(row)]
    return Panel(
        name=row["name"],
        rank=rank_text(row),
        ability=signed(row["ability"]),
        line=frame.line([(judgments, each["ability"]) for judgments, each in past]),
        band=frame.band([(judgments, each["lower"], each["upper"]) for judgments, each in past]),
        dot=(frame.across.x(past[-1][0]), frame.y(past[-1][1]["ability"])),
        now=(frame.y(past[-1][1]["lower"]), frame.y(past[-1][1]["upper"])),
    )


@dataclass(frozen=True, slots=True)
class Precision:
    """Standard errors against judgments; `ahead` goes on from the last one to the target, if that is near enough."""

    frame: Frame
    largest: str
    median: str
    end: tuple[float, float]
    median_end: tuple[float, float]
    target: float | None
    target_text: str
    ahead: str


def precision(given: Material) -> Figure:
    evidence = given.standing.decision.evidence if given.standing.decision else {}
    target: float | None = evidence.get("target")
    ahead = given.collecting and not evidence.get("out_of_reach")
    togo = evidence.get("judgments_to_go", 0.0) if ahead else 0.0
    rows: list[list[Cell]] = [
        [m.number, m.judgments, max(se), statistics.median(se), target]
        for m in given.moments
        if (se := [row["se"] for row in m.rows])
    ]
    table = Table(["snapshot", "judgments", "largest_se", "median_se", "target"], rows)
    last = given.moments[-1]
    finding = _precision_words(max(row["se"] for row in last.rows), target, round(togo))
    title = _("Standard error against judgments")
    return Figure("precision", title, finding, table, _precision(given, target, togo))


def _precision_words(se: float, target: float | None, togo: int) -> str:
    if target is None:
        return _("The largest standard error is %(se)s.") % {"se": fixed(se, 3)}
    known = {"se": fixed(se, 3), "target": fixed(target)}
    if se <= target:
        return _("The largest standard error is %(se)s: the target of %(target)s is reached.") % known
    words = _("The largest standard error is %(se)s, the target %(target)s") % known
    left = ngettext("about %(count)s judgment to go", "about %(count)s judgments to go", togo) % {"count": whole(togo)}
    return f"{words}; {left}." if togo else f"{words}."


def _precision(given: Material, target: float | None, togo: float) -> Precision:
    points = [(m.judgments, [row["se"] for row in m.rows]) for m in given.moments]
    now, latest = points[-1]
    goal = now + togo if target is not None and 0 < togo <= 3 * now else now
    # Of the first refits the largest SE is the prior's: the scale is that of what came after.
    tall = [max(se) for _, se in points[len(points) // 6 :]] + [1.1 * (target or 0.0)]
    frame = frame_for([goal], [0.0], tall, top=8.0, bottom=248.0)
    ahead = [(now + (goal - now) * step / 12) for step in range(13)] if goal > now else []
    return Precision(
        frame=frame,
        largest=frame.line([(n, max(se)) for n, se in points]),
        median=frame.line([(n, statistics.median(se)) for n, se in points]),
        end=(frame.across.x(now), frame.y(max(latest))),
        median_end=(frame.across.x(now), frame.y(statistics.median(latest))),
        target=None if target is None else frame.y(target),
        target_text="" if target is None else plain(target),
        ahead=frame.line([(n, max(latest) * (now / n) ** 0.5) for n in ahead]) if ahead else "",
    )
