"""The comparison graph: which chatbots are connected, and abilities centred within each connected part."""

from __future__ import annotations

import numpy as np

from irt_engine.arrays import FloatArray, IntArray


def groups_of(chatbots: int, low: IntArray, high: IntArray) -> IntArray:
    """(M,) group numbers from 1, larger parts first; equal sizes by their first chatbot.

    low, high (C,) are the ends of the comparisons. Every chatbot takes the least label within reach until no label
    changes: at most M rounds of O(C).
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
    """Ability minus its group's mean, and the covariance of that; a group of one keeps the prior's variance."""
    M = len(ability)
    same = (group[:, None] == group[None, :]).astype(np.float64)
    size = same.sum(axis=1)
    project = np.eye(M) - np.where((size > 1)[:, None], same / size[:, None], 0.0)
    cov = project @ covariance @ project.T
    mean = np.where(size > 1, project @ ability, 0.0)
    return mean, 0.5 * (cov + cov.T)
