"""Unified scores of chatbots over the metrics that all of them have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evalsite.scorecards.estimation import Metrics
from evalsite.scorecards.metrics import METRICS, Metric
from irt_engine.arrays import FloatArray
from irt_engine.scorecard import (
    Estimate,
    MetricTable,
    TotalScores,
    confidence_bands,
    stack_ranking,
    winners_circle,
)

STRATEGIES = ("stack_rank", "winners_circle", "confidence_bands")


@dataclass(frozen=True, slots=True)
class UnifiedScore:
    """A total score with its bootstrap interval, over n metrics; `band` 1 is the best."""

    value: float
    lower: float | None
    upper: float | None
    n: int
    band: int


@dataclass(frozen=True, slots=True)
class ScoreCells:
    """The scores of each metric (K, J) that a unified score adds up, and those of bootstrap replicates (B, K, J)."""

    metrics: tuple[str, ...]
    cells: FloatArray
    replicates: FloatArray


Unified = dict[str, dict[str, UnifiedScore | None]]


def unified_scores(
    found: Mapping[str, Metrics], weights: Mapping[str, float]
) -> tuple[Unified, list[str], dict[str, ScoreCells]]:
    """Return the scores by strategy and chatbot (None where there is none), warnings, and the cells by strategy."""
    nothing: Unified = {strategy: dict.fromkeys(found) for strategy in STRATEGIES}
    used, partial = _used(found)
    warnings = [f"The unified scores leave out {name}, because not every chatbot has a value." for name in partial]
    if len(found) < 2 or not used:
        what = "there is one chatbot" if len(found) < 2 else "no metric has a value for every chatbot"
        return nothing, [*warnings, f"There are no unified scores, because {what}."], {}
    table = _table(found, used, weights)
    totals = {"stack_rank": stack_ranking(table), "confidence_bands": confidence_bands(table)}
    ratings = _ratings(found)
    if ratings is None:
        warnings.append("winners_circle: there is no score, because not every chatbot has user ratings.")
    else:
        totals["winners_circle"] = winners_circle(table, ratings)
    scores = {name: _scores(list(found), one, len(used)) for name, one in totals.items()}
    names = tuple(metric.name for metric in used)
    cells = {name: ScoreCells(names, one.cells, one.replicates) for name, one in totals.items()}
    return nothing | scores, warnings, cells


def _used(found: Mapping[str, Metrics]) -> tuple[list[Metric], list[str]]:
    """Return the metrics that every chatbot has, and the names of those that only some have."""
    used, partial = [], []
    for metric in (one for one in METRICS if one.unified):
        known = sum(one.estimates[metric.name] is not None for one in found.values())
        if known == len(found):
            used.append(metric)
        elif known:
            partial.append(metric.name)
    return used, partial


def _table(found: Mapping[str, Metrics], used: list[Metric], weights: Mapping[str, float]) -> MetricTable:
    estimates = [[one.estimates[metric.name] for one in found.values()] for metric in used]
    values, lower, upper = (
        np.array([[_number(one, field) for one in row] for row in estimates]) for field in ("value", "lower", "upper")
    )
    replicates = np.array([[one.replicates[metric.name] for one in found.values()] for metric in used])
    return MetricTable(
        values,
        lower,
        upper,
        np.array([metric.higher_is_better for metric in used]),
        np.array([float(weights.get(metric.name, 1.0)) for metric in used]),
        np.moveaxis(replicates, 2, 0),
    )


def _number(estimate: Estimate | None, field: str) -> float:
    value = getattr(estimate, field)
    return float("nan") if value is None else float(value)


def _ratings(found: Mapping[str, Metrics]) -> FloatArray | None:
    """Return (1 + B, J) mean ratings and their replicates, or None if a chatbot has none."""
    estimates = [one.estimates["rating"] for one in found.values()]
    values = [one.value for one in estimates if one is not None]
    if len(values) < len(estimates):
        return None
    return np.vstack([values, np.array([one.replicates["rating"] for one in found.values()]).T])


def _scores(chatbots: list[str], totals: TotalScores, metrics: int) -> dict[str, UnifiedScore | None]:
    return {
        chatbot: UnifiedScore(
            float(totals.totals[place]),
            _limit(totals.lower[place]),
            _limit(totals.upper[place]),
            metrics,
            totals.bands[place],
        )
        for place, chatbot in enumerate(chatbots)
    }


def _limit(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
