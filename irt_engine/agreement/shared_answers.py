"""Agreement of each annotator with the others on labels or ratings of common items.

Notation: n common items of one annotator; L answers; S (L, L) the similarity of two answers, 1 for equal ones. M (n, L)
is the mean similarity of each answer with the others' answers to an item. The annotator's agreement is T, the mean of M
at the annotator's answers. By chance it would be E: the mean over all pairings of the annotator's answers with the
items. Kappa is (T - E) / (1 - E) (Cohen 1968, Psychological Bulletin 70). The variance of T over all pairings is that
of Hoeffding's combinatorial statistic (1951, Annals of Mathematical Statistics 22).
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from irt_engine.agreement.shared_cells import SharedCells
from irt_engine.arrays import FloatArray, IntArray

_BORROW = 20.0  # the others' agreement borrows from the whole pool's as much as that many answers say


def similarities(count: int, *, ordinal: bool) -> FloatArray:
    """Return the similarity of each pair of answers.

    Parameters
    ----------
    count : int
        Number L of answers.
    ordinal : bool
        Whether answers are steps of a scale: similarity falls with the squared distance. Otherwise only equal answers
        are similar.

    Returns
    -------
    ndarray of float, shape (L, L)
        Similarities from 0 to 1.
    """
    if not ordinal:
        return np.eye(count)
    steps = np.arange(count, dtype=np.float64)
    similarity: FloatArray = 1.0 - (steps[:, None] - steps) ** 2 / max(count - 1.0, 1.0) ** 2
    return similarity


def shared_answers(item: IntArray, annotator: IntArray, answer: IntArray, similarity: FloatArray) -> SharedCells:
    """Return the agreement of each annotator with the others, as kappa, and its test.

    Parameters
    ----------
    item, annotator, answer : ndarray of int, shape (k,)
        Item, annotator and answer (0 to L - 1) of each of k answers. An annotator has one answer to an item.
    similarity : ndarray of float, shape (L, L)
        Similarity of each pair of answers.

    Returns
    -------
    SharedCells
        The agreement; `r` and `expected` hold kappas.
    """
    names, votes = np.unique(annotator, return_counts=True)
    places = np.unique(item, return_inverse=True)[1]
    L = len(similarity)
    counts = np.zeros((int(places.max(initial=-1)) + 1, L))
    np.add.at(counts, (places, answer), 1.0)
    own = np.eye(L)[answer]
    others = counts[places] - own
    use = others.sum(axis=1) > 0
    usual = int(counts.sum(axis=0).argmax()) if len(counts) else 0
    expected = _expected(counts, places, annotator, names, own, similarity)
    rows = [
        _agreement(others[mine], answer[mine], similarity, usual)
        for mine in ((annotator == one) & use for one in names)
    ]
    kappa, variance, excess, spread = (
        (np.array(column, np.float64) for column in zip(*rows, strict=True)) if rows else (np.zeros(0),) * 4
    )
    known = spread > 0
    total = float(np.sqrt(2.0 * spread.sum()))  # each pair of answers is there twice, once from either side
    return SharedCells(
        annotator=names,
        votes=votes,
        cells=np.bincount(np.searchsorted(names, annotator[use]), minlength=len(names)),
        r=kappa,
        expected=expected,
        defined=known,
        variance=variance,
        p=np.where(known, ndtr(-excess / np.sqrt(np.where(known, spread, 1.0))), 1.0),
        z=float(excess.sum()) / total if total > 0 else 0.0,
    )


def _agreement(
    others: FloatArray, answer: IntArray, similarity: FloatArray, usual: int
) -> tuple[float, float, float, float]:
    """Return kappa, its variance, and the sum of n (T - E) with its variance over all pairings.

    An annotator who always answers alike has kappa 0. Items on which everybody gives the usual answer tell nothing, so
    the variance of kappa is at least that of as many coin tosses as there are other items.
    """
    n = len(answer)
    if n < 2:
        return 0.0, np.inf, 0.0, 0.0
    M = others @ similarity.T / others.sum(axis=1, keepdims=True)
    m = np.bincount(answer, minlength=len(similarity)).astype(np.float64)
    by_item, by_answer = M @ m / n, M.mean(axis=0)
    E = float(by_answer @ m / n)
    T = float(M[np.arange(n), answer].mean())
    off = M - by_item[:, None] - by_answer + E
    spread = float(((off**2) @ m).sum()) / (n - 1.0)
    leaning = int(((others[:, usual] < others.sum(axis=1)) | (answer != usual)).sum())
    if leaning == 0 or E >= 1.0:
        return 0.0, np.inf, 0.0, 0.0
    least = 1.0 / leaning
    if spread <= 1e-12:
        return 0.0, least, 0.0, 0.0
    return (T - E) / (1.0 - E), max(spread / (n * (1.0 - E)) ** 2, least), n * (T - E), spread


def _expected(
    counts: FloatArray, item: IntArray, annotator: IntArray, names: IntArray, own: FloatArray, similarity: FloatArray
) -> FloatArray:
    """Return (K,) the kappa of two others: the agreement of answers that are not the annotator's own.

    An item's n (n - 1) pairs weigh n together. Little evidence borrows from the whole pool's.
    """
    who = np.searchsorted(names, annotator)
    size, agree = _pairs(counts, similarity)
    size_left, agree_left = _pairs(counts[item] - own, similarity)
    lost = np.bincount(who, size[item] - size_left, len(names))
    lost_agree = np.bincount(who, agree[item] - agree_left, len(names))
    pool = agree.sum() / max(float(size.sum()), 1.0)
    agreement = (agree.sum() - lost_agree + _BORROW * pool) / (size.sum() - lost + _BORROW)
    shares = counts.sum(axis=0) / max(float(counts.sum()), 1.0)
    chance = float(shares @ similarity @ shares)
    kappa: FloatArray = np.clip((agreement - chance) / max(1.0 - chance, 1e-12), 0.0, 0.95)
    return kappa


def _pairs(counts: FloatArray, similarity: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return for each row the weight of its pairs of answers, and that weight times their mean similarity."""
    n = counts.sum(axis=1)
    both = np.einsum("il,lm,im->i", counts, similarity, counts) - counts @ np.diag(similarity)
    size = np.where(n > 1, n, 0.0)
    return size, np.where(n > 1, both / np.maximum(n - 1.0, 1.0), 0.0)
