"""Fisher information of one vote, looked up over a grid of theta.

Notation as in `expected_precision`: D campaigns, N pairs, K classes of prompts, G points of the grid.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from irt_engine.arrays import FloatArray
from irt_engine.quadrature import normal_nodes
from scheduler.forecasting.inputs import ForecastInputs

THETA_GRID = np.linspace(-9.0, 9.0, 145)  # of theta
_CELL_NODES = 5
_TINY = 1e-12


class VoteInformation(NamedTuple):
    """Store the Fisher information of one more vote about (theta, log alpha, log t), by entry.

    Parameters
    ----------
    theta, theta_slope, theta_width, slope, slope_width, width : ndarray of float, shape (D, N, K)
        The entries of the symmetric matrix.
    alone : ndarray of float, shape (D, N, K)
        As `theta`, for the only vote on its prompt: averaged over the prompt's discrimination.
    """

    theta: FloatArray
    theta_slope: FloatArray
    theta_width: FloatArray
    slope: FloatArray
    slope_width: FloatArray
    width: FloatArray
    alone: FloatArray  # as theta, of a vote that is the only one on its prompt: averaged over its discrimination


def vote_tables(alpha: FloatArray, half_width: float, cell_sd: float, unknown: float) -> VoteInformation:
    """Return the information of one vote over the grid, with the cell effect integrated out.

    With u = alpha theta and w = alpha t a vote has P(B) = sigma(u - w + e) and P(A) = sigma(-u - w - e). I = D' G D for
    the information G about (u, w), and D = d(u, w) / d(theta, log alpha, log t).

    Parameters
    ----------
    alpha : ndarray of float, shape (K,)
        Discriminations of the classes.
    half_width : float
        Half-width t of ties.
    cell_sd : float
        SD of the cell effect e, in logits.
    unknown : float
        SD of log alpha around each class.

    Returns
    -------
    VoteInformation
        Entries of shape (G, K).
    """
    u, w = THETA_GRID[:, None] * alpha, alpha * half_width
    uu, uw, ww = _of_vote(THETA_GRID[:, None], alpha, half_width, cell_sd, 0.0)
    return VoteInformation(
        theta=alpha**2 * uu,
        theta_slope=alpha * (u * uu + w * uw),
        theta_width=alpha * w * uw,
        slope=u**2 * uu + 2.0 * u * w * uw + w**2 * ww,
        slope_width=w * (u * uw + w * ww),
        width=w**2 * ww,
        alone=alpha**2 * _of_vote(THETA_GRID[:, None], alpha, half_width, cell_sd, unknown)[0],
    )


def _of_vote(
    theta: FloatArray, alpha: FloatArray, half_width: float, cell_sd: float, unknown: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """G of a vote: (u, u), (u, w), (w, w), where log alpha is only known to have this SD."""
    u, w = theta * alpha, alpha * half_width
    b = a = slope_b = slope_a = np.zeros_like(u)
    scatter = zip(*normal_nodes(_CELL_NODES), strict=True) if unknown else [(0.0, 1.0)]
    for value, share in scatter:
        times = math.exp(unknown * value)
        for node, weight in zip(*normal_nodes(_CELL_NODES), strict=True):
            over, under = expit(times * (u - w) + cell_sd * node), expit(times * (-u - w) - cell_sd * node)
            b, a = b + share * weight * over, a + share * weight * under
            slope_b = slope_b + share * weight * times * over * (1.0 - over)
            slope_a = slope_a + share * weight * times * under * (1.0 - under)
    of_b, of_a, tie = slope_b**2 / b, slope_a**2 / a, np.maximum(1.0 - a - b, _TINY)
    uu = of_b + of_a + (slope_a - slope_b) ** 2 / tie
    uw = of_a - of_b + (slope_a**2 - slope_b**2) / tie
    ww = of_b + of_a + (slope_a + slope_b) ** 2 / tie
    return uu, uw, ww


def further_votes_factor(theta: FloatArray, alpha: FloatArray, inputs: ForecastInputs) -> FloatArray:
    """Return the information of an item's overlap votes together, relative to its first vote.

    Votes of an item have the cell effect and both replies in common. After k of them the next has 1 / (1 + k i v)^2 of
    the first one's information (see `belief`).

    Parameters
    ----------
    theta : ndarray of float, shape (G, K)
        Information of a first vote.
    alpha : ndarray of float, shape (K,)
        Discriminations of the classes.
    inputs : ForecastInputs
        Overlap and scales.

    Returns
    -------
    ndarray of float, shape (G, K)
        The factor.
    """
    overlap, shared = inputs.overlap, theta * (inputs.cell_sd / alpha) ** 2
    after = np.arange(1, overlap.votes)[:, None, None]
    told: FloatArray = 1.0 + overlap.share * (1.0 / (1.0 + after * shared) ** 2).sum(axis=0)
    return told


def interpolated(table: FloatArray, place: FloatArray) -> FloatArray:
    """Return a table at places between its grid points.

    Parameters
    ----------
    table : ndarray of float, shape (G, K)
        The table.
    place : ndarray of float, shape (D, N)
        Places on the grid.

    Returns
    -------
    ndarray of float, shape (D, N, K)
        Values.
    """
    left = place.astype(np.int64)
    found: FloatArray = np.diff(table, axis=0, append=table[-1:]).take(left, axis=0)
    found *= (place - left)[..., None]
    found += table.take(left, axis=0)
    return found
