"""Arguments and results of the kernels: plain tuples of arrays, the same for both kinds of kernels.

Notation (see `models.graded_response`): a slot's P parameters are phi = (log alpha, [location], log gaps). Edge c of a
cell is x_c = alpha (theta - b_c), c = 0..E - 1. q is the Gaussian approximation. Its expectations are means over Q
sigma points, with phi first and theta last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray, IntArray

LARGEST_EDGE = 150.0  # either way of alpha theta and alpha b_c: their exponentials, and products of two, are finite
SMALLEST_GAP = 1e-7  # between edges: two thresholds never quite meet, so that no category has probability 0
LARGEST_GAP = 700.0  # its exponential is finite
LEAST_CHANCE = 1e-300  # its logarithm is finite
NODES = 9  # of the quadrature over the cell effect
MOST_FEW = 3  # votes in a cell: up to here outcomes are few enough to go through all of them
MOST_COUNTED = 8  # votes of a pooled cell: three votes of annotators with effects may count as more
ADAPTIVE_FROM = 7  # votes in a cell: from here the quadrature is centred on where its votes put the cell effect
NEWTON_STEPS = 8  # toward that centre


class CellData(NamedTuple):
    """Store n cells, sorted by slot, for the kernels.

    Parameters
    ----------
    starts : ndarray of int, shape (J + 1,)
        First cell of each slot.
    theta : ndarray of float, shape (n,)
        Means of theta.
    counts : ndarray of float, shape (n, 1) or (n, 3)
        Category of a net rating, or votes (A better, tie, B better).
    weight : ndarray of float, shape (n,)
        Number of equal cells.
    repeated : ndarray of bool, shape (n,)
        Cells from which the SD of the cell effect is estimated.
    col : ndarray of int, shape (n, k)
        Columns of the shared parameters.
    coef : ndarray of float, shape (n, k)
        Their coefficients.
    replies : ndarray of int, shape (n, 2) or (n, 0)
        Columns of the replies, counted from P, or -1.
    """

    starts: IntArray  # (J + 1,) where each slot's cells begin
    theta: FloatArray  # (n,) means
    counts: FloatArray  # (n, 1) category of a net rating, or (n, 3) votes: A better, tie, B better
    weight: FloatArray  # (n,)
    repeated: BoolArray  # (n,) cells from which the SD of the cell effect is learned
    col: IntArray  # (n, k) columns of the shared parameters
    coef: FloatArray  # (n, k)
    replies: IntArray  # (n, 2) columns of a cell's replies, counted from P, or -1; (n, 0) without reply effects


class SlotData(NamedTuple):
    """Store the parameters of J slots and the shape of their thresholds.

    Parameters
    ----------
    phi : ndarray of float, shape (J, P)
        Means, with the common log gaps.
    spread : ndarray of float, shape (E, G)
        Weights of the gaps in the thresholds.
    located : bool
        Whether a slot has a location.
    points : ndarray of float, shape (Q, P + 1)
        Sigma points of equal weight; the single point 0 evaluates at the mean.
    """

    phi: FloatArray  # (J, P) means, the common log gaps included
    spread: FloatArray  # (E, G) how the gaps add up to the thresholds
    located: bool
    points: FloatArray  # (Q, P + 1) sigma points of equal weight; one point, 0, asks at the mean alone


class Approximation(NamedTuple):
    """Store the covariances of q for the evaluated slots. They are unused at the mean.

    Parameters
    ----------
    averaged : bool
        Whether expectations are taken.
    shared : ndarray of float, shape (S, S)
        Of the shared parameters.
    cross : ndarray of float, shape (slots, W, S)
        Of phi, followed by replies, with the shared parameters.
    slot : ndarray of float, shape (slots, W, W)
        Of phi and replies.
    """

    averaged: bool
    shared: FloatArray  # (S, S) of the shared parameters
    cross: FloatArray  # (slots, W, S) of phi, and of replies behind it, with the shared parameters
    slot: FloatArray  # (slots, W, W) of phi and replies


class CellEffect(NamedTuple):
    """Store the quadrature over the cell effect, and over the discriminations of pooled prompts.

    Parameters
    ----------
    nodes, weights : ndarray of float, shape (N,)
        Rule for e / sd with e ~ N(0, sd^2).
    sd : float
        SD of the cell effect, in logits.
    slopes, slope_weights : ndarray of float, shape (L,)
        Factors of the discrimination and their weights; a single 1 in slots with own parameters.
    """

    nodes: FloatArray  # (N,) e / sd
    weights: FloatArray  # (N,)
    sd: float
    slopes: FloatArray  # (L,) factors of the discrimination; one, 1, where it is a slot's own
    slope_weights: FloatArray  # (L,)


class KernelResults(NamedTuple):
    """Store the results of the kernels.

    Parameters
    ----------
    d_theta : ndarray of float, shape (n,)
        Expected gradient of the log likelihood by theta.
    d_phi : ndarray of float, shape (J, P)
        Expected gradient by the parameters, weighted and summed by slot.
    i_theta : ndarray of float, shape (n,)
        Information about theta.
    cross : ndarray of float, shape (n, P)
        Information between theta and phi.
    i_phi : ndarray of float, shape (J, P, P)
        Information about phi, weighted and summed by slot.
    sums : ndarray of float, shape (J, 3)
        Log likelihood, its derivative by the log SD of the cell effect, and the squares of that.
    """

    d_theta: FloatArray  # (n,)
    d_phi: FloatArray  # (J, P)
    i_theta: FloatArray  # (n,)
    cross: FloatArray  # (n, P) theta x phi
    i_phi: FloatArray  # (J, P, P)
    sums: FloatArray  # (J, 3) log-likelihood, its derivative by the log SD of the cell effect, its squares


def empty_terms(cells: int, slots: int, parameters: int) -> KernelResults:
    """Return uninitialised results for the kernels.

    Parameters
    ----------
    cells, slots, parameters : int
        Numbers n, J and P.

    Returns
    -------
    KernelResults
        Arrays to be filled.
    """
    n, J, P = cells, slots, parameters
    return KernelResults(
        np.empty(n), np.empty((J, P)), np.empty(n), np.empty((n, P)), np.empty((J, P, P)), np.empty((J, 3))
    )


class SlotInformation(NamedTuple):
    """Store the information of cells, from which the blocks of the precision follow.

    Parameters
    ----------
    starts : ndarray of int, shape (J + 1,)
        First cell of each slot.
    col : ndarray of int, shape (n, k)
        Columns of the shared parameters.
    coef : ndarray of float, shape (n, k)
        Their coefficients.
    replies : ndarray of int, shape (n, 2) or (n, 0)
        Columns of the replies, counted from P, or -1.
    i_theta : ndarray of float, shape (n,)
        Of theta.
    cross : ndarray of float, shape (n, P)
        Between theta and phi.
    i_phi : ndarray of float, shape (J, P, P)
        Of phi.
    first_gap : int
        First log gap in phi; the common log gaps are the last shared parameters.
    """

    starts: IntArray  # (J + 1,) where each slot's cells begin
    col: IntArray  # (n, k) columns of the shared parameters
    coef: FloatArray  # (n, k)
    replies: IntArray  # (n, 2) columns of a cell's replies, counted from P, or -1; (n, 0) without reply effects
    i_theta: FloatArray  # (n,)
    cross: FloatArray  # (n, P) theta x phi
    i_phi: FloatArray  # (J, P, P)
    first_gap: int  # where the log gaps begin in phi; the common ones are the last shared parameters
