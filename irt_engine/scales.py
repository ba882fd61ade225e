"""Scales: the SDs of the normal effects, given or learned from the data themselves (empirical Bayes).

A group of effects x_1..x_n ~ N(0, s^2) with posterior means m and variances v has the marginal likelihood's derivative
by log s equal to sum m^2 / s^2 - gamma, where gamma = n - sum v / s^2 counts the effects that the data determine
(MacKay 1992). Its root is iterated together with the fit. The prior of log s is normal around the given SD:
what few votes say nothing about stays as given, an effect that is not there shrinks to about its standard error, and
never to nothing, where the iteration would creep and the fit would be too sure.

They must not be learned around a joint mode: there, discriminations and abilities chase each other to 0 and infinity.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .arrays import BoolArray, FloatArray
from .arrow import Point, Precision

TIGHT = 0.5  # of the prior of a log SD: a factor of 1.6 either way is common, one of 4 takes many votes
LOOSE = 1.0
MOST = 4.0  # times the given SD: beyond it verdicts without any doubt would lead a scale to infinity
LEAST = 0.01  # an SD that small is an effect that is not there
_FARTHEST = 0.7  # of log s in a round
_PINNED = 1e6  # precision of what a definition fixes


@dataclass(frozen=True, slots=True)
class Group:
    """Effects that share an SD: a part of z, or columns of phi."""

    name: str
    sd: float  # given; where learning begins, and the middle of its prior
    learned: bool
    width: float = TIGHT  # of the prior of the log SD
    z: slice | None = None
    phi: slice | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Effects:
    """All groups of a problem, and the slot of pooled prompts, which is typical by definition (-1: there is none)."""

    groups: tuple[Group, ...]
    cell: Group | None  # the cell effect of votes: integrated out, so it has no place in z or phi
    shaft: int
    shape: tuple[int, int]  # of phi
    shared: int

    @property
    def learned(self) -> bool:
        """Whether any SD is learned."""
        return any(group.learned for group in self._every())

    def as_given(self) -> Effects:
        """The same effects with their SDs as given."""
        fixed = tuple(replace(group, learned=False) for group in self.groups)
        return replace(self, groups=fixed, cell=replace(self.cell, learned=False) if self.cell else None)

    def _every(self) -> list[Group]:
        return [*self.groups, *([self.cell] if self.cell else [])]

    def start(self) -> FloatArray:
        """log SDs as given, one for each group and last the cell effect's if there is one."""
        return np.log([max(group.sd, LEAST) for group in self._every()])

    def precision(self, log_sd: FloatArray) -> Precision:
        """The prior's, at these log SDs."""
        z, phi = np.ones(self.shaft), np.ones(self.shape)
        for group, value in zip(self.groups, np.exp(-2.0 * log_sd), strict=False):
            if group.z is not None:
                z[group.z] = value
            if group.phi is not None:
                phi[:, group.phi] = value
        if self.shared >= 0:
            # All but the location, which pooled prompts may have in common, is typical: alpha = 1 and the common gaps.
            phi[self.shared, [c for c in range(self.shape[1]) if not self._is_location(c)]] = _PINNED
        return Precision(z, phi)

    def _is_location(self, column: int) -> bool:
        named = [g.phi for g in self.groups if g.name == "location" and g.phi is not None]
        return any(part.start <= column < part.stop for part in named)

    def cell_sd(self, log_sd: FloatArray) -> float:
        """SD of the cell effect on the logit scale; 0 without one."""
        return float(np.exp(log_sd[-1])) if self.cell else 0.0

    def learnt(
        self, log_sd: FloatArray, point: Point, z_variance: FloatArray, phi_variance: FloatArray, sums: FloatArray
    ) -> FloatArray:
        """The next log SDs, from means, variances (S,), (J, P) and the cell effect's sums (2,): its score by log SD
        and the sum of squares of that."""
        new = log_sd.copy()
        own = np.arange(self.shape[0]) != self.shared
        for index, group in enumerate(self.groups):
            if group.learned:
                m, v = _members(group, point, z_variance, phi_variance, own)
                if m.size:
                    new[index] = _next(log_sd[index], group, m, v)
        if self.cell and self.cell.learned:
            pull = (np.log(self.cell.sd) - log_sd[-1]) / self.cell.width**2
            step = (sums[0] + pull) / (sums[1] + 1.0 / self.cell.width**2)
            new[-1] = _moved(log_sd[-1], step, self.cell)
        return new


def _members(
    group: Group, point: Point, z_variance: FloatArray, phi_variance: FloatArray, own: BoolArray
) -> tuple[FloatArray, FloatArray]:
    if group.z is not None:
        return point.z[group.z], z_variance[group.z]
    return point.phi[own, group.phi].ravel(), phi_variance[own, group.phi].ravel()


def _next(log_sd: float, group: Group, mean: FloatArray, variance: FloatArray) -> float:
    """A damped Newton step: the slope of the score is -2 sum m^2 / s^2 where the data determine the effects, and twice
    the score's own size where they hardly do."""
    s2 = np.exp(2.0 * log_sd)
    spread = float(mean @ mean) / s2
    determined = max(mean.size - float(variance.sum()) / s2, 0.0)
    score = spread - determined + (np.log(group.sd) - log_sd) / group.width**2
    share = determined / mean.size
    slope = 2.0 * max(share * max(spread, determined), abs(spread - determined)) + 1.0 / group.width**2
    return _moved(log_sd, score / slope, group)


def _moved(log_sd: float, step: float, group: Group) -> float:
    there = log_sd + np.clip(step, -_FARTHEST, _FARTHEST)
    return float(np.clip(there, np.log(LEAST), np.log(MOST * group.sd)))
