"""Convergence diagnostics of Markov chains: rank-normalized split r-hat, and effective sample sizes.

The formulas are those of Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021, Bayesian Analysis 16, 667-718). They
are implemented here, because the libraries' interfaces differ between the supported versions of Python. Draws have
shape (chains, draws, K) for K quantities. A constant quantity has r-hat infinity and effective size 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from irt_engine.arrays import FloatArray
from irt_engine.errors import InvalidResponses

MOST_R_HAT = 1.01  # both limits are those of Vehtari et al. (2021)
LEAST_ESS = 400
_CHUNK = 64  # quantities at a time: an autocorrelation takes four times the memory of its draws


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """Store the convergence diagnostics of Markov chains, the worst over all reported quantities.

    Parameters
    ----------
    r_hat : float
        Largest r-hat.
    ess_bulk, ess_tail : float
        Smallest effective sample sizes in the bulk and in the tails.
    divergences : int
        Number of divergences.
    draws, tune : int
        Draws of each chain after and during tuning.
    chains : int
        Number of chains.
    sampler : str
        Name and version of the sampler.
    """

    r_hat: float
    ess_bulk: float
    ess_tail: float
    divergences: int
    draws: int  # of each chain, after `tune`
    tune: int
    chains: int
    sampler: str

    @property
    def converged(self) -> bool:
        """Return whether there is no divergence, r-hat is below 1.01 and all effective sizes are at least 400."""
        enough = min(self.ess_bulk, self.ess_tail) >= LEAST_ESS
        return self.divergences == 0 and self.r_hat < MOST_R_HAT and enough


def r_hat(draws: FloatArray) -> FloatArray:
    """Return the larger of the bulk and the folded r-hat.

    Parameters
    ----------
    draws : ndarray of float, shape (chains, draws, K)
        The draws.

    Returns
    -------
    ndarray of float, shape (K,)
        r-hat of each quantity.

    Raises
    ------
    InvalidResponses
        If a chain has fewer than 4 draws, or a value is not finite.

    References
    ----------
    A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner (2021), Rank-normalization, folding, and
    localization: an improved r-hat, Bayesian Analysis 16, 667-718.
    """
    halves = _split(draws)
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    return np.maximum(_r_hat(_normal_scores(halves)), _r_hat(_normal_scores(folded)))


def effective_sizes(draws: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the effective sample sizes of the bulk, and of the worse of the 5 % and 95 % quantiles.

    Parameters
    ----------
    draws : ndarray of float, shape (chains, draws, K)
        The draws.

    Returns
    -------
    tuple of ndarray of float, shape (K,)
        Bulk and tail sizes.

    Raises
    ------
    InvalidResponses
        As `r_hat`.
    """
    halves = _split(draws)
    bulk, tail = np.empty(draws.shape[2]), np.empty(draws.shape[2])
    for begin in range(0, draws.shape[2], _CHUNK):
        part = slice(begin, begin + _CHUNK)
        bulk[part] = _effective_size(_normal_scores(halves[:, :, part]))
        low, high = np.quantile(halves[:, :, part], [0.05, 0.95], axis=(0, 1))
        below = _effective_size((halves[:, :, part] <= low).astype(np.float64))
        above = _effective_size((halves[:, :, part] <= high).astype(np.float64))
        tail[part] = np.minimum(below, above)
    return bulk, tail


def _split(draws: FloatArray) -> FloatArray:
    """Every chain as its two halves, so that a chain that drifts disagrees with itself; an odd draw is left out."""
    count = draws.shape[1] // 2
    if count < 2 or not np.isfinite(draws).all():
        raise InvalidResponses(
            "r-hat needs at least 4 finite draws a chain", code="bad_draws", hint="draw more, at least 4"
        )
    return np.concatenate([draws[:, :count], draws[:, -count:]])


def _normal_scores(draws: FloatArray) -> FloatArray:
    """Ranks over all chains, mapped to normal quantiles (Blom): heavy tails do no harm."""
    chains, count, K = draws.shape
    ranks = rankdata(draws.reshape(-1, K), axis=0)
    scores: FloatArray = ndtri((ranks - 0.375) / (chains * count + 0.25)).reshape(draws.shape)
    return scores


def _r_hat(draws: FloatArray) -> FloatArray:
    count = draws.shape[1]
    within = draws.var(axis=1, ddof=1).mean(axis=0)
    between = draws.mean(axis=1).var(axis=0, ddof=1)
    moves = within > 0.0
    ratio = np.where(moves, between / np.where(moves, within, 1.0), np.inf)
    ratio_of_sds: FloatArray = np.sqrt((count - 1) / count + ratio)
    return ratio_of_sds


def _effective_size(draws: FloatArray) -> FloatArray:
    """(K,) from the autocorrelations by Geyer's initial monotone sequence."""
    chains, count, _ = draws.shape
    covariances = _autocovariances(draws)
    within = covariances[0] * count / (count - 1)
    total = covariances[0] + draws.mean(axis=1).var(axis=0, ddof=1)
    moves = within > 1e-12
    correlations = 1.0 - (within - covariances) / np.where(moves, total, 1.0)
    correlations[0] = 1.0
    even = count - count % 2
    pairs = correlations[:even:2] + correlations[1:even:2]
    pairs = np.minimum.accumulate(np.where(np.cumprod(pairs > 0.0, axis=0), pairs, 0.0), axis=0)
    size = chains * count
    steps = np.maximum(2.0 * pairs.sum(axis=0) - 1.0, 1.0 / np.log10(size))
    return np.where(moves, size / steps, 0.0)


def _autocovariances(draws: FloatArray) -> FloatArray:
    """(draws, K), biased, averaged over the chains."""
    count = draws.shape[1]
    apart = draws - draws.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(apart, n=2 * count, axis=1)
    power = (spectrum * spectrum.conj()).mean(axis=0)
    covariances: FloatArray = np.fft.irfft(power, n=2 * count, axis=0)[:count] / count
    return covariances
