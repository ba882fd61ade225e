"""Goals of forecasts: numbers that can be followed while judgments come in.

Every goal is measured on the abilities (D, M) and covariances (D, M, M) of D campaigns at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from irt_engine.arrays import FloatArray, IntArray, check_fields
from irt_engine.posterior.differences import quantile
from scheduler.errors import InvalidRequest
from scheduler.policies.design import DEFAULT_DESIGN
from scheduler.targets import LargestSETarget, Target

_TINY = 1e-12


class ForecastGoal(Protocol):
    """A frozen goal. `unit` names what it measures."""

    unit: ClassVar[str]

    @property
    def target(self) -> Target:
        """The target that judgments are chosen for."""
        ...

    def measure(self, ability: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return (D,) the measure of each campaign."""
        ...

    def shortfall(self, ability: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return (D,) the factor by which SEs are too large: the goal is met at 1 or less."""
        ...


@dataclass(frozen=True, slots=True)
class AllAbilities:
    """Every ability minus the board's mean has an SE of at most `se`. Raise InvalidRequest unless it is positive."""

    se: float
    unit: ClassVar[str] = "the largest SE"

    @property
    def target(self) -> Target:
        """The target that judgments are chosen for."""
        return LargestSETarget()

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        _check_se(self.se)

    def measure(self, ability: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return (D,) the largest SE."""
        largest: FloatArray = np.sqrt(np.einsum("dmm->dm", covariance).max(axis=1))
        return largest

    def shortfall(self, ability: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return (D,) the largest SE over the one wanted."""
        return self.measure(ability, covariance) / self.se


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Every difference between neighbours, in the estimated order, has an SE of at most `se`."""

    se: float
    unit: ClassVar[str] = "the largest SE between neighbours"

    @property
    def target(self) -> Target:
        """The target that judgments are chosen for."""
        return LargestSETarget("neighbours")

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        _check_se(self.se)

    def measure(self, ability: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return (D,) the largest SE between neighbours."""
        order = np.argsort(ability, axis=1, kind="stable")
        _, variance = _differences(ability, covariance, order[:, :-1], order[:, 1:])
        largest: FloatArray = np.sqrt(variance.max(axis=1))
        return largest

    def shortfall(self, ability: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return (D,) the largest SE between neighbours over the one wanted."""
        return self.measure(ability, covariance) / self.se


@dataclass(frozen=True, slots=True)
class Separated:
    """A share of all pairs is separated: the interval of their difference at `level` excludes 0.

    Raises
    ------
    InvalidRequest
        Unless 0 < share <= 1 and 0 < level < 1.
    """

    share: float
    level: float = 0.95
    unit: ClassVar[str] = "the share of pairs separated"

    @property
    def target(self) -> Target:
        """The target that judgments are chosen for."""
        return DEFAULT_DESIGN.target

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        if not (0.0 < self.share <= 1.0 and 0.0 < self.level < 1.0):
            raise InvalidRequest(
                f"{self.share} of the pairs at level {self.level}",
                code="bad_target",
                hint="give a share above 0 and up to 1, and a level below 1",
            )

    def measure(self, ability: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return (D,) the share of pairs that are separated."""
        separated: FloatArray = (self._distances(ability, covariance) > quantile(self.level)).mean(axis=1)
        return separated

    def shortfall(self, ability: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return (D,) the factor by which the SE of the last pair needed is too large."""
        z = np.sort(self._distances(ability, covariance), axis=1)[:, ::-1]
        last = math.ceil(self.share * z.shape[1] - 1e-9) - 1
        return quantile(self.level) / np.maximum(z[:, last], _TINY)

    def _distances(self, ability: FloatArray, covariance: FloatArray) -> FloatArray:
        """(D, N) |difference| / SE of every pair."""
        low, high = (np.broadcast_to(x, (len(ability), len(x))) for x in np.triu_indices(ability.shape[1], 1))
        difference, variance = _differences(ability, covariance, low, high)
        distance: FloatArray = np.abs(difference) / np.sqrt(variance)
        return distance


def _check_se(se: float) -> None:
    if not (math.isfinite(se) and se > 0.0):
        raise InvalidRequest(f"target SE {se}", code="bad_target", hint="give a positive number")


def _differences(
    ability: FloatArray, covariance: FloatArray, a: IntArray, b: IntArray
) -> tuple[FloatArray, FloatArray]:
    """s_b - s_a and its variance, of indices a, b (D, n) into each campaign."""
    d = np.arange(len(ability))[:, None]
    variance = covariance[d, a, a] + covariance[d, b, b] - 2.0 * covariance[d, a, b]
    return ability[d, b] - ability[d, a], np.maximum(variance, _TINY)
