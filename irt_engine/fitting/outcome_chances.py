"""Chances of the outcomes of careful votes, over the uncertainty of the cell effect.

With edges middle + half and middle - half, an outcome has the chance 1 - F0, F0 - F1, or F1 with
F0 = expit(middle + half) and F1 = expit(middle - half): the rating model of `models` in logits. The mean over a normal
effect of variance v is close to the same with all logits divided by sqrt(1 + k v), k = (16 sqrt 3 / (15 pi))^2
(Johnson, Kotz and Balakrishnan 1995, Continuous Univariate Distributions 2, section 23.2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from irt_engine.arrays import BoolArray, FloatArray, IntArray

LEAST_CHANCE = 1e-12
_PER_VARIANCE = (16.0 * np.sqrt(3.0) / (15.0 * np.pi)) ** 2


class OutcomeChances(NamedTuple):
    """Store the chances of the outcomes of n votes: low better, tie, high better.

    Parameters
    ----------
    p : ndarray of float, shape (3, n)
        Chances.
    by_middle : ndarray of float, shape (3, n)
        Derivatives by the middle.
    """

    p: FloatArray
    by_middle: FloatArray

    def by_width(self, half: FloatArray) -> FloatArray:
        """Return the derivatives by the log of the half width.

        Parameters
        ----------
        half : ndarray of float, shape (n,)
            Half width of the edges, in logits.

        Returns
        -------
        ndarray of float, shape (3, n)
            The derivatives.
        """
        low, _, high = self.by_middle
        return np.stack([low, high - low, -high]) * half

    def information(self, slope: FloatArray) -> FloatArray:
        """Return the expected information of a vote about one parameter.

        Parameters
        ----------
        slope : ndarray of float, shape (3, n)
            Derivatives of the chances by the parameter.

        Returns
        -------
        ndarray of float, shape (n,)
            The information.
        """
        low, tie, high = (each * each / chance for each, chance in zip(slope, self.p, strict=True))
        total: FloatArray = low + tie + high
        return total


def logistic_shrink(variance: FloatArray) -> FloatArray:
    """Return the factor of logits by which a logistic function is averaged over a normal effect.

    Parameters
    ----------
    variance : ndarray of float, shape (n,)
        Variances of the effects, in squared logits.

    Returns
    -------
    ndarray of float, shape (n,)
        Factors of at most 1.
    """
    factor: FloatArray = 1.0 / np.sqrt(1.0 + _PER_VARIANCE * variance)
    return factor


def edge_chances(middle: FloatArray, half: FloatArray, shrink: FloatArray | float) -> tuple[FloatArray, FloatArray]:
    """Return F0 and F1 of the module's equations.

    Parameters
    ----------
    middle, half : ndarray of float, shape (n,)
        Middle and half width of the edges, in logits.
    shrink : ndarray of float, shape (n,), or float
        Factor of the logits.

    Returns
    -------
    tuple of two ndarray of float, shape (n,)
        The chance of "tie or high better", and of "high better".
    """
    return expit((middle + half) * shrink), expit((middle - half) * shrink)


def outcome_chances(middle: FloatArray, half: FloatArray, shrink: FloatArray | float) -> OutcomeChances:
    """Return the chances of the three outcomes, at least `LEAST_CHANCE`, and their derivatives.

    Parameters
    ----------
    middle, half : ndarray of float, shape (n,)
        Middle and half width of the edges, in logits.
    shrink : ndarray of float, shape (n,), or float
        Factor of the logits.

    Returns
    -------
    OutcomeChances
        The chances and their derivatives.
    """
    F0, F1 = edge_chances(middle, half, shrink)
    p, by_middle = np.empty((3, len(F0))), np.empty((3, len(F0)))
    p[0], p[1], p[2] = 1.0 - F0, F0 - F1, F1
    by_middle[0], by_middle[2] = F0 * (F0 - 1.0) * shrink, F1 * (1.0 - F1) * shrink
    np.negative(by_middle[0] + by_middle[2], out=by_middle[1])
    return OutcomeChances(np.maximum(p, LEAST_CHANCE, out=p), by_middle)


def table_shares(outcome: IntArray, ordered: BoolArray) -> FloatArray:
    """Return the shares of the outcomes among all votes; without known orders, wins are divided in halves.

    Parameters
    ----------
    outcome : ndarray of int, shape (n,)
        0: the reply shown first wins, 1: tie, 2: the other wins.
    ordered : ndarray of bool, shape (n,)
        Whether the order is known.

    Returns
    -------
    ndarray of float, shape (3,)
        The shares, with one vote of each outcome more.
    """
    tie = ((outcome == 1).sum() + 1.0) / (len(outcome) + 3.0)
    decided = ordered & (outcome != 1)
    first = ((outcome[decided] == 0).sum() + 1.0) / (decided.sum() + 2.0)
    return np.array([(1.0 - tie) * first, tie, (1.0 - tie) * (1.0 - first)])
