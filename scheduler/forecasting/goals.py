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
    """Describe a goal of a campaign; `unit` names its measure."""

    unit: ClassVar[str]

    @property
    def target(self) -> Target:
        """Return the target for which judgments are chosen."""
        ...

    def measure(self, ability: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return the measure of each campaign.

        Parameters
        ----------
        ability : ndarray of float, shape (D, M)
            Abilities.
        covariance : ndarray of float, shape (D, M, M)
            Their covariances.

        Returns
        -------
        ndarray of float, shape (D,)
            The measure.
        """
        ...

    def shortfall(self, ability: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return the factor by which standard errors are too large; the goal is met at 1 or less.

        Parameters
        ----------
        ability : ndarray of float, shape (D, M)
            Abilities.
        covariance : ndarray of float, shape (D, M, M)
            Their covariances.

        Returns
        -------
        ndarray of float, shape (D,)
            The factor.
        """
        ...


@dataclass(frozen=True, slots=True)
class AllAbilities:
    """Require a standard error of each ability minus the board's mean.

    Parameters
    ----------
    se : float
        Largest standard error, in units of ability.

    Raises
    ------
    InvalidRequest
        Unless it is positive.
    """

    se: float
    unit: ClassVar[str] = "the largest SE"

    @property
    def target(self) -> Target:
        """Return the target for which judgments are chosen."""
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
    """Require a standard error of each difference between neighbours in the estimated order.

    Parameters
    ----------
    se : float
        Largest standard error, in units of ability.

    Raises
    ------
    InvalidRequest
        Unless it is positive.
    """

    se: float
    unit: ClassVar[str] = "the largest SE between neighbours"

    @property
    def target(self) -> Target:
        """Return the target for which judgments are chosen."""
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
    """Require that a share of all pairs is separated: the interval of their difference excludes 0.

    Parameters
    ----------
    share : float
        The share, above 0 and at most 1.
    level : float
        Probability of the intervals.

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
        """Return the target for which judgments are chosen."""
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
