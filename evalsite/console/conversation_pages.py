"""What the pages of conversation sets show: tables with drawn intervals, weights, correlations, predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from evalsite.accounts.models import User
from evalsite.console.tables import log_rows
from evalsite.core.audit import audit_of
from evalsite.presentation.formatting import fixed
from evalsite.scorecards.metrics import METRICS
from evalsite.scorecards.models import ConversationSet
from evalsite.scorecards.selectors import (
    STRATEGIES,
    ShownScorecard,
    annotations_of,
    conversations_counted,
    examples_of,
    may_change,
    scorecard_pending,
    scorecard_shown,
    weights_of,
)
from evalsite.scorecards.texts import FOLD_TEXTS, METRIC_TEXTS, PREDICTOR_TEXTS, STRATEGY_TEXTS, UNIT_TEXTS

_LOGGED = 20


@dataclass(frozen=True, slots=True)
class Cell:
    """A value with its interval; positions are percentages of the column's range."""

    value: str
    interval: str
    n: int
    left: float
    width: float
    mid: float


def set_context(found: ConversationSet, user: User, query: QueryDict) -> dict[str, Any]:
    """Return the context of the page of a set. Raises InvalidInput for wrong weights."""
    shown = shown_scorecard(found, query)
    context: dict[str, Any] = {
        "set": found,
        "conversations": conversations_counted(found),
        "pending": scorecard_pending(found),
        "may_change": may_change(user, found.organisation),
        "annotations": annotations_of(found),
        "log": log_rows(list(audit_of(found.public_id)[:_LOGGED])),
    }
    if shown is None:
        return context
    return {**context, **_scorecard_context(found, shown, query)}


def shown_scorecard(found: ConversationSet, query: QueryDict) -> ShownScorecard | None:
    """Return the scorecard with the weights and the order of the address."""
    sorted_by = query.get("sort", STRATEGIES[0])
    weights = weights_of({name: str(query[name]) for name in query if name.startswith("weight_")})
    chosen = sorted_by if sorted_by in STRATEGIES else STRATEGIES[0]
    return scorecard_shown(found, weights=weights, sorted_by=chosen)


def chatbot_context(found: ConversationSet, name: str) -> dict[str, Any]:
    """Return the context of the page of a chatbot: metrics, domains, ratings over time and example conversations."""
    shown = scorecard_shown(found)
    context: dict[str, Any] = {"set": found, "name": name, "examples": examples_of(found, name)}
    if shown is None or name not in shown.content["chatbots"]:
        return context
    columns = [*_columns(shown.unified, STRATEGY_TEXTS), *_columns(shown.content["metrics"], METRIC_TEXTS)]
    domains = shown.content["domains"].get(name, {})
    total = sum(domains.values()) or 1
    profile = shown.content.get("profiles", {}).get(name, {})
    return {
        **context,
        "response_time": _interval(profile.get("response_time_s"), unit="s"),
        "keywords": [(word, round(100 * share, 1)) for word, share in profile.get("keywords", [])],
        "strengths": [(domain, _interval(one), one["n"]) for domain, one in profile.get("strengths", {}).items()],
        "metrics": [(label, cells.get(name)) for label, cells in columns],
        "domains": [(domain, count, round(100 * count / total, 1)) for domain, count in domains.items()],
        "days": [(one["day"], fixed(one["mean"]), one["n"]) for one in shown.content["over_time"].get(name, [])],
    }


def _interval(one: Mapping[str, Any] | None, *, unit: str = "") -> str:
    """Return a value with its interval as text; "" without a value."""
    if one is None:
        return ""
    value = f"{fixed(one['value'])} {unit}".strip()
    return value if one["lower"] is None else f"{value} ({fixed(one['lower'])} – {fixed(one['upper'])})"


def csv_rows(shown: ShownScorecard) -> Iterator[list[Any]]:
    """Yield the rows of the scorecard as a table: one for each metric or unified score and chatbot."""
    yield ["metric", "chatbot", "value", "lower", "upper", "n", "band"]
    for name, cells in [*shown.unified.items(), *shown.content["metrics"].items()]:
        for chatbot in shown.chatbots:
            one = cells.get(chatbot) or {}
            yield [name, chatbot, *(one.get(field, "") for field in ("value", "lower", "upper", "n", "band"))]


