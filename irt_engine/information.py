"""How much one more judgment is expected to teach, under the posterior of the ability difference.

I_j(theta) is the Fisher information of prompt j (`grm.item_information`); its expectation over a normal posterior of
theta is taken by Gauss-Hermite quadrature, not at the mean: a difference that is not known yet may lie where the
prompt says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import FloatArray
from .grm import item_information

NODES = 7


def normal_nodes(count: int = NODES) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights (count,) for expectations under a standard normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    return nodes, weights / weights.sum()


def expected_information(
    mean: FloatArray, se: FloatArray, discrimination: FloatArray, thresholds: FloatArray
) -> FloatArray:
    """E[I_j(theta)] for theta ~ N(mean, se^2), (n, J); mean and se (n,), prompts (J,) and (J, 6).

    Needs n * J * NODES * 6 numbers for a moment: for many pairs use `InformationTable`.
    """
    nodes, weights = normal_nodes()
    theta = mean[:, None] + se[:, None] * nodes
    at = item_information(theta[:, :, None], discrimination, thresholds)
    expected: FloatArray = np.einsum("k,nkj->nj", weights, at)
    return expected


@dataclass(frozen=True, slots=True, eq=False)
class InformationTable:
    """I_j on a grid of theta, so that a plan looks information up instead of computing it pair by pair.

    grid (G,), values (G, J). Between grid points it is interpolated linearly; beyond the grid the last value holds.
    """

    grid: FloatArray
    values: FloatArray

    @classmethod
    def of(
        cls, discrimination: FloatArray, thresholds: FloatArray, *, reach: float = 8.0, points: int = 97
    ) -> InformationTable:
        """The table of prompts (J,) and (J, 6), out to |theta| = reach."""
        grid = np.linspace(-reach, reach, points)
        rows = [item_information(np.full(len(discrimination), t), discrimination, thresholds) for t in grid]
        return cls(grid, np.array(rows))

    def of_pair(self, mean: float, se: float) -> FloatArray:
        """E[I_j] over N(mean, se^2) for every prompt, (J,)."""
        nodes, weights = normal_nodes()
        at = np.clip(mean + se * nodes, self.grid[0], self.grid[-1])
        place = (at - self.grid[0]) / (self.grid[1] - self.grid[0])
        left = np.minimum(place.astype(np.int64), len(self.grid) - 2)
        part = place - left
        mixed = np.zeros(len(self.grid))
        np.add.at(mixed, left, weights * (1.0 - part))
        np.add.at(mixed, left + 1, weights * part)
        used = np.flatnonzero(mixed)
        information: FloatArray = mixed[used] @ self.values[used]
        return information

    def typical(self, mean: FloatArray, se: FloatArray) -> FloatArray:
        """E[I] of the average prompt for each pair, (n,): what a pair is worth before its prompt is chosen."""
        nodes, weights = normal_nodes()
        average = self.values.mean(axis=1)
        at = mean[:, None] + se[:, None] * nodes
        expected: FloatArray = np.interp(at, self.grid, average) @ weights
        return expected


def variance_fall(information: FloatArray | float, projected: FloatArray, variance: FloatArray) -> FloatArray:
    """Fall of trace(Sigma) by one judgment: I |Sigma x|^2 / (1 + I x' Sigma x), x = e_b - e_a (rank-one update).

    projected = |Sigma x|^2, variance = x' Sigma x, any equal shapes.
    """
    fall: FloatArray = information * projected / (1.0 + information * variance)
    return fall
