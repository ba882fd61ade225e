"""History of a board: abilities and standard errors by snapshot."""

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evalsite.boards.events import BoardEvent
from evalsite.boards.rows import BoardRow
from evalsite.boards.selectors import BoardState, Moment
from evalsite.presentation.chart_geometry import Axis, ChartFrame, frame_for
from evalsite.presentation.figures.base import Cell, Figure, FigureInput, Table
from evalsite.presentation.formatting import fixed, plain, rank_text, signed, whole

PANELS_AT_MOST = 12
LETTERS_PX = 22.0  # Two lines of small text.
EDGE = 85.0  # Percent of the width. Labels do not fit to the right of it.
EVENTS_AT_MOST = 20  # The newest ones; the data file has all.


@dataclass(frozen=True, slots=True)
class Panel:
    """The ability of one chatbot over time.

    now: the ends of its latest interval.
    """

    name: str
    rank: str
    ability: str
    line: str
    band: str
    dot: tuple[float, float]
    now: tuple[float, float]


@dataclass(frozen=True, slots=True)
class EventMark:
    """An event in every panel.

    when: the number of judgments before it, as text.
    """

    number: int
    x: float
    when: str
    words: str

    @property
    def word_y(self) -> int:
        """Return the height of its words, each event on a line of its own."""
        return 11 * self.number - 2


@dataclass(frozen=True, slots=True)
class Panels:
    frame: ChartFrame
    panels: list[Panel]
    left_out: int
    first: int
    last: int
    events: list[EventMark]


def over_time(given: FigureInput) -> Figure:
    """Return ability against judgments, in one panel per chatbot.

    Several lines in one chart would need colours.
    """
    left_out = len(given.rows) - PANELS_AT_MOST
    drawing = panels(given.rows[:PANELS_AT_MOST], given.moments, given.events, left_out=left_out)
    finding = ngettext(
        "Ability after %(count)s update, with its 95 %% interval. All panels have the same scale.",
        "Ability over %(count)s updates, with its 95 %% interval. All panels have the same scale.",
        len(given.moments),
    ) % {"count": len(given.moments)}
    columns = ["snapshot", "judgments", "time", "chatbot", "ability", "lower", "upper", "events_after"]
    after = {
        index: "; ".join(_event_text(e) for e in given.events if e.moment == index)
        for index in range(len(given.moments))
    }
    rows: list[list[Cell]] = [
        [m.number, m.judgments, m.created_at.isoformat(), row["name"], row["ability"], row["lower"], row["upper"], said]
        for m, said in zip(given.moments, after.values(), strict=True)
        for row in m.rows
    ]
    return Figure("over_time", _("Ability over time"), finding, Table(columns, rows), drawing)


def panels(
    rows: Sequence[BoardRow], moments: Sequence[Moment], events: Sequence[BoardEvent] = (), *, left_out: int = 0
) -> Panels:
    """Return one panel per row on a common scale.

    Early intervals may exceed the scale, because they only show that little is known.
    """
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
    marks = [
        EventMark(number, frame.across.x(judgments), whole(judgments), _event_text(event))
        for number, event in enumerate(events[-EVENTS_AT_MOST:], start=1)
        for judgments in [moments[event.moment].judgments]
    ]
    return Panels(frame, drawn, max(0, left_out), moments[0].judgments, moments[-1].judgments, marks)


def _event_text(event: BoardEvent) -> str:
    """Return the event in a few words."""
    n, names = {"n": event.count}, {"names": ", ".join(event.names)}
    words = {
        "add_entrant": lambda: _("%(names)s joined") % names,
        "withdraw_entrant": lambda: _("%(names)s withdrawn") % names,
        "exclude": lambda: ngettext("%(n)s annotator left out", "%(n)s annotators left out", event.count) % n,
        "readmit": lambda: ngettext("%(n)s annotator counted again", "%(n)s annotators counted again", event.count) % n,
        "retire_prompt": lambda: ngettext("%(n)s prompt asked no more", "%(n)s prompts asked no more", event.count) % n,
        "pause": lambda: _("paused"),
        "resume": lambda: _("went on"),
        "launch": lambda: _("went on"),
        "stop": lambda: _("stopped"),
        "extend": lambda: _("limits changed"),
        "engine": lambda: _("engine %(names)s") % names,
    }
    return words[event.what]()


def _identity(row: BoardRow) -> tuple[str, str]:
    """Return the version of a row, or its chatbot in snapshots that did not store versions."""
    return row["chatbot"], row.get("version_label", "")


def _panel(row: BoardRow, moments: Sequence[Moment], frame: ChartFrame) -> Panel:
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
class ErrorCurves:
    """Standard errors against judgments.

    ahead: extrapolation from the last point to the target, if it is near enough.
    at_random: largest SE of the random baseline.
    random_label: position of the label of the baseline.
    label_x, largest_y, median_y: where the lines are labelled.
    """

    frame: ChartFrame
    label_x: float
    largest_y: float
    median_y: float
    largest: str
    median: str
    end: tuple[float, float]
    median_end: tuple[float, float]
    target: float | None
    target_text: str
    ahead: str
    at_random: str
    random_label: tuple[float, float] | None


