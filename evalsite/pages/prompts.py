"""The prompts of a board: the information that each gives, and the results of the chatbots."""

import math
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evalsite.boards.chart_data import DIFFERENCES, MARGIN
from evalsite.boards.rows import BoardRow
from evalsite.boards.selectors import BoardState
from evalsite.chatbots.models import Reply, Version
from evalsite.core.errors import NotFound
from evalsite.core.terminal import shown
from evalsite.judgments.selectors import votes_counted
from evalsite.operations.campaign_status import findings_of
from evalsite.presentation.chart_geometry import Axis, ChartFrame, axis_for
from evalsite.presentation.figures.base import Cell, Figure, Table
from evalsite.presentation.formatting import fixed
from evalsite.presentation.links import Links
from evalsite.presentation.page_cache import cached_part
from evalsite.presentation.ranking import stamp
from evalsite.prompts.models import Prompt

ON_A_PAGE = 100
TOP_PX, BOTTOM_PX = 24.0, 200.0
APART = 2.5  # Minimum distance of two readable numbers, in percent of the width.
LETTER_PERCENT = 2.1  # Width of a letter of a label on a phone, in percent of the chart.
LONGEST_LABEL = 11  # Letters of a name.
LINE_PX = 14.0  # Height of a label.
ABOVE_PX, BELOW_PX = 21.0, 8.0  # From a point to the top of its label above and below.
DOT_PERCENT, DOT_PX = 1.5, 6.0  # Half the size of a point.
LEVEL_PERCENT = 9.0  # Width of the numbers at the left edge.
DRAWN_FROM = 5  # Votes of a pair that a bar shows.
REPLIES_AT_MOST = 8


@dataclass(frozen=True, slots=True)
class PromptInput:
    """The input of a prompt's page.

    found: findings by prompt key.
    pairs: see `_pairs`.
    """

    board_state: BoardState
    key: str
    prompt: Prompt
    rows: list[BoardRow]
    found: Mapping[int, Mapping[str, Any]]
    pairs: list[tuple[int, int, int, int, int]]

    @property
    def own(self) -> Mapping[str, Any]:
        return self.found.get(self.prompt.pk, {})

    @property
    def information(self) -> Sequence[float]:
        return self.own.get("information") or ()

    def told(self, difference: float) -> float:
        """Return the information of a judgment at this ability difference, interpolated between stored values."""
        step = DIFFERENCES[1]
        place = min(abs(difference), DIFFERENCES[-1]) / step
        left = min(int(place), len(DIFFERENCES) - 2)
        before, after = self.information[left], self.information[left + 1]
        return before + (after - before) * (place - left)

    @property
    def reach(self) -> float:
        """Return the largest ability difference with at least half of the maximum information."""
        most = max(self.information)
        return max(at for at, told in zip(DIFFERENCES, self.information, strict=True) if 2 * told >= most)


def prompt_input(board_state: BoardState, key: str, public_id: uuid.UUID) -> PromptInput:
    """Return the input of a prompt's page, read once per snapshot.

    Raises NotFound.
    """
    campaign = board_state.campaign
    prompt = Prompt.objects.filter(public_id=public_id, prompt_set__campaigns=campaign).first() if campaign else None
    if campaign is None or prompt is None:
        raise NotFound(_("There is no such prompt on this board."), hint=_("Choose one of its prompts."))
    rows = board_state.rows
    pairs = cached_part(f"prompt-pairs-{prompt.pk}-{stamp(board_state)}", lambda: _pairs(board_state, prompt, rows))
    found = cached_part(
        f"prompt-findings-{campaign.pk}-{stamp(board_state)}", lambda: findings_of(campaign, "prompts"), for_s=60
    )
    return PromptInput(board_state, key, prompt, rows, found, pairs)


def _pairs(board_state: BoardState, prompt: Prompt, rows: list[BoardRow]) -> list[tuple[int, int, int, int, int]]:
    """Return (row, row, won, tied, lost) of each judged pair, from the point of view of the higher row."""
    votes = votes_counted(list(board_state.board.campaigns.all()), board_state.board.aspect, prompt=prompt.pk)
    versions = {version for vote in votes for version in (vote.first_version, vote.second_version)}
    public = dict(Version.objects.filter(pk__in=versions).values_list("pk", "public_id"))
    place = {row.get("version"): index for index, row in enumerate(rows)}
    counts: Counter[tuple[int, int, int]] = Counter()
    for vote in votes:
        first, second = (place.get(str(public[each])) for each in (vote.first_version, vote.second_version))
        if first is not None and second is not None:  # Judgments after the snapshot appear with the next one.
            counts[min(first, second), max(first, second), vote.outcome if first < second else -vote.outcome] += 1
    met = sorted({(high, low) for high, low, _ in counts})
    return [(a, b, counts[a, b, -1], counts[a, b, 0], counts[a, b, 1]) for a, b in met]


