"""Where a fit stands between two iterations, and where it ends."""

from __future__ import annotations

from dataclasses import dataclass

from irt_engine.arrays import FloatArray
from irt_engine.models.parameters import Information, Point

from .schur_complement import FactoredPrecision


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """One round's beginning: means, the log SDs of the effects, and by how much what the cells say under q exceeds what
    they say at the mean."""

    point: Point
    log_sd: FloatArray
    excess: Information


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Where the fit ended."""

    state: State
    at_mean: Information
    arrow: FactoredPrecision
    covariance: FloatArray  # (S, S) of the shaft
    rounds: int
    learned: bool  # the scales
