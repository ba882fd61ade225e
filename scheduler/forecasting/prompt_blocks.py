"""A prompt's own block of the precision, over (log discrimination, log tie width), for `expected_precision`."""

from __future__ import annotations

from typing import Any

import numpy as np

from irt_engine.arrays import FloatArray
from scheduler.forecasting.vote_information import THETA_GRID, VoteInformation

Blocks = tuple[FloatArray, FloatArray, FloatArray]
_SLOPE, _SLOPE_WIDTH, _WIDTH = (VoteInformation._fields.index(name) for name in ("slope", "slope_width", "width"))


def prompt_blocks(
    votes: FloatArray,
    place: FloatArray,
    tables: FloatArray,
    slope_sd: FloatArray,
    width_sd: float,
    size: float,
    kernels: Any,
) -> Blocks:
    """Return the entries of a prompt's block A: slope, slope and width, width.

    Parameters
    ----------
    votes : ndarray of float, shape (D, N, K)
        Votes of each pair on each class.
    place : ndarray of float, shape (D, N)
        Places of the pairs on the grid of theta.
    tables : ndarray of float, shape (G, 7, K)
        Information of a vote over the grid.
    slope_sd : ndarray of float, shape (D, 1)
        SD of the log discriminations.
    width_sd : float
        SD of the log tie widths.
    size : float
        Prompts of a class.
    kernels : module
        Result of `forecast_kernels`.

    Returns
    -------
    tuple of ndarray of float, shape (D, K)
        The three entries.

    Raises
    ------
    LinAlgError
        If a block is not positive definite, because so many votes exceed the precision of floats.
    """
    of_prompt = kernels.votes_on_grid(votes, place, len(THETA_GRID)) / size
    slope, both, width = (
        np.einsum("dgk,gk->dk", of_prompt, tables[:, entry]) for entry in (_SLOPE, _SLOPE_WIDTH, _WIDTH)
    )
    slope, width = slope + slope_sd**-2, width + width_sd**-2
    if not (slope * width > both**2).all():
        raise np.linalg.LinAlgError("a prompt's block is not positive")
    return slope, both, width


def cholesky_roots(blocks: Blocks) -> FloatArray:
    """Return 1 / root of a, b / a, and 1 / root of d - b^2 / a for A = [[a, b], [b, d]] = L L'.

    They give L^-1 c, so that c A^-1 c' is a sum of squares.

    Parameters
    ----------
    blocks : tuple of ndarray of float, shape (D, K)
        The result of `prompt_blocks`.

    Returns
    -------
    ndarray of float, shape (3, D, K)
        The roots.
    """
    a, b, d = blocks
    return np.stack([1.0 / np.sqrt(a), b / a, 1.0 / np.sqrt(d - b * b / a)])
