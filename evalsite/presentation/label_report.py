"""The report of labels and ratings, as the board's page shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from evalsite.boards.models import Board, LabelReport
from evalsite.campaigns.questions import label_text
from evalsite.presentation.formatting import fixed, whole
from evalsite.presentation.report_text import TextTable


@dataclass(frozen=True, slots=True)
class ShownValue:
    """A value with its interval; positions are percentages of the column's range."""

    value: str
    interval: str
    n: int
    left: float
    width: float
    mid: float


def label_report_context(board: Board) -> dict[str, Any]:
    """Return the newest report; none before the first closed batch."""
    found = LabelReport.objects.filter(board=board).first()
    aspects = [] if found is None else [_aspect(one) for one in found.content if one["chatbots"]]
    return {"aspects": aspects, "made_at": found.made_at if found and aspects else None}


def label_table(one: Mapping[str, Any]) -> TextTable:
    """Return the report of one question as a table: shares or means with their intervals."""
    shares = bool(one["labels"])
    names = [label_text(label) for label in one["labels"]] or [_("Mean rating")]
    rows = []
    for row in one["chatbots"]:
        cells = [_value(value, row["n"], 1.0, shares=shares) for value in row["values"]]
        texts = (f"{cell.value} ({cell.interval})" if cell.interval else cell.value for cell in cells)
        rows.append((row["chatbot"], whole(row["n"]), *texts))
    return TextTable(one["question"], (_("Chatbot"), _("Judged replies"), *names), tuple(rows))


def _aspect(one: Mapping[str, Any]) -> dict[str, Any]:
    shares = bool(one["labels"])
    top = 1.0 if shares else max((_upper(value) for row in one["chatbots"] for value in row["values"]), default=1.0)
    return {
        "question": one["question"],
        "labels": [label_text(label) for label in one["labels"]],
        "rows": [
            (row["chatbot"], row["n"], [_value(value, row["n"], top, shares=shares) for value in row["values"]])
            for row in one["chatbots"]
        ],
        "alpha": None if one["alpha"] is None else fixed(one["alpha"]),
        "shared": one["shared"],
    }


def _upper(value: Mapping[str, Any]) -> float:
    return float(value["value"] if value["upper"] is None else value["upper"])


def _value(one: Mapping[str, Any], n: int, top: float, *, shares: bool) -> ShownValue:
    lower, upper = one["lower"], one["upper"]
    scale, digits = (100.0, 0) if shares else (1.0, 2)
    unit = "\u202f%" if shares else ""
    interval = "" if lower is None else f"{fixed(scale * lower, digits)} – {fixed(scale * upper, digits)}{unit}"
    left, right = (100 * (one["value"] if end is None else end) / top for end in (lower, upper))
    return ShownValue(
        f"{fixed(scale * one['value'], digits)}{unit}",
        interval,
        n,
        round(left, 2),
        round(right - left, 2),
        round(100 * one["value"] / top, 2),
    )
