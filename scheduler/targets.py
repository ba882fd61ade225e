"""Targets: the part of the uncertainty about abilities that a campaign wants to lower.

Notation: abilities s ~ N(mean, Sigma) of M chatbots. A target is a positive semidefinite weight W (M, M). What is left
to learn is trace(W Sigma), the expected squared error weighted by W (Bayesian A-optimality; Chaloner & Verdinelli
1995). Contrasts c_k give W = sum_k c_k c_k'. One more judgment is a rank-one update of Sigma (`belief`), so that all
pairs are valued at once from Sigma W Sigma.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import ndtr

from irt_engine.arrays import FloatArray, check_fields, frozen
from irt_engine.posterior.differences import pair_variances, quantile, standardised
from scheduler.board_state import Over, check_over, neighbours
from scheduler.errors import InvalidRequest, is_count

# How the largest SE stands out among the weights: simulated campaigns that end when it is small enough take about as
# many judgments with 1, 2, 4 and 8 (docs/plan.md), and half as many again with 0.
_SHARPNESS = 2.0


class Target(Protocol):
    """Describe what judgments are chosen for, by a weight matrix."""

    def weight(self, mean: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return the weight matrix W of the target variance trace(W Sigma).

        Parameters
        ----------
        mean : ndarray of float, shape (M,)
            Abilities.
        covariance : ndarray of float, shape (M, M)
            Their covariance Sigma.

        Returns
        -------
        ndarray of float, shape (M, M)
            Symmetric positive semidefinite matrix.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class PrecisionTarget:
    """All abilities alike (W = 1), or given contrasts.

    Parameters
    ----------
    contrasts : (K, M) float array or None
        Rows that sum to 0, such as e_b - e_a; None for all abilities.

    Raises
    ------
    InvalidRequest
        On contrasts that are not finite, have another shape, or do not sum to 0. A sum of abilities that does not
        cancel has no meaning on a scale without a zero.
    """

    contrasts: FloatArray | None = None

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        if self.contrasts is None:
            return
        try:
            rows = np.asarray(self.contrasts, np.float64)
        except (TypeError, ValueError):  # text, or rows of unequal length
            rows = np.empty(0)
        if rows.ndim != 2 or not np.isfinite(rows).all() or np.abs(rows.sum(axis=1)).max(initial=0.0) > 1e-9:
            raise InvalidRequest(
                "contrasts are not rows that sum to 0", code="bad_contrasts", hint="give for example [[-1, 1, 0]]"
            )
        object.__setattr__(self, "contrasts", frozen(rows, np.float64))

    def weight(self, mean: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return the weight matrix; see `Target.weight`."""
        if self.contrasts is None:
            return np.eye(len(mean))
        if self.contrasts.shape[1] != len(mean):
            raise InvalidRequest(
                f"contrasts of {self.contrasts.shape[1]} chatbots on a board of {len(mean)}",
                code="bad_contrasts",
                hint="one column per chatbot",
            )
        W: FloatArray = self.contrasts.T @ self.contrasts
        return W


