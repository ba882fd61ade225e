"""Scores and information of the edges of net ratings: the graded response model (Samejima 1969).

With F_c = sigma(x_c), category k has P_k = F_{k-1} - F_k, where F_{-1} = 1 and F_E = 0. Let o_c = 1 / (e^gap - 1) for
the gap between edges c - 1 and c. Then everything stays finite where P_k and dP_k both underflow:

    dlog P_{c+1} / dx_c = 1 - F_c + o_{c+1},   dlog P_c / dx_c = -(F_c + o_c).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from irt_engine.arrays import FloatArray


class EdgeSums(NamedTuple):
    """Store the likelihood terms of m cells at Q sigma points, by edge.

    Parameters
    ----------
    score : ndarray of float, shape (E, m, Q)
        Score by edge.
    info : ndarray of float, shape (E, m, Q)
        Diagonal of the information.
    off : ndarray of float, shape (E - 1, m, Q)
        Information between consecutive edges.
    by_sd : ndarray of float, shape (m, Q)
        Score by the log SD of the cell effect.
    log : ndarray of float, shape (m, Q)
        Log likelihood.
    """

    score: FloatArray  # (E, m, Q)
    info: FloatArray  # (E, m, Q) the diagonal of the information
    off: FloatArray  # (E - 1, m, Q) of each edge with the next
    by_sd: FloatArray  # (m, Q) the score by the log SD of the cell effect
    log: FloatArray  # (m, Q) the log-likelihood


def net_terms(x: FloatArray, odds: FloatArray, counts: FloatArray, observed: bool, logs: bool) -> EdgeSums:
    """Return the likelihood terms of net ratings.

    The expected information is sum_k dP_k dP_k' / P_k; the observed one is -d^2 log P / dx dx'.

    Parameters
    ----------
    x : ndarray of float, shape (E, m, Q)
        Edges at the sigma points.
    odds : ndarray of float, shape (E + 1, m, Q)
        Exponentials of the gaps between edges.
    counts : ndarray of float, shape (m, 1)
        Categories.
    observed : bool
        Return the observed information.
    logs : bool
        Return the log likelihood.

    Returns
    -------
    EdgeSums
        The terms of the edges.
    """
    E, category = len(x), counts.T[:, :, None]
    F = 1.0 / (1.0 + np.exp(-x))
    below, above, edge = odds[:-1], odds[1:], np.arange(E)[:, None, None]
    won, lost = category == edge + 1.0, category == edge
    score = won * (1.0 - F + above) - lost * (F + below)
    slope = F * (1.0 - F)
    if observed:
        info = won * (slope + above * (1.0 + above)) + lost * (slope + below * (1.0 + below))
        off = -(won * above * (1.0 + above))[:-1]
    else:
        info = slope * (1.0 + below + above)
        off = -slope[1:] * (1.0 - F[:-1] + above[:-1])
    log = _log_likelihood(x, odds, category[0]) if logs else np.zeros(x.shape[1:])
    return EdgeSums(score, info, off, np.zeros(x.shape[1:]), log)


def _log_likelihood(x: FloatArray, odds: FloatArray, category: FloatArray) -> FloatArray:
    """log P_k = log F_{k-1} + log(1 - F_k) - log(1 + o_k)."""
    log = np.zeros(x.shape[1:])
    for k in range(len(x) + 1):
        log_p = -np.log1p(odds[k])
        if k > 0:
            log_p = log_p - np.log1p(np.exp(-x[k - 1]))
        if k < len(x):
            log_p = log_p - np.log1p(np.exp(x[k]))
        log += np.where(category == k, log_p, 0.0)
    return log
