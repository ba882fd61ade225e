"""Agreement of each annotator with the others on common cells, and the mixture of careful and careless ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from irt_engine.agreement.opinions import Opinions, opinions_of
from irt_engine.arrays import BoolArray, FloatArray, IntArray
from irt_engine.responses.table import ResponseTable

_EXACT = 12  # up to here all 2^n signs are counted; beyond, the normal tail errs to the safe side (p = .05 up to .062)
_CHUNK = 500  # annotators at a time in that count: 16 MB
_BORROW = 20.0  # a comparison's agreement borrows from the whole pool's as much as that many opinions say
# Before the votes speak, worth ten annotators: how careful ones differ from what is expected of them (spreads of .07
# to .15 were measured in four crowds), and their share.
_SHIFT_SD, _SPREAD, _CAREFUL, _WEIGHT = 0.1, 0.08, 0.9, 10.0


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