def _scorecard_context(found: ConversationSet, shown: ShownScorecard, query: QueryDict) -> dict[str, Any]:
    columns = [*_columns(shown.unified, STRATEGY_TEXTS), *_columns(shown.content["metrics"], METRIC_TEXTS)]
    known = [(label, cells) for label, cells in columns if cells]
    page = reverse("console_conversation_chatbot", args=[found.public_id])
    given = {name: query[name] for name in query if name.startswith("weight_") and query[name]}
    return {
        "shown": shown,
        "computed_at": shown.stored.computed_at,
        "labels": [label for label, _ in known],
        "rows": [
            (name, f"{page}?{urlencode({'name': name})}", [cells.get(name) for _, cells in known])
            for name in shown.chatbots
        ],
        "orders": [
            (STRATEGY_TEXTS[name], "?" + urlencode({**given, "sort": name}), name == shown.sorted_by)
            for name in STRATEGIES
        ],
        "weights": [
            (f"weight_{one.name}", METRIC_TEXTS[one.name], f"{shown.weights.get(one.name, 1):g}")
            for one in METRICS
            if one.unified
        ],
        "downloads": urlencode({**given, "sort": shown.sorted_by}),
        "warnings": shown.content["warnings"],
        "correlations": [_correlation(one) for one in shown.content["correlations"]],
        "prediction": _prediction(shown.stored.prediction),
    }


def _columns(table: Mapping[str, Mapping[str, Any]], texts: Mapping[str, Any]) -> list[tuple[Any, dict[str, Cell]]]:
    """Return each metric's label with the cells of the chatbots that have a value."""
    return [(label, _cells(table.get(name) or {})) for name, label in texts.items()]


def _cells(values: Mapping[str, Any]) -> dict[str, Cell]:
    known = {name: one for name, one in values.items() if one is not None}
    lows = [one["value"] if one["lower"] is None else one["lower"] for one in known.values()]
    highs = [one["value"] if one["upper"] is None else one["upper"] for one in known.values()]
    low, span = min(lows, default=0.0), max(highs, default=1.0) - min(lows, default=0.0)
    digits = 0 if span > 50 else 1 if span > 10 else 2

    def place(value: float) -> float:
        return round(100 * (value - low) / span, 2) if span else 50.0

    found = {}
    for name, one in known.items():
        lower, upper = one["lower"], one["upper"]
        left, right = place(one["value"] if lower is None else lower), place(one["value"] if upper is None else upper)
        interval = "" if lower is None else f"{fixed(lower, digits)} – {fixed(upper, digits)}"
        cell = Cell(fixed(one["value"], digits), interval, one["n"], left, round(right - left, 2), place(one["value"]))
        found[name] = cell
    return found


def _correlation(one: Mapping[str, Any]) -> dict[str, Any]:
    metric, rating = one["metric"], one["with"]
    interval = "" if one["lower"] is None else f"{fixed(one['lower'])} – {fixed(one['upper'])}"
    return {
        "metric": METRIC_TEXTS.get(metric) or STRATEGY_TEXTS.get(metric, metric),
        "rating": METRIC_TEXTS.get(rating, rating),
        "unit": UNIT_TEXTS.get(one["unit"], one["unit"]),
        "n": one["n"],
        "pearson": fixed(one["pearson"]),
        "interval": interval,
        "p": fixed(one["p"], 3),
        "spearman": fixed(one["spearman"]),
    }


def _prediction(report: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if report is None:
        return None
    rows = [
        {
            "predictor": PREDICTOR_TEXTS[one["predictor"]],
            "folds": FOLD_TEXTS[one["folds"]],
            "rmse": fixed(one["rmse"], 3),
            "calibrated": fixed(one["rmse_if_calibrated"], 3),
            "pearson": "–" if one["pearson"] is None else fixed(one["pearson"], 3),
            "spearman": "–" if one["spearman"] is None else fixed(one["spearman"], 3),
            "share": "–" if one["share_of_ceiling"] is None else fixed(100 * one["share_of_ceiling"], 0),
        }
        for one in report["evaluations"]
    ]
    ceiling = report["ceiling"]
    return {
        "n": report["n"],
        "rows": rows,
        "ceiling": ceiling and {name: fixed(ceiling[name], 3) for name in ("pearson", "lower", "upper", "icc")},
        "unrated": len(report["predictions"]),
        "predictions": [
            (
                one["conversation_id"],
                one["chatbot"],
                fixed(one["value"]),
                f"{fixed(one['lower'])} – {fixed(one['upper'])}",
            )
            for one in report["predictions"][:20]
        ],
    }
