"""Sums over all pairs of many campaigns in numpy, for `expected_precision`: used until `kernels` is compiled.

Each function has the arguments and the result of its namesake in `kernels`. A test compares them.
"""

from __future__ import annotations

import numpy as np

from irt_engine.arrays import FloatArray, IntArray
from scheduler.forecasting.matrices import class_sums
from scheduler.forecasting.vote_information import interpolated

_TINY = 1e-12
_ROUNDING = 1e-9
_CACHED_PAIRS = 1_500  # pairs worked on together, so that their arrays stay in the processor's cache
_THETA, _THETA_SLOPE, _THETA_WIDTH, _SLOPE, _SLOPE_WIDTH, _WIDTH, _ALONE = range(7)


def information_at(
    votes: FloatArray, place: FloatArray, table: FloatArray, steps: FloatArray
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
    theta, K = interpolated(table, place), len(steps)
    typical = class_sums(theta) / K
    to_mean = 1.0 / np.maximum(typical, _TINY)
    relative = class_sums((to_mean[..., None] * theta - (to_mean * typical)[..., None]) ** 2) / K
    trend = theta @ steps / K
    return theta, class_sums(votes * theta), typical, relative, relative - (to_mean * trend) ** 2


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
    low, high = _incidence(ends, chatbots)
    total: FloatArray = values @ (low + high)
    return total


def spread_over_classes(
    wanted: FloatArray, picked: float, theta: FloatArray, votes: FloatArray, room: FloatArray, size: float
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
    left = room - votes
    total = np.maximum(class_sums(left), _TINY)
    given = ((1.0 - picked) * wanted / total)[..., None] * left
    left = left - given
    items = np.maximum(class_sums(np.minimum(room, size)), _TINY)
    turns = np.ceil((class_sums(votes) + wanted) / items - _ROUNDING)
    order = np.argsort(-theta, axis=-1, kind="stable")
    rest = picked * wanted
    for limit in ((turns * size)[..., None] - votes - given, np.full_like(left, np.inf)):
        if not (rest > 0.0).any():
            break
        open_ = np.take_along_axis(np.maximum(np.minimum(left, limit), 0.0), order, axis=-1)
        before = np.cumsum(open_, axis=-1) - open_
        in_order = np.clip(rest[..., None] - before, 0.0, open_)
        more = np.empty_like(in_order)
        np.put_along_axis(more, order, in_order, axis=-1)
        given, left, rest = given + more, left - more, rest - class_sums(more)
    return given


def mix_classes(values: FloatArray, stay: float) -> None:
    """Keep a share of each class's values, and spread the rest over all classes, in place.

    Parameters
    ----------
    values : ndarray of float, shape (D, N, K)
        Values.
    stay : float
        Share that stays.
    """
    mean = class_sums(values)[..., None] / values.shape[-1]
    values *= stay
    values += (1.0 - stay) * mean


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
    D, _, K = votes.shape
    left = place.astype(np.int64)
    part = (place - left)[..., None]
    cell = ((np.arange(D)[:, None] * points + left)[..., None] * K + np.arange(K)).ravel()
    cells = D * points * K
    low = np.bincount(cell, weights=((1.0 - part) * votes).ravel(), minlength=cells)
    high = np.bincount(cell + K, weights=(part * votes).ravel(), minlength=cells)
    return np.asarray(low + high, dtype=np.float64).reshape(D, points, K)


def add_board_information(
    votes: FloatArray,
    place: FloatArray,
    tables: FloatArray,
    ends: IntArray,
    roots: FloatArray,
    size: float,
    alone: float,
    noise: FloatArray,
    pair_variance: FloatArray,
    S: FloatArray,
    common: FloatArray,
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
    N, last = len(ends[0]), S.shape[1] - 1
    low, high = _incidence(ends, last)
    apart = high - low  # (N, M) the contrast x of each pair
    several = max(1, _CACHED_PAIRS // N)
    for first in range(0, len(votes), several):
        some = slice(first, first + several)
        told = _interpolated_entries(tables, place[some])
        sums, met = _pair_information(votes[some], told, roots[:, some, None], size, alone)
        about = sums[0] * noise[some]
        ceiling = 1.0 / (1.0 + about * pair_variance[some])
        part = ceiling * np.sqrt(noise[some])
        _add_contrasts(S[some], ends, about * ceiling)
        S[some, :last, last] += (sums[1] * part) @ apart
        S[some, last, last] += sums[2].sum(axis=1)
        for i in range(2):
            common[some, i, :last] += apart.T @ (part[..., None] * met[i])
            common[some, i, last] += met[2 + i].sum(axis=1)
    S[:, last, :last] = S[:, :last, last]


def _interpolated_entries(tables: FloatArray, place: FloatArray) -> list[FloatArray]:
    """Return the 7 entries (D, N, K) of the information of a vote at each pair's place."""
    rows = interpolated(tables.reshape(len(tables), -1), place).reshape(*place.shape, *tables.shape[1:])
    return [rows[:, :, entry] for entry in range(tables.shape[1])]


def _pair_information(
    votes: FloatArray, told: list[FloatArray], roots: FloatArray, size: float, alone: float
) -> tuple[list[FloatArray], tuple[FloatArray, ...]]:
    """What the votes of each pair add: three sums (D, N) as in the compiled kernel, and f L^-1 c, four (D, N, K)."""
    f = votes / size
    spend = votes * np.maximum(1.0 - f, 0.0) * (1.0 - alone)
    x = told[_THETA_SLOPE] * roots[0]
    y = (told[_THETA_WIDTH] - roots[1] * told[_THETA_SLOPE]) * roots[2]
    u = told[_SLOPE_WIDTH] * roots[0]
    w = (told[_WIDTH] - roots[1] * told[_SLOPE_WIDTH]) * roots[2]
    theta = told[_THETA] + alone * (told[_ALONE] - told[_THETA])
    sums = (
        votes * theta - spend * (x * x + y * y),
        votes * told[_THETA_WIDTH] - spend * (x * u + y * w),
        votes * told[_WIDTH] - spend * (u * u + w * w),
    )
    return [class_sums(one) for one in sums], (f * x, f * y, f * u, f * w)


def _add_contrasts(S: FloatArray, ends: IntArray, weight: FloatArray) -> None:
    """Add weight x x' of every pair to S, x = e_high - e_low."""
    low, high = ends
    across = np.zeros_like(S)
    across[:, low, high] = weight
    across[:, high, low] = weight
    S -= across
    at = np.arange(S.shape[1])
    S[:, at, at] += across.sum(axis=-1)


def _incidence(ends: IntArray, chatbots: int) -> tuple[FloatArray, FloatArray]:
    """(N, M) whether a chatbot is the lower, and whether it is the higher, of a pair."""
    low, high = np.eye(chatbots)[ends[0]], np.eye(chatbots)[ends[1]]
    return low, high
