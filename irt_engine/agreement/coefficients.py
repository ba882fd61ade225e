"""Coefficients of agreement: Fleiss' kappa and Krippendorff's alpha."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from irt_engine.agreement.opinions import opinions_of
from irt_engine.arrays import FloatArray, IntArray, numbers
from irt_engine.errors import InvalidResponses
from irt_engine.responses.table import ResponseTable

Level = Literal["nominal", "ordinal", "interval"]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Store a chance-corrected coefficient, 1 - disagreement / chance disagreement.

    Parameters
    ----------
    value, se : float or None
        Coefficient and standard error over a sample of items; None if there is no item with two ratings, or all ratings
        are equal.
    items, ratings : int
        Number of items with two or more ratings, and of their ratings.
    """

    value: float | None
    se: float | None
    items: int
    ratings: int


@dataclass(frozen=True, slots=True)
class VoteAgreement:
    """Store the coefficients of a table's votes.

    Parameters
    ----------
    kappa, kappa_decisive : Agreement
        Fleiss' kappa over A, tie and B, and over decisive votes.
    alpha_nominal, alpha_ordinal : Agreement
        Krippendorff's alpha.
    """

    kappa: Agreement
    kappa_decisive: Agreement
    alpha_nominal: Agreement
    alpha_ordinal: Agreement


# ---- coefficients


def category_counts(table: ResponseTable, *, ties: bool = True) -> IntArray:
    """Return the opinions per cell.

    An annotator counts once per cell. Contradictory votes of an annotator count as a tie.

    Parameters
    ----------
    table : ResponseTable
        The votes.
    ties : bool
        Include ties.

    Returns
    -------
    ndarray of int, shape (cells, 3) or (cells, 2)
        Opinions for A (the lower chatbot), tie and B.
    """
    opinions = opinions_of(table)
    counts = np.zeros((int(opinions.cell.max()) + 1, 3), np.int64)
    np.add.at(counts, (opinions.cell, np.sign(opinions.value).astype(np.int64) + 1), 1)
    return counts if ties else counts[:, [0, 2]]


def fleiss_kappa(counts: ArrayLike, *, mirrored: bool = False) -> Agreement:
    """Return Fleiss' kappa.

    Items may have unequal numbers of ratings. Items with one rating are excluded, and the weight of an item is its
    number of ratings, so that every rating counts once. The standard error is by the delta method over items.

    Parameters
    ----------
    counts : array_like, shape (N, k)
        Number of ratings of each item in each category.
    mirrored : bool
        Average the shares of the categories with those in reverse order, because A and B are exchangeable.

    Returns
    -------
    Agreement
        The coefficient.

    Raises
    ------
    InvalidResponses
        If the values are no counts.

    References
    ----------
    J. L. Fleiss (1971), Measuring nominal scale agreement among many raters, Psychological Bulletin 76, 378-382.
    """
    counts = _checked_counts(counts)
    n = counts.sum(axis=1)
    N, total = len(n), float(n.sum())
    if N == 0:
        return Agreement(None, None, 0, 0)
    other = 0.5 * (counts + counts[:, ::-1]) if mirrored else counts
    share = other.sum(axis=0) / total
    item = ((counts**2).sum(axis=1) - n) / (n - 1.0)  # n_i times the agreement within the item
    observed, expected = item.sum() / total, float(share @ share)
    if expected > 1.0 - 1e-12:
        return Agreement(None, None, N, int(total))
    kappa = (observed - expected) / (1.0 - expected)
    slope = (item - n * observed) - 2.0 * (other - n[:, None] * share) @ share * (1.0 - observed) / (1.0 - expected)
    se = np.sqrt((slope**2).sum() * N / max(1, N - 1)) / (total * (1.0 - expected))
    return Agreement(float(kappa), float(se) if N > 1 else None, N, int(total))


