"""Strengths and weaknesses of one chatbot by category, and examples of its replies."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

from django.db.models import Max
from django.utils.translation import gettext as _

from evalsite.boards.models import Slice
from evalsite.boards.rows import BoardRow
from evalsite.boards.selectors import BoardState, Category, categories_of
from evalsite.boards.slice_age import categories_behind
from evalsite.boards.withdrawn_rows import ranked_rows, rows_now
from evalsite.campaigns.models import Campaign
from evalsite.chatbots.models import Reply
from evalsite.presentation.chart_geometry import Axis, Whisker, axis_for, whisker
from evalsite.presentation.filter_text import behind_text
from evalsite.presentation.formatting import interval_text, rank_text, signed
from evalsite.presentation.links import Links
from evalsite.prompts.models import Prompt

FALSE_ALARMS = 0.05  # For all categories of a chatbot together.
EXAMPLES = 3

Votes = tuple[int, int, int]
"""Won, tied, lost."""


@dataclass(frozen=True, slots=True)
class InCategory:
    """The chatbot's position in one category.

    apart: 1 stronger than on the whole board, -1 weaker, 0 neither.
    """

    name: str
    url: str
    rank: str
    of: int
    ability: str
    interval: str
    judgments: int
    whisker: Whisker
    apart: int


@dataclass(frozen=True, slots=True)
class Strengths:
    """Categories, the strongest first.

    whole: position on the whole board, in percent of the axis.
    note: what to know of their age; empty if they show the state of the whole board.
    """

    finding: str
    axis: Axis
    whole: float
    categories: list[InCategory]
    note: str


def strengths_of(row: BoardRow, board_state: BoardState, links: Links) -> Strengths | None:
    """Return the strengths; None for a slice, or without category boards with this chatbot."""
    if board_state.slice is not None:
        return None
    found = [
        (each, own)
        for each in (_now(one, board_state) for one in categories_of(board_state.board))
        if (own := _same_version(row, each.rows)) is not None
    ]
    if not found:
        return None
    found.sort(key=lambda one: row["ability"] - one[1]["ability"])
    reach = [row["ability"], *(bound for _category, own in found for bound in (own["lower"], own["upper"]))]
    axis = axis_for(reach, reach)
    shown = [_category_result(row, own, category, len(found), axis, links) for category, own in found]
    note = behind_text() if categories_behind(board_state.board) else ""
    return Strengths(_finding(shown), axis, axis.x(row["ability"]), shown, note)


def _now(category: Category, board_state: BoardState) -> Category:
    return replace(category, rows=rows_now(category.rows, board_state.withdrawn))


def _same_version(row: BoardRow, rows: Sequence[BoardRow]) -> BoardRow | None:
    """Return the row of the same version in the largest part of another board."""
    same = (each for each in rows if each["chatbot"] == row["chatbot"] and each.get("version") == row.get("version"))
    return next((each for each in same if each["group"] == 1), None)


def _category_result(
    row: BoardRow, own: BoardRow, category: Category, categories: int, axis: Axis, links: Links
) -> InCategory:
    filtered = Links(links.key, ((str(Slice.By.CATEGORY), category.name),))
    return InCategory(
        name=category.name,
        url=filtered.to("board"),
        rank=rank_text(own),
        of=sum(each["group"] == 1 for each in ranked_rows(category.rows)),
        ability=signed(own["ability"]),
        interval=interval_text(own["lower"], own["upper"]),
        judgments=own["judgments"],
        whisker=whisker(axis, own["lower"], own["ability"], own["upper"]),
        apart=apart(row, own, categories),
    )


def apart(row: BoardRow, own: BoardRow, categories: int) -> int:
    """Test whether the category differs from the whole, corrected for the number of categories.

    The votes of the whole board include those of the category, and its estimate is the more precise one. So the
    variance of the difference is the difference of the variances.
    """
    variance = own["se"] ** 2 - row["se"] ** 2
    margin = NormalDist().inv_cdf(1.0 - FALSE_ALARMS / 2 / categories) * math.sqrt(max(variance, 0.0))
    by = own["ability"] - row["ability"]
    return 0 if variance <= 0.0 or abs(by) <= margin else (1 if by > 0 else -1)


def _finding(shown: Sequence[InCategory]) -> str:
    strong = [each.name for each in shown if each.apart > 0]
    weak = [each.name for each in reversed(shown) if each.apart < 0]
    parts = []
    if strong:
        parts.append(_("Stronger than on the whole board in %(names)s.") % {"names": ", ".join(strong)})
    if weak:
        parts.append(_("Weaker than on the whole board in %(names)s.") % {"names": ", ".join(weak)})
    if not parts:
        parts.append(_("In no category does it differ detectably from its result on the whole board."))
    return " ".join(parts)


@dataclass(frozen=True, slots=True)
class ReplyExample:
    """A prompt, the chatbot's reply, and its votes."""

    key: str
    url: str
    turns: list[Mapping[str, Any]]
    reply: str
    won: int
    tied: int
    lost: int


def examples_of(version: int, counts: Mapping[int, Votes], links: Links) -> list[ReplyExample]:
    """Return a few judged replies: with the most wins, with the most losses, and with the most judgments."""
    replies = Reply.objects.shown().filter(version=version, prompt__in=counts, prompt__corrected_by__isnull=True)
    shown = replies.exclude(prompt__turns=None)
    prompts = sorted(shown.values_list("prompt", flat=True))
    picked: list[int] = []
    for order in (_lead, _lag, sum):
        left = [prompt for prompt in prompts if prompt not in picked]
        picked += sorted(left, key=lambda one: -order(counts[one]))[:1]
    texts = dict(shown.filter(prompt__in=picked[:EXAMPLES]).values_list("prompt", "text"))
    named = Prompt.objects.in_bulk(picked)
    return [
        ReplyExample(
            named[one].key,
            Links(links.key).to("board_prompt", named[one].public_id),
            named[one].turns or [],
            texts[one] or "",
            *counts[one],
        )
        for one in picked
    ]


def newest_text(campaign: Campaign, chatbot: str) -> str:
    """Return a version of the texts in examples. A correction is a new reply or a new prompt."""
    reply = Reply.objects.filter(version__chatbot__public_id=chatbot).aggregate(newest=Max("pk"))
    prompt = Prompt.objects.filter(prompt_set=campaign.prompt_set_id).aggregate(newest=Max("pk"))
    return f".{reply['newest']}.{prompt['newest']}"


def _lead(votes: Votes) -> int:
    return votes[0] - votes[2]


def _lag(votes: Votes) -> int:
    return votes[2] - votes[0]
