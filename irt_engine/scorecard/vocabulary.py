"""Size of a topical vocabulary and mean frequency of its keywords, at an equal number of utterances.

Both grow with the number of utterances, so chatbots are compared by rarefaction to m of their N utterances:
E[V_m] = sum_k 1 - C(N - f_k, m) / C(N, m), where f_k is the number of utterances with keyword k (Hurlbert 1971, Ecology
52; Gotelli and Colwell 2001, Ecology Letters 4).
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln

from irt_engine.arrays import FloatArray
from irt_engine.scorecard.resampling import Statistic
from irt_engine.scorecard.statistics import divided


def rarefied_keywords(keywords: csr_array, utterances: FloatArray, *, size: int) -> Statistic:
    """Return the size of the vocabulary and the mean frequency of its keywords in `size` utterances of a chatbot.

    The frequency is the mean number of utterances that hold a keyword: m * (sum_k f_k / N) / E[V_m].

    Parameters
    ----------
    keywords : (n, k)
        Number of utterances of conversation i that hold keyword k.
    utterances : (n,)
        Number of utterances of each conversation.
    size
        Number m of utterances to which chatbots are rarefied.

    Returns
    -------
    Statistic
        It returns (2, B): both from one count of the keywords, which takes most of the time.
    """

    def statistic(weights: FloatArray) -> FloatArray:
        counts, total = weights @ keywords, weights @ utterances
        expected = _expected_size(counts, total, size)
        mentions = divided(size * counts.sum(axis=1), total)
        return np.stack([expected, divided(mentions, np.nan_to_num(expected))])

    return statistic


def _expected_size(counts: FloatArray, totals: FloatArray, size: int) -> FloatArray:
    """Return E[V_m] for counts (B, k) of keywords in totals (B,) utterances; m is at most the total."""
    expected = np.full(len(totals), np.nan)
    for position in np.flatnonzero(totals > 0):
        total = float(totals[position])
        found = np.bincount(counts[position].astype(np.int64))  # Number of keywords for each f.
        absent = _log_absent(np.arange(len(found), dtype=np.float64), total, min(float(size), total))
        expected[position] = found @ -np.expm1(absent)
    return expected


def _log_absent(found: FloatArray, total: float, size: float) -> FloatArray:
    """Return log(C(N - f, m) / C(N, m)) for the counts f of keywords; -inf where the keyword must appear."""
    left = total - found
    possible = left >= size
    kept = np.where(possible, left, size)
    logs = gammaln(kept + 1) - gammaln(kept - size + 1) - gammaln(total + 1) + gammaln(total - size + 1)
    return np.where(possible, logs, -np.inf)
