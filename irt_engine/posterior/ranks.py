"""Ranks and classes of the chatbots of a group."""

from __future__ import annotations

import numpy as np

from irt_engine.arrays import FloatArray, IntArray
from irt_engine.posterior.differences import normal_draws

_RANK_DRAWS = 1 << 14


def rank_probabilities_of(ability: FloatArray, covariance: FloatArray, group: IntArray) -> FloatArray:
    """Return the probability of each rank.

    Every draw is used together with its mirror image, so that negating all abilities reverses the ranks exactly. With 2
    x 16,384 draws the error is about .005.

    Parameters
    ----------
    ability : ndarray of float, shape (M,)
        Abilities.
    covariance : ndarray of float, shape (M, M)
        Their covariance.
    group : ndarray of int, shape (M,)
        Groups.

    Returns
    -------
    ndarray of float, shape (M, M)
        P(chatbot has rank r + 1 in its group); rows sum to 1.
    """
    M = len(ability)
    found = np.zeros((M, M))
    for g in range(1, int(group.max(initial=0)) + 1):
        members = np.flatnonzero(group == g)
        counts = np.zeros(len(members) ** 2, np.int64)
        for chunk in normal_draws(covariance[np.ix_(members, members)], _RANK_DRAWS):
            for sign in (1.0, -1.0):
                order = np.argsort(-(ability[members] + sign * chunk), axis=1, kind="stable")
                place = order * len(members) + np.arange(len(members))
                counts += np.bincount(place.ravel(), minlength=len(counts))
        share = counts.reshape(len(members), len(members)) / counts[: len(members)].sum()
        found[np.ix_(members, np.arange(len(members)))] = share
    return found


def classes_of(ability: FloatArray, interval: FloatArray, group: IntArray) -> IntArray:
    """Return the class of each chatbot inside its group.

    In order of ability, the strongest chatbot opens a class. The next ones join while their upper bound reaches its
    lower bound; otherwise they open the next class.

    Parameters
    ----------
    ability : ndarray of float, shape (M,)
        Abilities.
    interval : ndarray of float, shape (M, 2)
        Lower and upper bounds.
    group : ndarray of int, shape (M,)
        Groups.

    Returns
    -------
    ndarray of int, shape (M,)
        Class numbers; 1 is the strongest.
    """
    found = np.zeros(len(ability), np.int64)
    for g in range(1, int(group.max(initial=0)) + 1):
        members = np.flatnonzero(group == g)
        number, reach = 0, np.inf
        for m in members[np.argsort(-ability[members], kind="stable")]:
            if interval[m, 1] < reach:
                number, reach = number + 1, interval[m, 0]
            found[m] = number
    return found