def prompt_context(given: PromptInput) -> dict[str, Any]:
    """Return the context of prompt.html without the board's head."""
    links, own, prompt = Links(given.key), given.own, given.prompt
    figures = [build(given) for build in FIGURES.values()] if given.rows and given.information else []
    like = Prompt.objects.filter(pk__in=own.get("like") or ()).order_by("pk")
    judged = sum(each["judgments"] for each in given.found.values())
    even = judged / len(given.found) if given.found else 0.0
    return {
        "prompt": prompt,
        "turns": prompt.turns or [],
        "judgments": own.get("judgments", 0),
        "share": fixed(100 * own.get("judgments", 0) / judged, 1) if judged else "",
        "times_even": fixed(own.get("judgments", 0) / even, 1) if even else "",
        **discrimination(own),
        "half_at": fixed(own["half_at"]) if own.get("half_at") is not None else "",
        "replies": _replies(given),
        "figures": [_drawn(figure, given) for figure in figures],
        "like": [(each.key, links.to("board_prompt", each.public_id)) for each in like],
        "preview": _("A prompt of %(board)s.") % {"board": shown(given.board_state.board.name)},
    }


def _replies(given: PromptInput) -> list[tuple[str, str]]:
    """Return the replies of the strongest chatbots with their names, once the campaign has released them."""
    campaign = given.board_state.campaign
    if campaign is None or not campaign.shows_replies or campaign.collecting:
        return []
    versions = [row.get("version", "") for row in given.rows[:REPLIES_AT_MOST]]
    found = Reply.objects.filter(prompt=given.prompt, version__public_id__in=[one for one in versions if one])
    texts = {str(version): text for version, text in found.values_list("version__public_id", "text")}
    return [
        (shown(row["name"]), text)
        for row, version in zip(given.rows, versions, strict=False)
        if (text := texts.get(version))
    ]


def _drawn(figure: Figure, given: PromptInput) -> str:
    links, number = Links(given.key), given.prompt.public_id
    urls = {f"{form}_url": links.to(f"prompt_{form}", number, figure.slug) for form in ("csv", "json")}
    return render_to_string("charts/_figure.html", {"figure": figure} | urls)


