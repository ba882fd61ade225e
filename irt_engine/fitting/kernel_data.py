"""What the kernels of the everyday fit take and fill: plain tuples of arrays, the same for both kinds of kernels.

Notation (`models.graded_response` has the model): a slot's parameters are phi = (log alpha, [location], log gaps), P in
all; edge c of a cell is x_c = alpha (theta - b_c), E in all; q is the Gaussian approximation. Its expectations are
means over Q sigma points, which are laid out with phi first and theta last.
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
ADAPTIVE_FROM = 7  # votes in a cell: from here the quadrature is centred on where its votes put the cell effect
NEWTON_STEPS = 8  # toward that centre


class CellData(NamedTuple):
    """n cells, sorted by slot."""

    starts: IntArray  # (J + 1,) where each slot's cells begin
    theta: FloatArray  # (n,) means
    counts: FloatArray  # (n, 1) category of a net rating, or (n, 3) votes: A better, tie, B better
    weight: FloatArray  # (n,)
    repeated: BoolArray  # (n,) cells from which the SD of the cell effect is learned
    col: IntArray  # (n, k) columns of the shared parameters
    coef: FloatArray  # (n, k)
    replies: IntArray  # (n, 2) columns of a cell's replies, counted from P, or -1; (n, 0) without reply effects


class SlotData(NamedTuple):
    """The parameters of J slots, and the shape of their thresholds."""

    phi: FloatArray  # (J, P) means, the common log gaps included
    spread: FloatArray  # (E, G) how the gaps add up to the thresholds
    located: bool
    points: FloatArray  # (Q, P + 1) sigma points of equal weight; one point, 0, asks at the mean alone


class Approximation(NamedTuple):
    """Covariances of q for the slots that are asked; at the mean alone they are not looked at."""

    averaged: bool
    shared: FloatArray  # (S, S) of the shared parameters
    cross: FloatArray  # (slots, W, S) of phi, and of replies behind it, with the shared parameters
    slot: FloatArray  # (slots, W, W) of phi and replies


class CellEffect(NamedTuple):
    """Quadrature over the cell effect e ~ N(0, sd^2), and over discriminations of prompts that were met once."""

    nodes: FloatArray  # (N,) e / sd
    weights: FloatArray  # (N,)
    sd: float
    slopes: FloatArray  # (L,) factors of the discrimination; one, 1, where it is a slot's own
    slope_weights: FloatArray  # (L,)


class Terms(NamedTuple):
    """What the kernels fill: the expected gradient of the log-likelihood, weighted sums by slot, and information."""

    d_theta: FloatArray  # (n,)
    d_phi: FloatArray  # (J, P)
    i_theta: FloatArray  # (n,)
    cross: FloatArray  # (n, P) theta x phi
    i_phi: FloatArray  # (J, P, P)
    sums: FloatArray  # (J, 3) log-likelihood, its derivative by the log SD of the cell effect, its squares


def empty_terms(cells: int, slots: int, parameters: int) -> Terms:
    """Return terms to be filled."""
    n, J, P = cells, slots, parameters
    return Terms(np.empty(n), np.empty((J, P)), np.empty(n), np.empty((n, P)), np.empty((J, P, P)), np.empty((J, 3)))


class SlotInformation(NamedTuple):
    """What cells say about their slots and the shared parameters: the blocks of the precision follow from it."""

    starts: IntArray  # (J + 1,) where each slot's cells begin
    col: IntArray  # (n, k) columns of the shared parameters
    coef: FloatArray  # (n, k)
    replies: IntArray  # (n, 2) columns of a cell's replies, counted from P, or -1; (n, 0) without reply effects
    i_theta: FloatArray  # (n,)
    cross: FloatArray  # (n, P) theta x phi
    i_phi: FloatArray  # (J, P, P)
    first_gap: int  # where the log gaps begin in phi; the common ones are the last shared parameters
