"""Compiled sums over all pairs of many campaigns, for `expected_precision`: one pass instead of a hundred array passes.

Notation as there: D campaigns, N pairs of M chatbots, K classes of prompts. The information of a vote is a table
(G, 7, K) over a grid of theta; its seven entries are in the order of `vote_information.VoteInformation`. A pair lies at
place (D, N) of the grid, counted in grid steps. Between two grid points the table is interpolated linearly.
"""

from __future__ import annotations

import numpy as np

from irt_engine.arrays import FloatArray, IntArray
from irt_engine.compilation import compiled

ENTRIES = 7
_TINY = 1e-12
_ROUNDING = 1e-9
_K = 5  # `inputs.CLASSES`: known when this is compiled, so that loops over classes are unrolled
_EACH = 1.0 / _K  # what is divided by in loops is turned over before: a division takes as long as ten products
_THETA, _THETA_SLOPE, _THETA_WIDTH, _SLOPE, _SLOPE_WIDTH, _WIDTH, _ALONE = range(ENTRIES)


@compiled
def information_at(
    votes: FloatArray,  # (D, N, K)
    place: FloatArray,  # (D, N)
    table: FloatArray,  # (G, K) information on theta
    steps: FloatArray,  # (K,) where the classes lie among prompts, of mean square 1
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the information of votes at each pair's place on the grid.

    Parameters
    ----------
    votes : ndarray of float, shape (D, N, K)
        Votes.
    place : ndarray of float, shape (D, N)
        Places of the pairs on the grid of theta.
    table : ndarray of float, shape (G, K)
        Information of a vote over the grid.
    steps : ndarray of float, shape (K,)
        Positions of the classes for the linear trend.

    Returns
    -------
    theta : ndarray of float, shape (D, N, K)
        Information of the next vote about theta.
    known, typical, relative, steady : ndarray of float, shape (D, N)
        Information of all votes; mean of theta over the classes; its relative variance; and that variance without its
        linear trend.
    """
    D, N, _ = votes.shape
    theta, known, typical = np.empty((D, N, _K)), np.zeros((D, N)), np.zeros((D, N))
    relative, steady = np.zeros((D, N)), np.empty((D, N))
    for d in range(D):
        for p in range(N):
            left = int(place[d, p])
            part, trend = place[d, p] - left, 0.0
            for k in range(_K):
                theta[d, p, k] = table[left, k] + part * (table[left + 1, k] - table[left, k])
                known[d, p] += votes[d, p, k] * theta[d, p, k]
                typical[d, p] += _EACH * theta[d, p, k]
                trend += _EACH * theta[d, p, k] * steps[k]
            to_mean = 1.0 / max(typical[d, p], _TINY)
            for k in range(_K):
                relative[d, p] += _EACH * (to_mean * (theta[d, p, k] - typical[d, p])) ** 2
            steady[d, p] = relative[d, p] - (to_mean * trend) ** 2
    return theta, known, typical, relative, steady


@compiled
def chatbot_sums(values: FloatArray, ends: IntArray, chatbots: int) -> FloatArray:
    """Return sums over the pairs of each chatbot.

    Parameters
    ----------
    values : ndarray of float, shape (D, N)
        Values of the pairs.
    ends : ndarray of int, shape (2, N)
        The two chatbots of each pair.
    chatbots : int
        Number of chatbots M.

    Returns
    -------
    ndarray of float, shape (D, M)
        Sums.
    """
    total = np.zeros((len(values), chatbots))
    for d in range(len(values)):
        for p in range(values.shape[1]):
            total[d, ends[0, p]] += values[d, p]
            total[d, ends[1, p]] += values[d, p]
    return total


@compiled
def spread_over_classes(
    wanted: FloatArray,  # (D, N) votes
    picked: float,  # share of them that is picked
    theta: FloatArray,  # (D, N, K)
    votes: FloatArray,  # (D, N, K)
    room: FloatArray,  # (D, N, K)
    size: float,  # prompts in a class
) -> FloatArray:
    """Return votes by class of prompts, within the open items.

    Selected votes go to the classes with the largest information, the others to all classes. If items get several
    votes, those of a pair get them in turn.

    Parameters
    ----------
    wanted : ndarray of float, shape (D, N)
        Votes of each pair.
    picked : float
        Share of votes whose prompt is selected.
    theta : ndarray of float, shape (D, N, K)
        Information of the next vote.
    votes : ndarray of float, shape (D, N, K)
        Votes so far.
    room : ndarray of float, shape (D, N, K)
        Open votes.
    size : float
        Prompts per class.

    Returns
    -------
    ndarray of float, shape (D, N, K)
        Votes.
    """
    D, N, _ = theta.shape
    given, order, open_ = np.empty((D, N, _K)), np.empty(_K, np.int64), np.empty(_K)
    for d in range(D):
        for p in range(N):
            left, items, before = 0.0, 0.0, 0.0
            for k in range(_K):
                open_[k] = room[d, p, k] - votes[d, p, k]
                left += open_[k]
                items += min(room[d, p, k], size)
                before += votes[d, p, k]
            share = (1.0 - picked) * wanted[d, p] / max(left, _TINY)
            for k in range(_K):
                given[d, p, k] = share * open_[k]
                open_[k] -= given[d, p, k]
            _order(theta[d, p], order)
            turns = np.ceil((before + wanted[d, p]) / max(items, _TINY) - _ROUNDING)
            rest = picked * wanted[d, p]
            for most in (turns * size, np.inf):
                for i in range(_K):
                    k = order[i]
                    more = min(max(rest, 0.0), max(min(open_[k], most - votes[d, p, k] - given[d, p, k]), 0.0))
                    given[d, p, k] += more
                    open_[k] -= more
                    rest -= more
    return given


@compiled
def mix_classes(values: FloatArray, stay: float) -> None:
    """Keep a share of each class's values, and spread the rest over all classes, in place.

    Parameters
    ----------
    values : ndarray of float, shape (D, N, K)
        Values.
    stay : float
        Share that stays.
    """
    D, N, _ = values.shape
    for d in range(D):
        for p in range(N):
            mean = 0.0
            for k in range(_K):
                mean += _EACH * values[d, p, k]
            for k in range(_K):
                values[d, p, k] = stay * values[d, p, k] + (1.0 - stay) * mean


@compiled
def _order(values: FloatArray, order: IntArray) -> None:
    """order (K,) of few values, the largest first; equal ones stay as they are."""
    for k in range(_K):
        i = k
        while i > 0 and values[order[i - 1]] < values[k]:
            order[i] = order[i - 1]
            i -= 1
        order[i] = k


@compiled
def votes_on_grid(votes: FloatArray, place: FloatArray, points: int) -> FloatArray:
    """Return votes at the grid points around their pairs.

    Their product with a table is the information of all votes.

    Parameters
    ----------
    votes : ndarray of float, shape (D, N, K)
        Votes.
    place : ndarray of float, shape (D, N)
        Places of the pairs on the grid.
    points : int
        Number of grid points G.

    Returns
    -------
    ndarray of float, shape (D, G, K)
        Votes at the grid points.
    """
    D, N, _ = votes.shape
    total = np.zeros((D, points, _K))
    for d in range(D):
        for p in range(N):
            left = int(place[d, p])
            part = place[d, p] - left
            for k in range(_K):
                total[d, left, k] += (1.0 - part) * votes[d, p, k]
                total[d, left + 1, k] += part * votes[d, p, k]
    return total


@compiled
def add_board_information(
    votes: FloatArray,  # (D, N, K)
    place: FloatArray,  # (D, N)
    tables: FloatArray,  # (G, 7, K)
    ends: IntArray,  # (2, N) the lower and the higher of each pair
    roots: FloatArray,  # (3, D, K) of a prompt's block A: 1 / root of a, b / a, 1 / root of d - b^2 / a
    size: float,  # prompts in a class
    alone: float,  # share of votes that are the only ones on their prompt
    noise: FloatArray,  # (D, N) of a pair's information
    pair_variance: FloatArray,  # (D, 1)
    S: FloatArray,  # (D, M + 1, M + 1)      out: what the votes add to the precision, prompts not yet in common
    common: FloatArray,  # (D, 2, M + 1, K)  out: sum f x L^-1 c, for A = L L'
) -> None:
    """Add the precision of the abilities and of the common width, pair by pair, with the pair effects eliminated.

    Parameters
    ----------
    votes : ndarray of float, shape (D, N, K)
        Votes.
    place : ndarray of float, shape (D, N)
        Places of the pairs on the grid.
    tables : ndarray of float, shape (G, 7, K)
        Information of a vote over the grid.
    ends : ndarray of int, shape (2, N)
        The two chatbots of each pair.
    roots : ndarray of float, shape (3, D, K)
        Result of `cholesky_roots`.
    size : float
        Prompts per class.
    alone : float
        Weight of votes that are alone on their prompt.
    noise : ndarray of float
        Noise variance of the estimated scales.
    pair_variance : ndarray of float, shape (D, 1)
        Variance of the pair effects.
    S : ndarray of float, shape (D, M, M)
        Precision of the abilities; changed in place.
    common : ndarray of float
        Precision of the common width; changed in place.
    """
    D, N, _ = votes.shape
    last = S.shape[1] - 1
    told, met, sums = np.empty((ENTRIES, _K)), np.empty((4, _K)), np.empty(3)
    for d in range(D):
        for p in range(N):
            a, b = ends[0, p], ends[1, p]
            _interpolate(place[d, p], tables, told)
            _pair_information(votes[d, p], told, roots[:, d], 1.0 / size, alone, met, sums)
            about = sums[0] * noise[d, p]
            ceiling = 1.0 / (1.0 + about * pair_variance[d, 0])
            part = ceiling * np.sqrt(noise[d, p])  # of what crosses: so the whole stays positive definite
            _add_contrast(S[d], a, b, about * ceiling)
            S[d, b, last] += sums[1] * part
            S[d, a, last] -= sums[1] * part
            S[d, last, last] += sums[2]
            for i in range(2):
                for k in range(_K):
                    common[d, i, b, k] += part * met[i, k]
                    common[d, i, a, k] -= part * met[i, k]
                    common[d, i, last, k] += met[2 + i, k]
        for m in range(last):
            S[d, last, m] = S[d, m, last]


@compiled
def _interpolate(place: float, tables: FloatArray, told: FloatArray) -> None:
    """Write the information of a vote at this place into told (7, K)."""
    left = int(place)
    part = place - left
    for entry in range(ENTRIES):
        for k in range(_K):
            low = tables[left, entry, k]
            told[entry, k] = low + part * (tables[left + 1, entry, k] - low)


@compiled
def _pair_information(
    votes: FloatArray,  # (K,)
    told: FloatArray,  # (7, K)
    roots: FloatArray,  # (3, K)
    of_class: float,  # 1 / prompts in a class
    alone: float,
    met: FloatArray,  # (4, K)  out: f L^-1 c, two rows for c = I[theta, phi] and two for c = I[z, phi]
    sums: FloatArray,  # (3,)   out: information on theta, on theta and z, and on z, less what its prompts take away
) -> None:
    """What the votes of one pair add."""
    sums[:] = 0.0
    for k in range(_K):
        f = votes[k] * of_class
        spend = votes[k] * max(1.0 - f, 0.0) * (1.0 - alone)
        x = told[_THETA_SLOPE, k] * roots[0, k]
        y = (told[_THETA_WIDTH, k] - roots[1, k] * told[_THETA_SLOPE, k]) * roots[2, k]
        u = told[_SLOPE_WIDTH, k] * roots[0, k]
        w = (told[_WIDTH, k] - roots[1, k] * told[_SLOPE_WIDTH, k]) * roots[2, k]
        theta = told[_THETA, k] + alone * (told[_ALONE, k] - told[_THETA, k])
        sums[0] += votes[k] * theta - spend * (x * x + y * y)
        sums[1] += votes[k] * told[_THETA_WIDTH, k] - spend * (x * u + y * w)
        sums[2] += votes[k] * told[_WIDTH, k] - spend * (u * u + w * w)
        met[0, k], met[1, k], met[2, k], met[3, k] = f * x, f * y, f * u, f * w


@compiled
def _add_contrast(S: FloatArray, a: int, b: int, weight: float) -> None:
    """Add weight x x' to S (M, M), x = e_b - e_a."""
    S[a, a] += weight
    S[b, b] += weight
    S[a, b] -= weight
    S[b, a] -= weight
