"""Two rankings by abilities alone, to be beaten: Bradley-Terry with half wins, and Davidson's model of ties (1970).

Both get what the engine gets: a normal prior on the abilities whose SD is learned from the training votes alone (the
maximum of the Laplace marginal likelihood, by MacKay's iteration as in `irt_engine.models.effects`), and predictions
averaged over the posterior of the difference. Davidson: P(b) : P(tie) : P(a) = e^(d/2) : nu : e^(-d/2), d = s_b - s_a.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, softmax

from irt_engine import ResponseTable
from irt_engine.arrays import FloatArray, IntArray

_LOG_NU_SD = 3.0  # so weak that it only keeps votes without a tie finite
_ROUNDS = 500
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(21)


# Pairs low, high (C,) and their votes (C, 3): low better, tie, high better.
_Counted = tuple[IntArray, IntArray, FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Abilities (M,), log nu if ties have a category of their own, and their joint covariance."""

    ability: FloatArray
    log_nu: float | None
    covariance: FloatArray
    ability_sd: float

    def differences(self, a: IntArray, b: IntArray) -> FloatArray:
        """(n, nodes) s_b - s_a at the nodes of the posterior's quadrature."""
        C = self.covariance
        se = np.sqrt(np.maximum(C[a, a] + C[b, b] - 2.0 * C[a, b], 0.0))
        nodes: FloatArray = (self.ability[b] - self.ability[a])[:, None] + se[:, None] * _NODES
        return nodes

    def half_win(self, a: IntArray, b: IntArray) -> FloatArray:
        """(n,) P(b) + P(tie) / 2."""
        if self.log_nu is not None:
            p = self.probabilities(a, b)
            both: FloatArray = p[:, 2] + p[:, 1] / 2.0
            return both
        win: FloatArray = expit(self.differences(a, b)) @ (_WEIGHTS / _WEIGHTS.sum())
        return win

    def probabilities(self, a: IntArray, b: IntArray) -> FloatArray:
        """(n, 3) of a better, tie, b better; Davidson's only."""
        assert self.log_nu is not None, "Bradley-Terry has no ties"
        d = self.differences(a, b)
        p: FloatArray = softmax(np.stack([-d / 2, np.full_like(d, self.log_nu), d / 2], axis=-1), axis=-1)
        averaged: FloatArray = np.einsum("nqk,q->nk", p, _WEIGHTS / _WEIGHTS.sum())
        return averaged


def bradley_terry(votes: ResponseTable) -> Ranking:
    """A tie is half a win."""
    return _fit(votes, ties=False)


def davidson(votes: ResponseTable) -> Ranking:
    """A tie is a category of its own, as wide for every pair."""
    return _fit(votes, ties=True)


def _fit(votes: ResponseTable, *, ties: bool) -> Ranking:
    """MacKay's step of the ability SD after each mode, until it no longer moves."""
    M, counted = len(votes.chatbots), _counted(votes)
    x, sd = np.zeros(M + ties), 1.0
    for _ in range(_ROUNDS):
        x, covariance = _mode(x, sd, counted, ties=ties)
        determined = M - np.diag(covariance)[:M].sum() / sd**2
        new = min(max(float(np.sqrt(x[:M] @ x[:M] / max(determined, 1e-9))), 0.01), 10.0)
        if abs(new - sd) < 1e-8:
            return Ranking(x[:M], float(x[M]) if ties else None, covariance[:M, :M], sd)
        sd = new
    raise RuntimeError("a baseline's ability SD did not settle")


def _mode(x: FloatArray, sd: float, counted: _Counted, *, ties: bool) -> tuple[FloatArray, FloatArray]:
    """Newton's method from x: the mode, and the inverse of the precision there."""
    prior = np.r_[np.full(len(x) - ties, sd**-2.0), np.full(int(ties), _LOG_NU_SD**-2.0)]
    for _ in range(_ROUNDS):
        gradient, precision = _derivatives(x, counted, ties=ties)
        precision += np.diag(prior)
        step = np.linalg.solve(precision, gradient - prior * x)
        x = x + step * min(1.0, 2.0 / np.abs(step).max(initial=1e-300))
        if np.abs(step).max() < 1e-10:
            return x, np.linalg.inv(precision).astype(np.float64)
    raise RuntimeError("a baseline has no mode")


def _counted(votes: ResponseTable) -> _Counted:
    M = len(votes.chatbots)
    low, high = np.minimum(votes.a, votes.b), np.maximum(votes.a, votes.b)
    pairs, index = np.unique(low * M + high, return_inverse=True)
    toward = votes.outcome * np.where(votes.a < votes.b, 1, -1)
    counts = np.stack([np.bincount(index, toward == y, minlength=len(pairs)) for y in (-1, 0, 1)], axis=1)
    return pairs // M, pairs % M, counts.astype(np.float64)


def _derivatives(x: FloatArray, counted: _Counted, *, ties: bool) -> tuple[FloatArray, FloatArray]:
    """Of the log-likelihood: gradient and minus the Hessian."""
    low, high, counts = counted
    M, n = len(x) - ties, counts.sum(axis=1)
    d = x[high] - x[low]
    design = np.zeros((len(low), len(x)))
    rows = np.arange(len(low))
    design[rows, low], design[rows, high] = -1.0, 1.0
    if not ties:
        p = expit(d)
        pull = counts[:, 2] + counts[:, 1] / 2.0 - n * p
        return design.T @ pull, design.T @ ((n * p * (1.0 - p))[:, None] * design)
    p = softmax(np.stack([-d / 2, np.full_like(d, x[M]), d / 2], axis=1), axis=1)
    statistics = np.array([[-0.5, 0.0], [0.0, 1.0], [0.5, 0.0]])  # of each category: along d, along log nu
    mean = p @ statistics
    pull = counts @ statistics - n[:, None] * mean
    bend = np.einsum("ck,ka,kb->cab", p, statistics, statistics) - mean[:, :, None] * mean[:, None, :]
    bend *= n[:, None, None]
    gradient = design.T @ pull[:, 0]
    precision = design.T @ (bend[:, 0, 0, None] * design)
    gradient[M] = pull[:, 1].sum()
    precision[M] = precision[:, M] = design.T @ bend[:, 0, 1]
    precision[M, M] = bend[:, 1, 1].sum()
    return gradient, precision
