"""Scores and information of the edges of cells with many votes, by adaptive quadrature.

From `ADAPTIVE_FROM` votes on, the nodes are centred on the mode of the cell effect given its votes, with the width of
the curvature there (Liu and Pierce 1994, Biometrika 81, 624-629). All probabilities are logarithms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from irt_engine.arrays import FloatArray

from .kernel_data import ADAPTIVE_FROM, NEWTON_STEPS, CellEffect
from .reference_ratings import EdgeSums


def many_votes(x: FloatArray, odds: FloatArray, counts: FloatArray, effect: CellEffect, observed: bool) -> EdgeSums:
    """Return the expectations of cells with many votes.

    Parameters
    ----------
    x : ndarray of float, shape (2, m, Q)
        Edges at the sigma points.
    odds : ndarray of float, shape (m, Q)
        exp(x_0 - x_1).
    counts : ndarray of float, shape (m, 3)
        Votes.
    effect : CellEffect
        Quadrature over the cell effect.
    observed : bool
        Return the observed information.

    Returns
    -------
    EdgeSums
        The terms of the edges.
    """
    votes, sd = _VoteCounts(*counts.T[:, :, None]), effect.sd
    centre, width = _centre(x, votes, sd)
    places = [centre + width * node for node in effect.nodes]
    logs = np.stack([_log_chance(x, votes, sd, z) for z in places])
    logs += np.stack([0.5 * (node**2 - z**2) for z, node in zip(places, effect.nodes, strict=True)])
    most = logs.max(axis=0)
    share = effect.weights[:, None, None] * width * np.exp(logs - most)
    P = share.sum(axis=0)
    share /= P
    F = np.stack([_chances(x, sd, z) for z in places], axis=1)  # (2, N, m, Q)
    mean = (share * F).sum(axis=1)
    low, high = votes.a + votes.t, votes.b + votes.t  # votes that say something of each edge
    score = np.stack([votes.t * (1.0 + odds) - low * mean[0], votes.b - votes.t * odds - high * mean[1]])
    by_sd = sd * sum(z * s * (high - low * F0 - high * F1) for z, s, F0, F1 in zip(places, share, *F, strict=True))
    log = np.log(P) + most - votes.t * np.log1p(odds)
    if observed:
        return EdgeSums(score, *_observed(share, F, mean, odds, votes), by_sd, log)
    return EdgeSums(score, *_expected(x, odds, votes, effect), by_sd, log)


class _VoteCounts(NamedTuple):
    """(m, 1) A better, tie, B better."""

    a: FloatArray
    t: FloatArray
    b: FloatArray


def _chances(x: FloatArray, sd: float, z: FloatArray) -> FloatArray:
    """F (2, m, Q) at the cell effect sd z."""
    chances: FloatArray = 1.0 / (1.0 + np.exp(-(x + sd * z)))
    return chances


def _log_chance(x: FloatArray, votes: _VoteCounts, sd: float, z: FloatArray) -> FloatArray:
    """log of the chance of the votes at the cell effect sd z, but for the ties' gap."""
    log_lost, log_short = -np.logaddexp(0.0, x + sd * z)
    log_F0, log_F1 = -np.logaddexp(0.0, -(x + sd * z))
    log: FloatArray = votes.a * log_lost + votes.t * (log_F0 + log_short) + votes.b * log_F1
    return log


def _centre(x: FloatArray, votes: _VoteCounts, sd: float) -> tuple[FloatArray, FloatArray]:
    """Mode and SD of e / sd given the votes, by damped Newton steps; 0 and 1 where votes are fewer."""
    centre, width = np.zeros(x.shape[1:]), np.ones(x.shape[1:])
    moves = np.broadcast_to(votes.a + votes.t + votes.b >= ADAPTIVE_FROM, centre.shape)
    for _ in range(NEWTON_STEPS if moves.any() else 0):
        F0, F1 = _chances(x, sd, centre)
        slope = sd * (-votes.a * F0 + votes.t * (1.0 - F0 - F1) + votes.b * (1.0 - F1)) - centre
        curve = sd**2 * ((votes.a + votes.t) * F0 * (1.0 - F0) + (votes.b + votes.t) * F1 * (1.0 - F1)) + 1.0
        centre = np.where(moves, centre + np.clip(slope / curve, -1.0, 1.0), 0.0)
        width = np.where(moves, curve**-0.5, 1.0)
    return centre, width


def _observed(
    share: FloatArray, F: FloatArray, mean: FloatArray, odds: FloatArray, votes: _VoteCounts
) -> tuple[FloatArray, FloatArray]:
    """-d2 log P / dx dx': what it is at a given cell effect, less the variance of the score over the effect."""
    apart = F - mean[:, None]
    meet, low, high = votes.t * odds * (1.0 + odds), votes.a + votes.t, votes.b + votes.t
    slope0, slope1 = (share * F * (1.0 - F)).sum(axis=1)
    info0 = low * slope0 + meet - low**2 * (share * apart[0] ** 2).sum(axis=0)
    info1 = high * slope1 + meet - high**2 * (share * apart[1] ** 2).sum(axis=0)
    return np.stack([info0, info1]), (-meet - low * high * (share * apart[0] * apart[1]).sum(axis=0))[None]


def _expected(x: FloatArray, odds: FloatArray, votes: _VoteCounts, effect: CellEffect) -> tuple[FloatArray, FloatArray]:
    """I - I 1 1' I / (1 / sd^2 + 1' I 1) with I that of the votes, averaged over the cell effect."""
    i00, i11, i01 = np.zeros((3, *odds.shape))
    for node, weight in zip(effect.nodes, effect.weights, strict=True):
        F0, F1 = _chances(x, effect.sd, node)
        i00 += weight * F0 * (1.0 - F0) * (1.0 + odds)
        i11 += weight * F1 * (1.0 - F1) * (1.0 + odds)
        i01 -= weight * F1 * (1.0 - F1) * (1.0 - F0 + odds)
    number, variance = votes.a + votes.t + votes.b, effect.sd**2
    i00, i11, i01 = number * i00, number * i11, number * i01
    along0, along1 = i00 + i01, i11 + i01
    taken = variance / (1.0 + variance * (along0 + along1))
    return np.stack([i00 - taken * along0**2, i11 - taken * along1**2]), (i01 - taken * along0 * along1)[None]
