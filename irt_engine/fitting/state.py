"""State of a fit between two iterations, and its solution."""

from __future__ import annotations

from dataclasses import dataclass

from irt_engine.arrays import FloatArray
from irt_engine.models.parameters import Information, Point

from .schur_complement import FactoredPrecision


@dataclass(frozen=True, slots=True, eq=False)
class FitState:
    """Store the start of an iteration.

    Parameters
    ----------
    point : Point
        Means.
    log_sd : ndarray of float, shape (L,)
        Log SDs of the effects.
    excess : Information
        Expected information under q minus the information at the mean.
    """

    point: Point
    log_sd: FloatArray
    excess: Information


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Store the end of a fit.

    Parameters
    ----------
    state : FitState
        Means, log SDs and excess information.
    at_mean : Information
        Expected information at the mean.
    factors : FactoredPrecision
        Posterior precision.
    covariance : ndarray of float, shape (S, S)
        Posterior covariance of the shared parameters.
    rounds : int
        Iterations.
    learned : bool
        Whether the log SDs were estimated.
    """

    state: FitState
    at_mean: Information
    factors: FactoredPrecision
    covariance: FloatArray  # (S, S) of the shaft
    rounds: int
    learned: bool  # the scales
