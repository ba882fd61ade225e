"""Comparison graph: its connected components, and abilities centred within each of them."""

from __future__ import annotations

import numpy as np

from irt_engine.arrays import FloatArray, IntArray


def groups_of(chatbots: int, low: IntArray, high: IntArray) -> IntArray:
    """Return the connected components of the comparison graph.

    Every chatbot takes the least label of its neighbours until no label changes: at most M rounds of O(C).

    Parameters
    ----------
    chatbots : int
        Number of chatbots M.
    low, high : ndarray of int, shape (C,)
        The two chatbots of each comparison.

    Returns
    -------
    ndarray of int, shape (M,)
        Group numbers from 1, by decreasing size; equal sizes by their first chatbot.
    """
    label = np.arange(chatbots)
    while True:
        least = np.minimum(label[low], label[high])
        new = label.copy()
        np.minimum.at(new, low, least)
        np.minimum.at(new, high, least)
        new = new[new]
        if np.array_equal(new, label):
            break
        label = new
    roots, part, size = np.unique(label, return_inverse=True, return_counts=True)
    order = np.lexsort((roots, -size))
    number = np.empty(len(roots), np.int64)
    number[order] = np.arange(1, len(roots) + 1)
    group: IntArray = number[part]
    return group


def centred(ability: FloatArray, covariance: FloatArray, group: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the abilities minus the mean of their group, and their covariance.

    Parameters
    ----------
    ability : ndarray of float, shape (M,)
        Abilities.
    covariance : ndarray of float, shape (M, M)
        Their covariance.
    group : ndarray of int, shape (M,)
        Group of each chatbot.

    Returns
    -------
    tuple of ndarray of float, shapes (M,) and (M, M)
        A group of one stands at 0 and keeps its variance.
    """
    M = len(ability)
    same = (group[:, None] == group[None, :]).astype(np.float64)
    size = same.sum(axis=1)
    project = np.eye(M) - np.where((size > 1)[:, None], same / size[:, None], 0.0)
    cov = project @ covariance @ project.T
    mean = np.where(size > 1, project @ ability, 0.0)
    return mean, 0.5 * (cov + cov.T)
