"""Statistics of each annotator: correlation with the others, order effects, ties and times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from irt_engine.agreement.shared_cells import PooledAgreement, SharedCells, pooled_agreement, shared_cells
from irt_engine.arrays import FloatArray, IntArray, numbers
from irt_engine.errors import InvalidResponses
from irt_engine.responses.table import ResponseTable


@dataclass(frozen=True, slots=True)
class AnnotatorStatistics:
    """Store the statistics of one annotator.

    Parameters
    ----------
    annotator : int
        Number in the table.
    votes : int
        All votes, with repeats.
    cells : int
        Cells with votes of other annotators, which the correlations use.
    correlation : float or None
        Leave-one-out correlation with the mean of the others; None without cells or variation.
    expected : float or None
        Correlation of careful annotators on the same comparisons; None without cells.
    p_value : float or None
        One-sided p value of correlation > 0; None without cells.
    shrunken : float
        Correlation, partially pooled with those of all annotators.
    first_share : float or None
        Share of decisive votes for the reply that was shown first; None if no order is known.
    tie_share : float
        Share of ties.
    median_seconds : float or None
        Median time per vote, in seconds; None without times.
    """

    annotator: int
    votes: int
    cells: int
    correlation: float | None
    expected: float | None
    p_value: float | None
    shrunken: float
    first_share: float | None
    tie_share: float
    median_seconds: float | None


def annotator_statistics(
    table: ResponseTable, *, seconds: Sequence[float | None] | None = None
) -> tuple[AnnotatorStatistics, ...]:
    """Return the statistics of each annotator, by number.

    Parameters
    ----------
    table : ResponseTable
        The n votes.
    seconds : sequence of float or None, length n, optional
        Time of each vote, in seconds.

    Returns
    -------
    tuple of AnnotatorStatistics
        One per named annotator.

    Raises
    ------
    InvalidResponses
        If a time is negative or no number, or there is not one per vote.
    """
    shared = shared_cells(table)
    return statistics_of(table, shared, pooled_agreement(shared), times_of(seconds, len(table)))


def statistics_of(
    table: ResponseTable, shared: SharedCells, pool: PooledAgreement, seconds: FloatArray | None
) -> tuple[AnnotatorStatistics, ...]:
    """Return the statistics of each annotator.

    Parameters
    ----------
    table : ResponseTable
        The n votes.
    shared : SharedCells
        The agreement of each annotator.
    pool : PooledAgreement
        The mixture.
    seconds : ndarray of float, shape (n,), or None
        Time of each vote, NaN if unknown.

    Returns
    -------
    tuple of AnnotatorStatistics
        One per annotator.
    """
    known = table.annotator >= 0
    who, K = np.searchsorted(shared.annotator, table.annotator[known]), len(shared.annotator)
    outcome, first = table.outcome[known], table.a_first[known]
    ties = np.bincount(who, outcome == 0, K)
    ordered = (outcome != 0) & (first >= 0)
    shown = np.bincount(who, ordered, K)
    chosen = np.bincount(who, ordered & ((outcome == -1) == (first == 1)), K)
    medians = [None] * K if seconds is None else _medians(who, seconds[known], K)
    first_shares = [float(chosen[i] / shown[i]) if shown[i] else None for i in range(K)]
    return _statistics(shared, pool, first_shares, (ties / shared.votes).tolist(), medians)


def statistics_of_answers(
    annotator: IntArray, shared: SharedCells, pool: PooledAgreement, seconds: FloatArray | None
) -> tuple[AnnotatorStatistics, ...]:
    """Return the statistics of each annotator of single items.

    Parameters
    ----------
    annotator : ndarray of int, shape (n,)
        Annotator of each answer.
    shared : SharedCells
        The agreement of each annotator.
    pool : PooledAgreement
        The mixture.
    seconds : ndarray of float, shape (n,), or None
        Time of each answer, NaN if unknown.

    Returns
    -------
    tuple of AnnotatorStatistics
        One per annotator.
    """
    who, K = np.searchsorted(shared.annotator, annotator), len(shared.annotator)
    medians = [None] * K if seconds is None else _medians(who, seconds, K)
    return _statistics(shared, pool, [None] * K, [0.0] * K, medians)


def _statistics(
    shared: SharedCells,
    pool: PooledAgreement,
    first_shares: Sequence[float | None],
    tie_shares: Sequence[float],
    medians: Sequence[float | None],
) -> tuple[AnnotatorStatistics, ...]:
    """One per annotator; `first_shares`, `tie_shares` and `medians` are in the order of `shared.annotator`."""
    return tuple(
        AnnotatorStatistics(
            annotator=int(shared.annotator[i]),
            votes=int(shared.votes[i]),
            cells=int(shared.cells[i]),
            correlation=float(shared.r[i]) if shared.defined[i] else None,
            expected=float(pool.mean[i]) if shared.cells[i] else None,
            p_value=float(shared.p[i]) if shared.cells[i] else None,
            shrunken=float(pool.shrunken[i]),
            first_share=first_shares[i],
            tie_share=tie_shares[i],
            median_seconds=medians[i],
        )
        for i in range(len(shared.annotator))
    )


def times_of(seconds: Sequence[float | None] | None, n: int) -> FloatArray | None:
    """Return checked times of votes.

    Parameters
    ----------
    seconds : sequence of float or None, length n, optional
        Times, in seconds.
    n : int
        Number of votes.

    Returns
    -------
    ndarray of float, shape (n,), or None
        NaN for unknown times; None without times.

    Raises
    ------
    InvalidResponses
        If a time is negative or no number, or there is not one per vote.
    """
    if seconds is None:
        return None
    times = numbers(seconds, "seconds")
    given = np.array([value is not None for value in seconds], bool) if times.shape == (n,) else None
    if given is None or not (np.isfinite(times[given]) & (times[given] >= 0)).all():
        raise InvalidResponses(
            "seconds are numbers >= 0 or None, one per vote", code="bad_seconds", hint="correct the times"
        )
    return times


def _medians(who: IntArray, seconds: FloatArray, K: int) -> list[float | None]:
    """The median time of each annotator, None for one without times."""
    given = np.isfinite(seconds)
    who, seconds = who[given], seconds[given]
    order = np.lexsort((seconds, who))
    who, seconds = who[order], seconds[order]
    count = np.bincount(who, minlength=K)
    start = np.cumsum(count) - count
    return [
        float(0.5 * (seconds[s + (n - 1) // 2] + seconds[s + n // 2])) if n else None
        for s, n in zip(start, count, strict=True)
    ]