def discrimination(found: Mapping[str, Any]) -> dict[str, str]:
    """Return the discrimination with its 95 % interval (lognormal); empty without a fit."""
    value, se = found.get("discrimination"), found.get("se")
    if not value or se is None:
        return {"discrimination": "", "interval": "", "among": ""}
    factor = math.exp(MARGIN * se / value)
    interval = _("%(lower)s to %(upper)s") % {"lower": fixed(value / factor), "upper": fixed(value * factor)}
    among = " · ".join(fixed(one) for one in found.get("by_tier", ()))
    return {"discrimination": fixed(value), "interval": interval, "among": among}


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A chatbot on the curve.

    label: the name, the rank where there is no space for the name, or empty.
    below: whether the label stands below the point.
    """

    x: float
    y: float
    label: str
    below: bool
    name: str


@dataclass(frozen=True, slots=True)
class Curve:
    frame: ChartFrame
    line: str
    marks: list[CurvePoint]


def information(given: PromptInput) -> Figure:
    """Return the item information against the ability of a chatbot with an average opponent."""
    rows = [row for row in given.rows if row["group"] == 1]
    pairs = [(a, b) for at, a in enumerate(rows) for b in rows[at + 1 :]]
    near = sum(abs(a["ability"] - b["ability"]) <= given.reach for a, b in pairs)
    finding = ngettext(
        "It is most informative about chatbots up to %(reach)s logits apart: %(near)s of %(all)s pair.",
        "It is most informative about chatbots up to %(reach)s logits apart: %(near)s of %(all)s pairs.",
        len(pairs),
    ) % {"reach": fixed(given.reach), "near": near, "all": len(pairs)}
    columns = ["chatbot", "rank", "ability", "information"]
    table: list[list[Cell]] = [
        [row["name"], None if "withdrawn" in row else row["rank"], row["ability"], given.told(row["ability"])]
        for row in rows
    ]
    return Figure("information", _("Chatbots it distinguishes"), finding, Table(columns, table), _curve(given, rows))


def _curve(given: PromptInput, rows: Sequence[BoardRow]) -> Curve:
    abilities = [row["ability"] for row in rows]
    air = 0.08 * (max(abilities) - min(abilities))  # Keeps the marks clear of the labels at the edge.
    frame = ChartFrame(
        axis_for([min(abilities) - air], [max(abilities) + air]),
        Axis(0.0, 1.08 * max(given.information)),
        TOP_PX,
        BOTTOM_PX,
    )
    across = frame.across
    steps = [across.low + (across.high - across.low) * step / 80 for step in range(81)]
    points = [(across.x(row["ability"]), frame.y(given.told(row["ability"])), row) for row in rows]
    taken = [_Box(x - DOT_PERCENT, x + DOT_PERCENT, y - DOT_PX, y + DOT_PX) for x, y, _ in points]
    taken += [_Box(0.0, LEVEL_PERCENT, level.y - LINE_PX, level.y) for level in frame.levels]
    marks: list[CurvePoint] = []
    for x, y, row in sorted(points, key=lambda each: each[0]):
        label, below, box = _label(row, x, y, taken)
        taken += [box] if box else []
        marks.append(CurvePoint(x, y, label, below, row["name"]))
    return Curve(frame, frame.line([(at, given.told(at)) for at in steps]), marks)


@dataclass(frozen=True, slots=True)
class _Box:
    """An occupied area of the chart: percentages of the width on a phone, and pixels of the height."""

    left: float
    right: float
    top: float
    bottom: float

    def overlaps(self, other: "_Box") -> bool:
        apart = self.right <= other.left or other.right <= self.left
        return not apart and self.top < other.bottom and other.top < self.bottom


def _label(row: BoardRow, x: float, y: float, taken: Sequence[_Box]) -> tuple[str, bool, _Box | None]:
    """Return the first label that overlaps nothing, whether it stands below its point, and its box.

    The name is tried above and below the point, then the rank.
    """
    name = shown(row["name"])
    name = name if len(name) <= LONGEST_LABEL else f"{name[: LONGEST_LABEL - 1]}…"
    for label in (name, "–" if "withdrawn" in row else str(row["rank"])):
        half = (LETTER_PERCENT * len(label) + APART) / 2
        for below, top in ((False, y - ABOVE_PX), (True, y + BELOW_PX)):
            box = _Box(x - half, x + half, top, top + LINE_PX)
            inside = box.left >= 0 and box.right <= 100 and box.bottom <= BOTTOM_PX + LINE_PX
            if inside and not any(box.overlaps(each) for each in taken):
                return label, below, box
    return "", False, None


@dataclass(frozen=True, slots=True)
class PairResult:
    """A pair of chatbots on this prompt.

    bar: where ties begin and where losses begin, in percent; None for a few votes, which numbers tell better.
    """

    first: str
    second: str
    won: int
    tied: int
    lost: int
    bar: tuple[float, float] | None


def pair_results(given: PromptInput) -> Figure:
    columns = ["higher", "lower", "judgments", "won", "tied", "lost", "win_fraction"]
    table: list[list[Cell]] = []
    met: list[PairResult] = []
    for high, low, won, tied, lost in given.pairs:
        first, second, all_of_it = shown(given.rows[high]["name"]), shown(given.rows[low]["name"]), won + tied + lost
        table.append([first, second, all_of_it, won, tied, lost, (won + 0.5 * tied) / all_of_it])
        bar = (round(100 * won / all_of_it, 2), round(100 * (won + tied) / all_of_it, 2))
        met.append(PairResult(first, second, won, tied, lost, bar if all_of_it >= DRAWN_FROM else None))
    against = sum(each.won < each.lost for each in met)
    finding = _("%(pairs)s pairs met on this prompt; in %(against)s of them the votes went against the ranking.") % {
        "pairs": len(met),
        "against": against or _("none"),
    }
    return Figure("meetings", _("How pairs fared on it"), finding, Table(columns, table), met[:ON_A_PAGE])


FIGURES: dict[str, Callable[[PromptInput], Figure]] = {"information": information, "meetings": pair_results}


def prompts_context(board_state: BoardState, key: str, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the prompts by information, the highest first and those without judgments last."""
    campaign, links = board_state.campaign, Links(key)
    assert campaign is not None  # noqa: S101 - the view has checked
    found = cached_part(
        f"prompt-findings-{campaign.pk}-{stamp(board_state)}", lambda: findings_of(campaign, "prompts"), for_s=60
    )
    keys = list(
        campaign.prompt_set.prompts.filter(corrected_by__isnull=True).order_by("pk").values_list("pk", flat=True)
    )
    keys.sort(key=lambda pk: -(found.get(pk, {}).get("discrimination") or 0.0))
    sent = query.get("from", "")
    start = int(sent) - 1 if sent.isascii() and sent.isdigit() and len(sent) < 7 else 0
    start = start if 0 <= start < len(keys) else 0
    shown = Prompt.objects.in_bulk(keys[start : start + ON_A_PAGE])
    return {
        "of": len(keys),
        "first": start + 1,
        "before": links.to("board_prompts", **{"from": str(max(1, start + 1 - ON_A_PAGE))}) if start else "",
        "after": links.to("board_prompts", **{"from": str(start + 1 + ON_A_PAGE)}) if keys[start + ON_A_PAGE :] else "",
        "prompts": [_line(shown[pk], found.get(pk, {}), links) for pk in keys[start : start + ON_A_PAGE]],
        "categories": any(prompt.category for prompt in shown.values()),
    }


def _line(prompt: Prompt, found: Mapping[str, Any], links: Links) -> dict[str, Any]:
    return {
        "key": prompt.key,
        "url": links.to("board_prompt", prompt.public_id),
        "text": (prompt.turns or [{"text": ""}])[-1]["text"],
        "category": prompt.category,
        "judgments": found.get("judgments", 0),
        **discrimination(found),
    }
