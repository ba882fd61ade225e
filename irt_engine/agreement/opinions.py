"""Opinions: the mean votes of annotators on cells, oriented from the lower to the higher chatbot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from irt_engine.arrays import FloatArray, IntArray
from irt_engine.responses.cells import compare
from irt_engine.responses.table import ResponseTable


@dataclass(frozen=True, slots=True, eq=False)
class Opinions:
    """Store k opinions, sorted by annotator and cell.

    Parameters
    ----------
    annotator, comparison, cell : ndarray of int, shape (k,)
        Annotator, comparison and cell of each opinion.
    value : ndarray of float, shape (k,)
        Mean of the annotator's votes on the cell.
    """

    annotator: IntArray  # (k,)
    comparison: IntArray  # (k,)
    cell: IntArray  # (k,) 0..cells-1
    value: FloatArray  # (k,) mean of the annotator's votes there


def opinions_of(table: ResponseTable) -> Opinions:
    """Return the opinions of a table's annotators.

    Parameters
    ----------
    table : ResponseTable
        The votes.

    Returns
    -------
    Opinions
        The opinions.
    """
    _, comparison = compare(table)
    cells, cell = np.unique(comparison * len(table.prompts) + table.prompt, return_inverse=True)
    unknown = table.annotator < 0
    names, annotator = np.unique(table.annotator, return_inverse=True)
    stranger = np.cumsum(unknown) - 1 + len(names)  # one number per vote of an unknown annotator
    who = np.where(unknown, stranger, annotator)
    width = int(cell.max()) + 1
    code, index = np.unique(who * width + cell, return_inverse=True)
    vote = np.where(table.a < table.b, table.outcome, -table.outcome)
    value = np.bincount(index, weights=vote) / np.bincount(index)
    known = np.append(names, -np.ones(int(unknown.sum()), np.int64))
    return Opinions(known[code // width], (cells // len(table.prompts))[code % width], code % width, value)
