"""Gauss-Hermite quadrature over a standard normal variable (Abramowitz and Stegun 1964, 25.4.46)."""

from __future__ import annotations

from functools import cache

import numpy as np

from irt_engine.arrays import FloatArray, frozen

NODES = 7


@cache
def normal_nodes(count: int = NODES) -> tuple[FloatArray, FloatArray]:
    """Return the Gauss-Hermite rule for expectations under a standard normal distribution.

    Parameters
    ----------
    count : int
        Number of nodes.

    Returns
    -------
    tuple of ndarray of float, shape (count,)
        Nodes and weights; read-only.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    return frozen(nodes, np.float64), frozen(weights / weights.sum(), np.float64)
