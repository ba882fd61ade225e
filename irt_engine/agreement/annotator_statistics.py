"""Statistics of each annotator: correlation with the others, order effects, ties and times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from irt_engine.arrays import BoolArray, FloatArray, IntArray, numbers
from irt_engine.errors import InvalidResponses
from irt_engine.responses.cells import compare
from irt_engine.responses.table import ResponseTable

_EXACT = 12  # up to here all 2^n signs are counted; beyond, the normal tail errs to the safe side (p = .05 up to .062)
_CHUNK = 500  # annotators at a time in that count: 16 MB
_BORROW = 20.0  # a comparison's agreement borrows from the whole pool's as much as that many opinions say
# Before the votes speak, worth ten annotators: how careful ones differ from what is expected of them (spreads of .07
# to .15 were measured in four crowds), and their share.
_SHIFT_SD, _SPREAD, _CAREFUL, _WEIGHT = 0.1, 0.08, 0.9, 10.0


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


@dataclass(frozen=True, slots=True, eq=False)
class SharedCells:
    """Store the agreement of K annotators with the others on common cells.

    Parameters
    ----------
    annotator, votes, cells : ndarray of int, shape (K,)
        Number of the annotator, and counts of votes and common cells.
    r : ndarray of float, shape (K,)
        Correlation; 0 where undefined.
    expected : ndarray of float, shape (K,)
        Correlation of the others on the same comparisons.
    defined : ndarray of bool, shape (K,)
        Whether the correlation is defined.
    variance : ndarray of float, shape (K,)
        Variance of r without agreement; infinite without cells.
    p : ndarray of float, shape (K,)
        p value of r > 0; 1 without cells.
    z : float
        z value of the agreement of all annotators.
    """

    annotator: IntArray
    votes: IntArray
    cells: IntArray
    r: FloatArray  # 0 where it is not defined
    expected: FloatArray  # r of the others on the same comparisons
    defined: BoolArray
    variance: FloatArray  # of r without any agreement, given the size of the opinions; inf without cells
    p: FloatArray  # 1 without cells
    z: float  # of agreement in the whole pool


@dataclass(frozen=True, slots=True, eq=False)
class PooledAgreement:
    """Store a mixture of careless annotators (correlation 0) and careful ones (correlation N(mean, spread^2)).

    Parameters
    ----------
    mean : ndarray of float, shape (K,)
        Expected correlation plus a common shift.
    spread : float
        SD of the careful annotators' true correlations.
    careful : float
        Share of careful annotators.
    shrunken : ndarray of float, shape (K,)
        Posterior mean of the true correlations.
    """

    mean: FloatArray  # (K,) what is expected plus a shift that all careful annotators share
    spread: float
    careful: float
    shrunken: FloatArray  # (K,) expected true correlation


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


def shared_cells(table: ResponseTable) -> SharedCells:
    """Return the agreement of each annotator with the others, and its test.

    Parameters
    ----------
    table : ResponseTable
        The votes.

    Returns
    -------
    SharedCells
        The agreement.
    """
    opinions = opinions_of(table)
    size = np.bincount(opinions.cell)[opinions.cell]
    total = np.bincount(opinions.cell, weights=opinions.value)[opinions.cell]
    use = (size > 1) & (opinions.annotator >= 0)
    annotator, votes = np.unique(table.annotator[table.annotator >= 0], return_counts=True)
    K, x = len(annotator), opinions.value[use]
    y = np.round((total[use] - x) / (size[use] - 1), 12)  # an exact 0 must not be left as 1e-17
    who = np.searchsorted(annotator, opinions.annotator[use])
    cells, xx, yy, xy, qq = (np.bincount(who, v, K) for v in (np.ones_like(x), x * x, y * y, x * y, (x * y) ** 2))
    defined = xx * yy > 0
    scale = np.where(defined, xx * yy, 1.0)
    # One who only says tie, or nobody to compare with but ties: r = 0, as uncertain as that many coin tosses
    leaning = np.bincount(who, y != 0, K)
    rest = np.where(leaning > 0, 1.0 / np.maximum(leaning, 1.0), np.inf)
    spread = float(np.sqrt(2.0 * qq.sum()))  # each product is there twice, once from either side
    return SharedCells(
        annotator=annotator,
        votes=votes,
        cells=cells.astype(np.int64),
        r=np.where(defined, xy / np.sqrt(scale), 0.0),
        expected=_expected(opinions, use, who, K),
        defined=defined,
        variance=np.where(defined & (qq > 0), qq / scale, rest),
        p=_sign_flip(x * y, who, K),
        z=float(xy.sum()) / spread if spread > 0 else 0.0,
    )


def _expected(opinions: Opinions, use: BoolArray, who: IntArray, K: int) -> FloatArray:
    """(K,) the correlation that the others' opinions of the same comparisons would have in an annotator's place.

    Some comparisons are so even that careful people disagree, and that must not count against who judged those. With
    m the mean product of two opinions of a cell, neither of them i's, over all cells of comparison c, and q the mean
    square of an opinion there: E xy = m, E x^2 = q, E y^2 = (q + (h - 1) m) / h for a mean y of h others.
    """
    c, x = opinions.comparison, opinions.value
    C = int(c.max()) + 1
    code, index = np.unique(who * C + c[use], return_inverse=True)
    m = _others_product(opinions, use, code % C, index)[index]
    q = (np.bincount(c, x * x, C) / np.bincount(c, minlength=C))[c[use]]
    h = np.bincount(opinions.cell)[opinions.cell[use]] - 1.0
    xy, xx, yy = (np.bincount(who, v, K) for v in (m, q, (q + (h - 1.0) * m) / h))
    square = xx * np.maximum(yy, 0.0)
    result: FloatArray = np.clip(xy / np.where(square > 0, np.sqrt(square), np.inf), 0.0, 0.95)
    return result


def _others_product(opinions: Opinions, use: BoolArray, comparison: IntArray, index: IntArray) -> FloatArray:
    """Per (annotator, comparison): the mean product of two others' opinions of a cell, every opinion once.

    A cell's n (n - 1) products weigh n together. Little evidence borrows from the whole pool's.
    """
    cell, x, c = opinions.cell, opinions.value, opinions.comparison
    n, total, square = (np.bincount(cell, v)[cell] for v in (np.ones_like(x), x, x * x))
    product, size = (total**2 - square) / np.maximum(n - 1.0, 1.0), np.where(n > 1, n, 0.0)
    without_me = ((total - x) ** 2 - (square - x * x)) / np.maximum(n - 2.0, 1.0) * (n > 2)
    size_without_me = np.where(n > 2, n - 1.0, 0.0)
    products, sizes = np.bincount(c, product / n), np.bincount(c, size / n)  # each cell once
    pool = products.sum() / max(sizes.sum(), 1.0)
    agree = products[comparison] - np.bincount(index, (product - without_me)[use])
    count = sizes[comparison] - np.bincount(index, (size - size_without_me)[use])
    mean: FloatArray = (agree + _BORROW * pool) / (count + _BORROW)
    return mean


def _sign_flip(products: FloatArray, who: IntArray, K: int) -> FloatArray:
    """(K,) chance that random signs make an annotator's sum of products as large as it is.

    That is the distribution under no agreement whenever the display order is random, whatever the annotator's habits
    (always the first, a share of ties). Counted exactly for up to 12 products that are not 0; beyond, the normal tail
    with half a step as continuity correction.
    """
    who, w = who[products != 0], products[products != 0]
    order = np.argsort(who, kind="stable")
    who, w = who[order], w[order]
    m = np.bincount(who, minlength=K)
    start = np.cumsum(m) - m
    least = np.full(K, np.inf)
    np.minimum.at(least, who, np.abs(w))
    total, square = np.bincount(who, w, K), np.bincount(who, w * w, K)
    step = np.where(m > 0, least, 0.0)
    p: FloatArray = ndtr(-(total - step) / np.sqrt(np.where(m > 0, square, 1.0)))
    p[m == 0] = 1.0
    few = np.flatnonzero((m > 0) & (m <= _EXACT))
    table = np.zeros((K, _EXACT))
    inside = m[who] <= _EXACT
    table[who[inside], (np.arange(len(w)) - start[who])[inside]] = w[inside]
    signs = 1.0 - 2.0 * (np.arange(2**_EXACT)[:, None] >> np.arange(_EXACT) & 1)
    for at in range(0, len(few), _CHUNK):
        rows = few[at : at + _CHUNK]
        p[rows] = (table[rows] @ signs.T >= total[rows, None] - 1e-9).mean(axis=1)
    return p


def pooled_agreement(shared: SharedCells) -> PooledAgreement:
    """Return the mixture of careless and careful annotators, by an EM algorithm with a prior.

    Parameters
    ----------
    shared : SharedCells
        The agreement of each annotator.

    Returns
    -------
    PooledAgreement
        The mixture.
    """
    known = np.isfinite(shared.variance)
    r, v, expected = shared.r[known], shared.variance[known], shared.expected[known]
    shift, spread2, careful = 0.0, _SPREAD**2, _CAREFUL
    weight = at = np.zeros_like(r)
    for _ in range(500):
        before, off = shift, r - expected - shift
        ratio = np.log(careful / (1.0 - careful)) + _log_normal(off, v + spread2) - _log_normal(r, v)
        weight = 1.0 / (1.0 + np.exp(-np.clip(ratio, -500.0, 500.0)))
        at, left = shift + off * spread2 / (v + spread2), v * spread2 / (v + spread2)
        shift = float(weight @ at / (weight.sum() + spread2 / _SHIFT_SD**2))
        spread2 = float((weight @ ((at - shift) ** 2 + left) + _WEIGHT * _SPREAD**2) / (weight.sum() + _WEIGHT))
        careful = float((weight.sum() + _WEIGHT * _CAREFUL) / (len(r) + _WEIGHT))
        if abs(shift - before) < 1e-10:
            break
    mean = shared.expected + shift
    shrunken = careful * mean
    shrunken[known] = weight * (expected + at)
    return PooledAgreement(mean, float(np.sqrt(spread2)), careful, shrunken)


def _log_normal(x: FloatArray, variance: FloatArray) -> FloatArray:
    density: FloatArray = -0.5 * (x * x / variance + np.log(variance))
    return density


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
    return tuple(
        AnnotatorStatistics(
            annotator=int(shared.annotator[i]),
            votes=int(shared.votes[i]),
            cells=int(shared.cells[i]),
            correlation=float(shared.r[i]) if shared.defined[i] else None,
            expected=float(pool.mean[i]) if shared.cells[i] else None,
            p_value=float(shared.p[i]) if shared.cells[i] else None,
            shrunken=float(pool.shrunken[i]),
            first_share=float(chosen[i] / shown[i]) if shown[i] else None,
            tie_share=float(ties[i] / shared.votes[i]),
            median_seconds=medians[i],
        )
        for i in range(K)
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