@dataclass(frozen=True, slots=True)
class LargestSETarget:
    """The largest SE, of all abilities or of the differences between neighbours: the target of the rule `TargetSE`.

    The maximum is not smooth, so that a power mean of the variances v replaces it: each is weighted by (v / max v)^2.

    Parameters
    ----------
    over : {"all", "neighbours"}
        All abilities, or differences between neighbours in the estimated order.

    Raises
    ------
    InvalidRequest
        For another `over`.
    """

    over: Over = "all"

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        check_over(self.over)

    def weight(self, mean: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return the weight matrix; see `Target.weight`."""
        if self.over == "all":
            return np.diag(_standing_out(np.diag(covariance)))
        upper, lower = neighbours(mean)
        w = _standing_out(pair_variances(covariance, upper, lower))
        W = np.zeros_like(covariance)
        W[upper, lower] = W[lower, upper] = -w
        W[np.diag_indices(len(mean))] = -W.sum(axis=1)
        return W


def _standing_out(variance: FloatArray) -> FloatArray:
    """(v / max v)^2, from 0 to 1."""
    weight: FloatArray = (np.maximum(variance, 0.0) / max(float(variance.max(initial=0.0)), 1e-300)) ** _SHARPNESS
    return weight


@dataclass(frozen=True, slots=True)
class RankingTarget:
    """The order: the Laplacian of all undecided pairs, weighted by the probability that the next votes decide them.

    A pair is decided when |z| reaches the quantile of `level`. After votes that halve its variance v, its z is normal
    about sqrt(2) z with SD 1. They decide the pair with probability p(z) = P(|sqrt(2) z + e| > critical), which is .05
    for equal chatbots and .8 for a pair that is nearly decided. The weight is p(z) / v: the relative fall of the
    variance, times the probability that it matters. Weights by the probability of a wrong order would put most votes on
    pairs that no budget decides.

    Parameters
    ----------
    level : float
        Level of the intervals, between 0 and 1.

    Raises
    ------
    InvalidRequest
        Unless 0 < level < 1.
    """

    level: float = 0.95

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        if not 0.0 < self.level < 1.0:
            raise InvalidRequest(f"level {self.level}", code="bad_target", hint="give for example 0.95")

    def weight(self, mean: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return the weight matrix; see `Target.weight`."""
        return laplacian(len(mean), decision_weights(mean, covariance, self.level))


@dataclass(frozen=True, slots=True)
class TopKTarget:
    """Which chatbots are the best k: the pairs across the border, weighted as in `RankingTarget`.

    Parameters
    ----------
    k : int
        How many are the best; at least 1 and, on a board, fewer than its chatbots.
    level : float
        As in `RankingTarget`.

    Raises
    ------
    InvalidRequest
        For another k or level.
    """

    k: int = 1
    level: float = 0.95

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        if not is_count(self.k, least=1) or not 0.0 < self.level < 1.0:
            raise InvalidRequest(
                f"the best {self.k} at level {self.level}", code="bad_target", hint="k is at least 1, the level below 1"
            )

    def weight(self, mean: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return the weight matrix; see `Target.weight`."""
        M = len(mean)
        if self.k >= M:
            raise InvalidRequest(
                f"the best {self.k} of {M} chatbots", code="bad_target", hint="k is less than the number of chatbots"
            )
        top = np.zeros(M, bool)
        top[np.argsort(-mean, kind="stable")[: self.k]] = True
        low, high = np.triu_indices(M, 1)
        across = top[low] != top[high]
        return laplacian(M, np.where(across, decision_weights(mean, covariance, self.level), 0.0))


@dataclass(frozen=True, slots=True)
class NewEntrantTarget:
    """The place of one chatbot on an established board: its difference to the mean of the others.

    Parameters
    ----------
    chatbot : int
        Index of the chatbot.

    Raises
    ------
    InvalidRequest
        For an index outside the board.
    """

    chatbot: int

    def weight(self, mean: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return the weight matrix; see `Target.weight`."""
        M = len(mean)
        if not 0 <= self.chatbot < M or M < 2:
            raise InvalidRequest(
                f"entrant {self.chatbot} on a board of {M}", code="bad_target", hint="give an index of the chatbots"
            )
        contrast = np.full(M, -1.0 / (M - 1))
        contrast[self.chatbot] = 1.0
        return np.outer(contrast, contrast)


@dataclass(frozen=True, slots=True)
class CombinedTarget:
    """Two targets at once, each relative to what is left of it.

    W = share W_1 / trace(W_1 Sigma) + (1 - share) W_2 / trace(W_2 Sigma), whose fall is that of share log trace_1 +
    (1 - share) log trace_2. A target of which nothing is left leaves all to the other.

    Parameters
    ----------
    first, second : Target
        The targets.
    share : float
        Weight of the first, from 0 to 1.

    Raises
    ------
    InvalidRequest
        Unless 0 <= share <= 1.
    """

    first: Target
    second: Target
    share: float = 0.5

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        if not (math.isfinite(self.share) and 0.0 <= self.share <= 1.0):
            raise InvalidRequest(f"share {self.share}", code="bad_target", hint="give a share from 0 to 1")

    def weight(self, mean: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return the weight matrix; see `Target.weight`."""
        total = np.zeros_like(covariance)
        for target, share in ((self.first, self.share), (self.second, 1.0 - self.share)):
            W = target.weight(mean, covariance)
            left = float(np.sum(W * covariance))
            if left > 0.0:
                total += share / left * W
        return total


def decision_weights(mean: FloatArray, covariance: FloatArray, level: float) -> FloatArray:
    """Return the weights p(z) / v of `RankingTarget` for all pairs low < high.

    Parameters
    ----------
    mean : ndarray of float, shape (M,)
        Abilities.
    covariance : ndarray of float, shape (M, M)
        Their covariance.
    level : float
        Level at which pairs are decided.

    Returns
    -------
    ndarray of float, shape (N,)
        Weights; 0 for decided pairs.
    """
    low, high = np.triu_indices(len(mean), 1)
    variance = pair_variances(covariance, low, high)
    z = np.abs(standardised(mean[high] - mean[low], np.sqrt(variance)))
    critical = quantile(level)
    ahead = np.sqrt(2.0) * np.minimum(z, critical)  # a certain pair has an infinite z, and no weight
    chance = ndtr(ahead - critical) + ndtr(-ahead - critical)
    undecided = (z < critical) & (variance > 0.0)
    weights: FloatArray = np.divide(chance, variance, out=np.zeros_like(chance), where=undecided)
    return weights


def laplacian(chatbots: int, weights: FloatArray) -> FloatArray:
    """Return sum_p w_p x_p x_p' for x_p = e_high - e_low.

    Parameters
    ----------
    chatbots : int
        Number of chatbots M.
    weights : ndarray of float, shape (N,)
        Weights w_p in the order of `numpy.triu_indices`.

    Returns
    -------
    ndarray of float, shape (M, M)
        The weighted graph Laplacian.
    """
    low, high = np.triu_indices(chatbots, 1)
    W = np.zeros((chatbots, chatbots))
    W[low, high] = -weights
    W += W.T
    W[np.diag_indices(chatbots)] = -W.sum(axis=1)
    return W
