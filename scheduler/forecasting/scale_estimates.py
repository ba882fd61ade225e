"""How estimated scales deviate from their values, for `expected_precision`."""

from __future__ import annotations

import numpy as np

from irt_engine.arrays import FloatArray
from irt_engine.models.effects import TIGHT

# Of the estimated log SD of log discriminations while prompts are hardly known: a fit that sees a vote or two of each
# makes them more alike than they are, as penalised quasi-likelihood does. Measured on campaigns of 6 x 80 and 10 x 100.
_BIAS = -0.6


def slope_sd_bias(information: FloatArray, reliability: float) -> FloatArray:
    """Return the bias of the estimated log SD of log discriminations.

    Parameters
    ----------
    information : ndarray of float, shape (D, 1)
        Information about the log SD.
    reliability : float
        Share of the variance of log discriminations that is known.

    Returns
    -------
    ndarray of float, shape (D, 1)
        The bias.
    """
    bias: FloatArray = _BIAS * (1.0 - reliability) ** 3 * information / (TIGHT**-2 + information)
    return bias


def scale_deviation(now: FloatArray, before: FloatArray, width: float, *, fitted: bool) -> FloatArray:
    """Return the SD of an estimated log scale around its present value.

    Before a fit it is the SD of an estimate with this information, shrunk by the prior. After one it is the part of the
    scale that is unknown and will become known.

    Parameters
    ----------
    now, before : ndarray of float, shape (D, 1)
        Information about the log scale then, and at present.
    width : float
        SD of the log scale's prior.
    fitted : bool
        Whether there is a fit.

    Returns
    -------
    ndarray of float, shape (D, 1)
        The SD.
    """
    prior = width**-2
    if not fitted:
        return np.sqrt(now) / (prior + now)
    learnt: FloatArray = np.sqrt(np.maximum(1.0 / (prior + before) - 1.0 / (prior + now), 0.0))
    return learnt
