"""Scores and information of the edges of net ratings: the graded response model (Samejima 1969).

With F_c = sigma(x_c), category k has P_k = F_{k-1} - F_k, where F_{-1} = 1 and F_E = 0. Written with the odds
o_c = 1 / (e^gap - 1) of the gap between edges c - 1 and c, everything stays finite where P_k and dP_k both underflow:

    dlog P_{c+1} / dx_c = 1 - F_c + o_{c+1},   dlog P_c / dx_c = -(F_c + o_c).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from irt_engine.arrays import FloatArray


class EdgeSums(NamedTuple):
    """Of m cells at Q points: what their edges say."""

    score: FloatArray  # (E, m, Q)
    info: FloatArray  # (E, m, Q) the diagonal of the information
    off: FloatArray  # (E - 1, m, Q) of each edge with the next
    by_sd: FloatArray  # (m, Q) the score by the log SD of the cell effect
    log: FloatArray  # (m, Q) the log-likelihood


def net_terms(x: FloatArray, odds: FloatArray, counts: FloatArray, observed: bool, logs: bool) -> EdgeSums:
    """Return what net ratings say; x (E, m, Q), odds (E + 1, m, Q), counts (m, 1) their categories.

    The expected information is Fisher's, sum_k dP_k dP_k' / P_k; the observed one is -d2 log P / dx dx'.
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
