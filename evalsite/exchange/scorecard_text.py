"""A scorecard as JSON, and as a table for a terminal."""

from __future__ import annotations

import json

from evalsite.scorecards.scorecard import Scorecard
from evalsite.scorecards.values import Cell, scorecard_values


def scorecard_json(scorecard: Scorecard) -> str:
    """Return the scorecard as JSON; null where there is no value."""
    return json.dumps(scorecard_values(scorecard), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


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


def _shown(cell: Cell) -> str:
    if cell is None:
        return "-"
    interval = f"  [{cell.lower:.3f}, {cell.upper:.3f}]" if cell.lower is not None and cell.upper is not None else ""
    return f"{cell.value:10.3f}{interval}  n = {cell.n:,}"
