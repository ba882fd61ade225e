"""Votes with their annotators, in canonical order, and how they add up to the counts of cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray, IntArray
from irt_engine.responses.cells import low_to_high
from irt_engine.responses.table import ResponseTable


@dataclass(frozen=True, slots=True, eq=False)
class AnnotatedVotes:
    """Store n votes: cell by cell, annotators in order, so that sums do not depend on the table's rows.

    Parameters
    ----------
    row : ndarray of int, shape (n,)
        Row in the table.
    cell : ndarray of int, shape (n,)
        Cell of the design, ascending. Every cell has a vote.
    first : ndarray of int, shape (cells,)
        First vote of each cell.
    alone : ndarray of bool, shape (cells,)
        Whether a cell has one vote.
    verdict : ndarray of int, shape (n,)
        0, 1, 2: low better, tie, high better, in the orientation of the design.
    shown : ndarray of float, shape (n,)
        1 if the high chatbot was shown first, -1 if the low one was, 0 if unknown.
    names : ndarray of int, shape (K,)
        Numbers of the annotators in the table.
    annotator : ndarray of int, shape (n,)
        0..K - 1, or K for an anonymous vote.
    low, high : ndarray of int, shape (n,)
        Row of `pairs` for the annotator with the low and the high chatbot; D for none.
    pairs : ndarray of int, shape (D, 2)
        Annotators 0..K - 1 and chatbots that met.
    """

    row: IntArray
    cell: IntArray
    first: IntArray
    alone: BoolArray
    verdict: IntArray
    shown: FloatArray
    names: IntArray
    annotator: IntArray
    low: IntArray
    high: IntArray
    pairs: IntArray

    @property
    def several(self) -> BoolArray:
        """Return whether each vote (n,) shares its cell with others."""
        several: BoolArray = ~self.alone[self.cell]
        return several

    def by_annotator(self, values: FloatArray) -> FloatArray:
        """Return sums over each annotator's votes.

        Parameters
        ----------
        values : ndarray of float, shape (n,)
            Values of the votes.

        Returns
        -------
        ndarray of float, shape (K,)
            The sums.
        """
        K = len(self.names)
        return np.bincount(self.annotator, values, minlength=K + 1)[:K].astype(np.float64, copy=False)

    def by_pair(self, values: FloatArray, sign: float) -> FloatArray:
        """Return sums over the votes of each annotator about each chatbot.

        Parameters
        ----------
        values : ndarray of float, shape (n,)
            Values of the votes.
        sign : float
            Factor of the votes in which the chatbot is the low one.

        Returns
        -------
        ndarray of float, shape (D,)
            The sums, a row of `pairs` each.
        """
        D = len(self.pairs)
        high, low = (np.bincount(pair, values, minlength=D + 1)[:D] for pair in (self.high, self.low))
        total: FloatArray = high + sign * low
        return total

    def by_cell(self, values: FloatArray) -> FloatArray:
        """Return sums over each cell's votes.

        Parameters
        ----------
        values : ndarray of float, shape (n,)
            Values of the votes.

        Returns
        -------
        ndarray of float, shape (cells,)
            The sums.
        """
        return np.bincount(self.cell, values, minlength=len(self.first)).astype(np.float64, copy=False)

    def counted(self, share: FloatArray, parts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the counts (cells, 3) and weights (cells,) of cells.

        Parameters
        ----------
        share : ndarray of float, shape (n,)
            Share of one vote for which each vote counts.
        parts : ndarray of float, shape (n, 3)
            Parts of each vote by outcome.

        Returns
        -------
        tuple of ndarray of float
            A vote that is alone in its cell has its share as weight, and counts of sum 1.
        """
        each = np.where(self.several, share, 1.0)
        counts = np.stack([self.by_cell(each * parts[:, k]) for k in range(3)], axis=1)
        return counts, np.where(self.alone, share[self.first], 1.0)


def annotated_votes(table: ResponseTable, turned: BoolArray, cell: IntArray) -> AnnotatedVotes:
    """Return the votes of a table with separate cells.

    Parameters
    ----------
    table : ResponseTable
        The n votes.
    turned : ndarray of bool, shape (n,)
        Whether the design has the orientation high -> low for a row.
    cell : ndarray of int, shape (n,)
        Cell of each row in the design.

    Returns
    -------
    AnnotatedVotes
        The votes in canonical order.
    """
    M, (toward, shown) = len(table.chatbots), low_to_high(table)
    toward, shown = np.where(turned, -toward, toward), np.where(turned, -shown, shown)
    low, high = np.minimum(table.a, table.b), np.maximum(table.a, table.b)
    low, high = np.where(turned, high, low), np.where(turned, low, high)
    names = np.unique(table.annotator[table.annotator >= 0])
    annotator = np.where(table.annotator >= 0, np.searchsorted(names, table.annotator), len(names))
    row = np.lexsort((shown, toward, annotator, cell))
    toward, shown, cell, annotator = toward[row], shown[row], cell[row], annotator[row]
    first = np.flatnonzero(np.diff(cell, prepend=-1))
    codes, known = [annotator * M + chatbot[row] for chatbot in (low, high)], annotator < len(names)
    pairs = np.unique(np.concatenate([code[known] for code in codes]))
    low, high = (np.where(known, np.searchsorted(pairs, code), len(pairs)) for code in codes)
    return AnnotatedVotes(
        row=row,
        cell=cell,
        first=first,
        alone=np.diff(np.append(first, len(cell))) == 1,
        verdict=toward + 1,
        shown=shown.astype(np.float64),
        names=names,
        annotator=annotator,
        low=low,
        high=high,
        pairs=np.stack([pairs // M, pairs % M], axis=1),
    )
