"""Names of the comparisons of a table."""

from __future__ import annotations

import numpy as np

from irt_engine.posterior.moments import Comparison
from irt_engine.responses.cells import Comparisons
from irt_engine.responses.table import ResponseTable


def comparisons_of(table: ResponseTable, comparisons: Comparisons) -> tuple[Comparison, ...]:
    """Return the comparisons by name, in the orientation of the file.

    Parameters
    ----------
    table : ResponseTable
        The votes.
    comparisons : Comparisons
        Its comparisons.

    Returns
    -------
    tuple of Comparison
        The comparisons.
    """
    return tuple(map(Comparison, *names_of(table, comparisons), comparisons.judgments.tolist()))


def names_of(table: ResponseTable, comparisons: Comparisons) -> tuple[list[str], list[str], list[str | None]]:
    """Return both chatbots and the label of each comparison, in the orientation of the file.

    Parameters
    ----------
    table : ResponseTable
        The votes.
    comparisons : Comparisons
        Its comparisons.

    Returns
    -------
    tuple of list, length C
        First chatbots, second chatbots, and labels.
    """
    first = np.where(comparisons.flip, comparisons.high, comparisons.low).tolist()
    second = np.where(comparisons.flip, comparisons.low, comparisons.high).tolist()
    labels = [table.labels[by] for by in comparisons.label.tolist()] if table.labels else [None] * len(first)
    return [table.chatbots[a] for a in first], [table.chatbots[b] for b in second], labels