def krippendorff_alpha(counts: ArrayLike, level: Level = "nominal", *, mirrored: bool = False) -> Agreement:
    """Return Krippendorff's alpha.

    Missing ratings are not counted. The standard error is the jackknife's over items.

    Parameters
    ----------
    counts : array_like, shape (N, k)
        Number of ratings of each item in each of k ordered categories.
    level : {"nominal", "ordinal", "interval"}
        Distance between categories: 0 or 1, by ranks, or by numbers 0..k - 1.
    mirrored : bool
        As in `fleiss_kappa`.

    Returns
    -------
    Agreement
        The coefficient.

    Raises
    ------
    InvalidResponses
        If the values are no counts, or the level is unknown.

    References
    ----------
    K. Krippendorff (2011), Computing Krippendorff's alpha-reliability, University of Pennsylvania.
    """
    counts = _checked_counts(counts)
    if str(level) not in ("nominal", "ordinal", "interval"):
        raise InvalidResponses(f"level {level!r} is unknown", code="bad_level", hint="nominal, ordinal or interval")
    n = counts.sum(axis=1)
    N, total = len(n), float(n.sum())
    other = 0.5 * (counts + counts[:, ::-1]) if mirrored else counts
    margin = other.sum(axis=0)
    distance = _distances(margin, level)
    within = np.einsum("ik,kl,il->i", counts, distance, counts) / np.maximum(n - 1.0, 1.0)
    chance = float(margin @ distance @ margin)
    if N == 0 or chance <= 0.0:
        return Agreement(None, None, N, int(total))
    alpha = 1.0 - (total - 1.0) * within.sum() / chance
    return Agreement(float(alpha), _alpha_jackknife(within, other, n, distance), N, int(total))


def vote_agreement(table: ResponseTable) -> VoteAgreement:
    """Return the coefficients of a table's votes, with A and B exchangeable.

    Parameters
    ----------
    table : ResponseTable
        The votes; cells with two or more annotators are used.

    Returns
    -------
    VoteAgreement
        The coefficients.
    """
    counts, decisive = category_counts(table), category_counts(table, ties=False)
    return VoteAgreement(
        kappa=fleiss_kappa(counts, mirrored=True),
        kappa_decisive=fleiss_kappa(decisive, mirrored=True),
        alpha_nominal=krippendorff_alpha(counts, "nominal", mirrored=True),
        alpha_ordinal=krippendorff_alpha(counts, "ordinal", mirrored=True),
    )


def _checked_counts(counts: ArrayLike) -> FloatArray:
    """(N', k) rows with two or more ratings."""
    array = numbers(counts, "counts")
    good = array.ndim == 2 and array.shape[1] >= 1 and bool(((array >= 0) & (array == np.floor(array))).all())
    if not good or not np.isfinite(array).all():
        raise InvalidResponses(
            "counts are whole numbers >= 0, one row per item, one column per category",
            code="bad_counts",
            hint="see category_counts",
        )
    kept: FloatArray = array[array.sum(axis=1) >= 2]
    return kept


def _distances(margin: FloatArray, level: Level) -> FloatArray:
    """(k, k) squared distance of two categories."""
    k = len(margin)
    if level == "nominal":
        return 1.0 - np.eye(k)
    rank = np.arange(k, dtype=np.float64) if level == "interval" else np.cumsum(margin) - 0.5 * margin
    squared: FloatArray = (rank[:, None] - rank[None, :]) ** 2
    return squared


def _alpha_jackknife(within: FloatArray, other: FloatArray, n: FloatArray, distance: FloatArray) -> float | None:
    """SE of alpha by leaving out one item at a time; ordinal distances are kept as they are."""
    N = len(n)
    margin = other.sum(axis=0) - other
    chance = np.einsum("ik,kl,il->i", margin, distance, margin)
    if N < 2 or (chance <= 0.0).any():
        return None
    alpha = 1.0 - (n.sum() - n - 1.0) * (within.sum() - within) / chance
    return float(np.sqrt((N - 1.0) / N * ((alpha - alpha.mean()) ** 2).sum()))
