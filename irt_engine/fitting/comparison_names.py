"""The comparisons of a table by name."""

from __future__ import annotations

import numpy as np

from irt_engine.posterior.posterior import Comparison
from irt_engine.responses.cells import Comparisons
from irt_engine.responses.table import ResponseTable


def comparisons_of(table: ResponseTable, comparisons: Comparisons) -> tuple[Comparison, ...]:
    """The comparisons by name, each in its file's orientation."""
    return tuple(map(Comparison, *names_of(table, comparisons), comparisons.judgments.tolist()))


def names_of(table: ResponseTable, comparisons: Comparisons) -> tuple[list[str], list[str], list[str | None]]:
    """Both chatbots and the label of each comparison, in its file's orientation."""
    first = np.where(comparisons.flip, comparisons.high, comparisons.low).tolist()
    second = np.where(comparisons.flip, comparisons.low, comparisons.high).tolist()
    labels = [table.labels[by] for by in comparisons.label.tolist()] if table.labels else [None] * len(first)
    return [table.chatbots[a] for a in first], [table.chatbots[b] for b in second], labels
