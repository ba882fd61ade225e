"""One score from several metrics: stack ranking, winners circle and confidence bands, with bootstrap intervals.

Notation: K metrics, J chatbots, B bootstrap replicates. The three strategies are those of Venkatesh et al. (2018), On
Evaluating and Comparing Open Domain Dialog Systems, section 4.8. Their paper prints no intervals of the total scores.

Intervals of sums of ranks are basic bootstrap intervals: with t the total and q a quantile of its replicates, they go
from 2 t - q_high to 2 t - q_low (Davison and Hinkley 1997, section 5.2), within what ranks can sum up to. Resampling
draws ranks towards the middle, and percentiles repeat that bias. Counts of metrics have percentile intervals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from irt_engine.arrays import BoolArray, FloatArray
from irt_engine.errors import InvalidResponses
from irt_engine.scorecard.correlation import ranks
from irt_engine.scorecard.estimates import LEVEL


@dataclass(frozen=True, slots=True)
class MetricTable:
    """Metrics of chatbots with their error bars.

    Parameters
    ----------
    values, lower, upper : (K, J)
        Values and the limits of their intervals. A limit that is NaN is taken as the value.
    higher_is_better : (K,)
        Orientation of each metric.
    weights : (K,)
        Weight of each metric in the totals.
    replicates : (B, K, J)
        Bootstrap replicates of the values; B may be 0, and then totals have no intervals.
    """

    values: FloatArray
    lower: FloatArray
    upper: FloatArray
    higher_is_better: BoolArray
    weights: FloatArray
    replicates: FloatArray

    def __post_init__(self) -> None:
        K, J = self.values.shape
        shapes = (self.lower.shape, self.upper.shape, self.replicates.shape[1:])
        if set(shapes) != {(K, J)} or self.higher_is_better.shape != (K,) or self.weights.shape != (K,):
            raise InvalidResponses("the shapes of a metric table differ", code="bad_length", hint="see its attributes")
        if not np.isfinite(self.values).all():
            raise InvalidResponses(
                "a metric is missing for a chatbot", code="bad_value", hint="leave the metric out for all chatbots"
            )


@dataclass(frozen=True, slots=True)
class TotalScores:
    """Total scores of the chatbots.

    Parameters
    ----------
    cells : (K, J)
        Score of each metric before weighting: a rank, or 0 and 1.
    totals : (J,)
        Weighted sums over the metrics.
    lower, upper : (J,)
        Bootstrap intervals of the totals; NaN without replicates.
    bands : (J,)
        1 for the best chatbot and those that are not told apart from it, 2 for the best of the others, and so on.
    replicates : (B, K, J)
        Cells of the bootstrap replicates, from which totals of other weights have their intervals.
    """

    cells: FloatArray
    totals: FloatArray
    lower: FloatArray
    upper: FloatArray
    bands: tuple[int, ...]
    replicates: FloatArray


def stack_ranking(table: MetricTable, *, level: float = LEVEL) -> TotalScores:
    """Return the weighted sum of each chatbot's ranks, 1 for the best; the lowest total wins.

    Parameters
    ----------
    table
        The metrics. Their error bars are not used.
    level
        Confidence level of the intervals of the totals.

    Returns
    -------
    TotalScores
    """
    cells = _rank_cells(table.values[None], table.higher_is_better)
    replicated = _rank_cells(table.replicates, table.higher_is_better)
    return _totals(table, cells[0], replicated, level, higher_is_better=False)


def winners_circle(table: MetricTable, ratings: ArrayLike, *, level: float = LEVEL) -> TotalScores:
    """Return the number of metrics on which a chatbot comes within the error bars of the two winners.

    The winners are the two chatbots with the best user ratings. A chatbot scores 1 on a metric if its interval overlaps
    the interval of a winner or lies on the better side of it.

    Parameters
    ----------
    table
        The metrics.
    ratings : (J,) or (1 + B, J)
        Mean user ratings; in further rows their bootstrap replicates. With one row the same winners serve for all
        replicates.
    level
        Confidence level of the intervals of the totals.

    Returns
    -------
    TotalScores
    """
    rows = np.atleast_2d(np.asarray(ratings, np.float64))
    best = np.argsort(-np.nan_to_num(rows, nan=-np.inf), axis=1, kind="stable")[:, :2]
    drawn = best[1:] if len(best) > 1 else np.repeat(best, len(table.replicates), axis=0)
    return _circle(table, best[:1, None, :], drawn[:, None, :], level)


def confidence_bands(table: MetricTable, *, level: float = LEVEL) -> TotalScores:
    """Return the number of metrics on which a chatbot comes within the error bars of that metric's best two.

    As `winners_circle`, with the best two chatbots of each metric in the place of the winners.

    Parameters
    ----------
    table
        The metrics.
    level
        Confidence level of the intervals of the totals.

    Returns
    -------
    TotalScores
    """
    sign = np.where(table.higher_is_better, 1.0, -1.0)[:, None]
    best = np.argsort(-sign * table.values[None], axis=2, kind="stable")[:, :, :2]
    drawn = np.argsort(-sign * np.nan_to_num(table.replicates), axis=2, kind="stable")[:, :, :2]
    return _circle(table, best, drawn, level)


def _circle(table: MetricTable, best: np.ndarray, drawn: np.ndarray, level: float) -> TotalScores:
    """Return totals of the cells that reach the error bars of `best` (1, K or 1, 2), and of `drawn` in replicates."""
    below = np.nan_to_num(table.values - table.lower)
    above = np.nan_to_num(table.upper - table.values)
    sign = np.where(table.higher_is_better, 1.0, -1.0)[:, None]
    worse = np.where(table.higher_is_better[:, None], below, above)
    better = np.where(table.higher_is_better[:, None], above, below)

    def cells(values: FloatArray, winners: np.ndarray) -> FloatArray:
        oriented = sign * values
        index = np.broadcast_to(winners, (*oriented.shape[:2], winners.shape[2]))
        limit = np.take_along_axis(oriented - worse, index, axis=2).min(axis=2, keepdims=True)
        return np.asarray(oriented + better >= limit, np.float64)

    return _totals(table, cells(table.values[None], best)[0], cells(table.replicates, drawn), level)


def _rank_cells(values: FloatArray, higher_is_better: BoolArray) -> FloatArray:
    """Return (B, K, J) ranks of each metric."""
    sign = np.where(higher_is_better, 1.0, -1.0)[:, None]
    return ranks(sign * values, higher_is_better=True)


def _totals(
    table: MetricTable, cells: FloatArray, replicated: FloatArray, level: float, *, higher_is_better: bool = True
) -> TotalScores:
    totals = table.weights @ cells
    sums = np.einsum("k,bkj->bj", table.weights, replicated)
    sums = sums[np.isfinite(sums).all(axis=1)]
    if len(sums) < 2:
        unknown = np.full(len(totals), np.nan)
        return TotalScores(
            cells, totals, unknown, unknown, _bands(totals, totals, totals, higher_is_better), replicated[:0]
        )
    lower, upper = np.quantile(sums, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    if not higher_is_better:  # Sums of ranks.
        least = table.weights.sum()
        lower, upper = np.clip([2 * totals - upper, 2 * totals - lower], least, len(totals) * least)
    lower, upper = np.minimum(lower, totals), np.maximum(upper, totals)
    bands = _bands(totals, lower, upper, higher_is_better)
    return TotalScores(cells, totals, lower, upper, bands, replicated[np.isfinite(replicated).all(axis=(1, 2))])


def _bands(totals: FloatArray, lower: FloatArray, upper: FloatArray, higher_is_better: bool) -> tuple[int, ...]:
    """Number the bands: a band ends before the first chatbot whose interval is apart from that of the band's best."""
    bands = np.zeros(len(totals), int)
    band, leader = 0, -1
    for chatbot in np.argsort(-totals if higher_is_better else totals, kind="stable"):
        apart = leader < 0 or (upper[chatbot] < lower[leader] if higher_is_better else lower[chatbot] > upper[leader])
        if apart:
            band, leader = band + 1, int(chatbot)
        bands[chatbot] = band
    return tuple(int(one) for one in bands)
