"""A scorecard as JSON, and as a table for a terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping

from evalsite.scorecards.correlations import MetricCorrelation
from evalsite.scorecards.scorecard import Scorecard
from evalsite.scorecards.unified_scores import UnifiedScore
from irt_engine.scorecard import Estimate

Cell = Estimate | UnifiedScore | None


def scorecard_json(scorecard: Scorecard) -> str:
    """Return the scorecard as JSON; null where there is no value."""
    document = {
        "chatbots": list(scorecard.chatbots),
        "metrics": _cells(scorecard.metrics),
        "unified": _cells(scorecard.unified),
        "correlations": [_correlation(one) for one in scorecard.correlations],
        "warnings": list(scorecard.warnings),
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def scorecard_table(scorecard: Scorecard) -> str:
    """Return the scorecard as text: a row for each chatbot and metric, then the correlations."""
    width = max((len(name) for name in scorecard.chatbots), default=0)
    lines = []
    for name, cells in [*scorecard.metrics.items(), *scorecard.unified.items()]:
        lines.append(name)
        lines += [f"  {chatbot:<{width}}  {_shown(cell)}" for chatbot, cell in cells.items()]
    lines += ["", "correlations (Pearson with its 95 % interval, Spearman)"]
    for one in scorecard.correlations:
        found = one.correlation
        interval = f" [{found.lower:.2f}, {found.upper:.2f}]" if found.lower is not None else ""
        lines.append(
            f"  {one.metric} with {one.rating}: r = {found.pearson:.2f}{interval}, p = {found.pearson_p:.3f}; "
            f"rho = {found.spearman:.2f}, p = {found.spearman_p:.3f}; {found.n:,} {one.unit}s"
        )
    return "\n".join(lines) + "\n"


def _cells(table: Mapping[str, Mapping[str, Cell]]) -> dict[str, dict[str, dict[str, float | None] | None]]:
    return {name: {chatbot: _cell(cell) for chatbot, cell in cells.items()} for name, cells in table.items()}


def _cell(cell: Cell) -> dict[str, float | None] | None:
    if cell is None:
        return None
    values: dict[str, float | None] = {"value": cell.value, "lower": cell.lower, "upper": cell.upper, "n": cell.n}
    return values | {"band": cell.band} if isinstance(cell, UnifiedScore) else values


def _shown(cell: Cell) -> str:
    if cell is None:
        return "-"
    interval = f"  [{cell.lower:.3f}, {cell.upper:.3f}]" if cell.lower is not None and cell.upper is not None else ""
    return f"{cell.value:10.3f}{interval}  n = {cell.n:,}"


def _correlation(one: MetricCorrelation) -> dict[str, object]:
    found = one.correlation
    return {
        "metric": one.metric,
        "with": one.rating,
        "n": found.n,
        "unit": one.unit,
        "pearson": found.pearson,
        "p": found.pearson_p,
        "lower": found.lower,
        "upper": found.upper,
        "spearman": found.spearman,
    }
