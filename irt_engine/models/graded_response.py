"""Graded response model: probabilities, log likelihood and item information.

Notation: categories k = 0..6 are the net ratings u = k - 3. Edge c = 0..5 is the threshold of u >= c - 2. x_c = alpha
(theta - b_c) decreases in c; F_c = P(u >= c - 2) = sigma(x_c); f_c = F_c (1 - F_c); P_0 = 1 - F_0, P_k = F_{k-1} - F_k,
P_6 = F_5 (Samejima 1969; Sedoc and Ungar 2020, section 4.1).

Formulas use the ratios f_c / P_k, which stay finite where f_c and P_k both underflow.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit

from irt_engine.arrays import FloatArray, IntArray

CATEGORIES = 7
EDGES = 6
_LARGEST_X = 60.0  # sigma(-60) = 9e-27: far beyond any data, far from underflow
_SMALLEST_GAP = 1e-10  # two thresholds never quite meet, so that no category has probability 0
_LARGEST_GAP = 700.0  # e^700 is still finite


def edges(theta: FloatArray, alpha: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return the edges x_c = alpha (theta - b_c).

    Parameters
    ----------
    theta, alpha : ndarray of float, shape (...,)
        Ability differences and discriminations.
    thresholds : ndarray of float, shape (..., 6)
        Thresholds b.

    Returns
    -------
    ndarray of float, shape (..., 6)
        Edges, in logits.
    """
    x: FloatArray = alpha[..., None] * (theta[..., None] - thresholds)
    return x


def _bounded(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """x inside the safe range, and 1 - exp(-gap) (..., 5) from the gaps before they were bounded."""
    gap = np.maximum(x[..., :-1] - x[..., 1:], _SMALLEST_GAP)
    return np.clip(x, -_LARGEST_X, _LARGEST_X), -np.expm1(-gap)


def category_probabilities(theta: FloatArray, alpha: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return P(u = k - 3) for k = 0..6.

    Parameters
    ----------
    theta, alpha : ndarray of float, shape (...,)
        Ability differences and discriminations.
    thresholds : ndarray of float, shape (..., 6)
        Ascending thresholds.

    Returns
    -------
    ndarray of float, shape (..., 7)
        Probabilities.
    """
    x, rise = _bounded(edges(theta, alpha, thresholds))
    inner = expit(x[..., :-1]) * expit(-x[..., 1:]) * rise
    p = np.concatenate([expit(-x[..., :1]), inner, expit(x[..., -1:])], axis=-1)
    scaled: FloatArray = p / p.sum(axis=-1, keepdims=True)  # bounding x leaves the sum within 1e-9 of 1
    return scaled


def log_likelihood(x: FloatArray, category: IntArray) -> FloatArray:
    """Return the log probability of the observed categories.

    Parameters
    ----------
    x : ndarray of float, shape (n, 6)
        Edges; the result is exact wherever they are finite.
    category : ndarray of int, shape (n,)
        Observed categories 0..6.

    Returns
    -------
    ndarray of float, shape (n,)
        Log probabilities.
    """
    rows = np.arange(len(category))
    left, right = np.maximum(category - 1, 0), np.minimum(category, EDGES - 1)
    up = np.where(category > 0, log_expit(x[rows, left]), 0.0)
    down = np.where(category < CATEGORIES - 1, log_expit(-x[rows, right]), 0.0)
    inner = (category > 0) & (category < CATEGORIES - 1)
    gap = np.where(inner, np.maximum(x[rows, left] - x[rows, right], _SMALLEST_GAP), 1.0)
    total: FloatArray = up + down + np.where(inner, np.log(-np.expm1(-gap)), 0.0)
    return total


def _ratios(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """f (..., 6); above = f_c / P_{c+1}; below = f_c / P_c, each (..., 6).

    With g = x_c - x_{c+1} > 0 the edges of one category, f_c / P_{c+1} = 1 - F_c + 1 / (e^g - 1): no quotient of two
    small numbers, so it is right however far out the edges lie, and agrees with `log_likelihood` there.
    """
    F, G = expit(x), expit(-x)
    above, below = G.copy(), F.copy()  # the outermost categories: f_5 / P_6 = G_5 and f_0 / P_0 = F_0
    odds = 1.0 / np.expm1(np.clip(x[..., :-1] - x[..., 1:], _SMALLEST_GAP, _LARGEST_GAP))
    above[..., :-1] += odds
    below[..., 1:] += odds
    return F * G, above, below


def item_information(theta: FloatArray, alpha: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return the Fisher information about theta, I = sum_k (dP_k / dtheta)^2 / P_k.

    Parameters
    ----------
    theta, alpha : ndarray of float, shape (...,)
        Ability differences and discriminations.
    thresholds : ndarray of float, shape (..., E)
        Ascending thresholds.

    Returns
    -------
    ndarray of float, shape (...,)
        Information.

    References
    ----------
    F. Samejima (1969), Estimation of latent ability using a response pattern of graded scores, Psychometrika Monograph
    17.
    """
    f, above, below = _ratios(edges(theta, alpha, thresholds))
    total = (f * (above + below)).sum(axis=-1) - 2.0 * (f[..., 1:] * above[..., :-1]).sum(axis=-1)
    information: FloatArray = alpha**2 * np.maximum(total, 0.0)
    return information