def precision(given: FigureInput) -> Figure:
    evidence = given.board_state.evidence
    target: float | None = evidence.get("target")
    ahead = given.collecting and not evidence.get("out_of_reach") and _is_decided(given.board_state)
    togo = evidence.get("judgments_to_go", 0.0) if ahead else 0.0
    rows: list[list[Cell]] = [
        [m.number, m.judgments, max(se), statistics.median(se), target, _at(given.record.at_random, m.judgments)]
        for m in given.moments
        if (se := [row["se"] for row in m.rows])
    ]
    table = Table(["snapshot", "judgments", "largest_se", "median_se", "target", "largest_se_at_random"], rows)
    last = given.moments[-1]
    largest = max(row["se"] for row in last.rows)
    finding = _precision_words(largest, target, round(togo))
    compared = _random_words(given.record.at_random, last.judgments, largest)
    finding = f"{finding} {compared}" if compared else finding
    title = _("Standard error against judgments")
    return Figure("precision", title, finding, table, _precision(given, target, togo))


def _at_end(frame: ChartFrame, points: Sequence[tuple[int, float]], target: float | None) -> tuple[float, float]:
    """Return the position of a line's label.

    It is behind the end, or above it at the edge, and avoids the label of the target.
    """
    x, y = frame.across.x(points[-1][0]), frame.y(points[-1][1])
    at = None if target is None else frame.y(target)
    if at is not None and abs(y - at) < LETTERS_PX:
        return x, round(at - LETTERS_PX, 1)
    return x, round(y + 4.0 if x < EDGE else y - 14.0, 1)


def _at(course: Sequence[tuple[int, float]], judgments: int) -> float | None:
    """Return the SE of a curve at this number of judgments; None beyond its ends.

    The precision is interpolated between the points, because it grows linearly.
    """
    for (before, high), (after, low) in itertools.pairwise(course):
        if before <= judgments <= after and before < after:
            part = (judgments - before) / (after - before)
            return float((high**-2 + part * (low**-2 - high**-2)) ** -0.5)
    return None


def _random_words(course: Sequence[tuple[int, float]], judgments: int, largest: float) -> str:
    """Return the sentence about the random baseline; empty if it was not computed."""
    if not course or not judgments:
        return ""
    cost, se = course[-1]
    if se > 1.01 * largest:
        return _("Asking at random would not have come so far within %(count)s judgments.") % {"count": whole(cost)}
    known = {"count": whole(cost), "percent": round(100 * cost / judgments)}
    return _("Asking at random would have taken about %(count)s judgments for this, %(percent)s %% of these.") % known


def _is_decided(board_state: BoardState) -> bool:
    """Return whether the last decision is about the snapshot shown. A snapshot is published before its decision."""
    decision, snapshot = board_state.decision, board_state.snapshot
    return decision is not None and snapshot is not None and decision.snapshot_id == snapshot.pk


def _precision_words(se: float, target: float | None, togo: int) -> str:
    if target is None:
        return _("The largest standard error is %(se)s.") % {"se": fixed(se, 3)}
    known = {"se": fixed(se, 3), "target": fixed(target)}
    if se <= target:
        return _("The largest standard error is %(se)s: the target of %(target)s is reached.") % known
    words = _("The largest standard error is %(se)s, the target %(target)s") % known
    left = ngettext("about %(count)s judgment to go", "about %(count)s judgments to go", togo) % {"count": whole(togo)}
    return f"{words}; {left}." if togo else f"{words}."


def _cut_frame(
    points: Sequence[tuple[int, list[float]]], goal: float, highest: float, target: float | None
) -> ChartFrame:
    """Return a frame that begins where the data begin, on both axes."""
    lowest = min([statistics.median(se) for _, se in points] + ([target] if target is not None else []))
    first = points[0][0] if points[0][0] < goal else 0.0
    air = 0.08 * (highest - lowest) or 0.1 * highest
    return ChartFrame(Axis(float(first), float(goal)), Axis(lowest - air, highest + air), top=8.0, bottom=248.0)


def _precision(given: FigureInput, target: float | None, togo: float) -> ErrorCurves:
    points = [(m.judgments, [row["se"] for row in m.rows]) for m in given.moments]
    now, latest = points[-1]
    reached = now + togo if target is not None and 0 < togo <= 3 * now else now
    course = given.record.at_random
    goal = max(reached, min(course[-1][0], 3 * now)) if course else reached
    # The largest SE of the first refits is the prior's, so the scale follows the later ones.
    tall = [max(se) for _, se in points[len(points) // 6 :]] + [1.1 * (target or 0.0)]
    frame = _cut_frame(points, goal, max(tall), target)
    ahead = [(now + (reached - now) * step / 12) for step in range(13)] if reached > now else []
    drawn = [(n, se) for n, se in course if n <= goal and se <= frame.up.high]
    labelled, errors = points[len(points) // 2]
    return ErrorCurves(
        frame=frame,
        label_x=min(max(frame.across.x(labelled), 12.0), 88.0),
        largest_y=frame.y(max(errors)),
        median_y=frame.y(statistics.median(errors)),
        largest=frame.line([(n, max(se)) for n, se in points]),
        median=frame.line([(n, statistics.median(se)) for n, se in points]),
        end=(frame.across.x(now), frame.y(max(latest))),
        median_end=(frame.across.x(now), frame.y(statistics.median(latest))),
        target=None if target is None else frame.y(target),
        target_text="" if target is None else plain(target),
        ahead=frame.line([(n, max(latest) * (now / n) ** 0.5) for n in ahead]) if ahead else "",
        at_random=frame.line(drawn) if len(drawn) > 1 else "",
        random_label=_at_end(frame, drawn, target) if len(drawn) > 1 else None,
    )
