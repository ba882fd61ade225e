"""Expected information of one more judgment, under the posterior of the ability difference and of the prompt.

Notation: E edges b_c make E + 1 categories (net ratings 6, votes 2). x_c = alpha (theta - b_c) + e, F_c = sigma(x_c),
f_c = F_c (1 - F_c), and P_k is the category's probability as in `graded_response`. Samejima (1969): category
information I_k = -d^2 log P_k / dtheta^2, item information I = sum_k P_k I_k = sum_k (dP_k / dtheta)^2 / P_k. In the
graded model I_k = alpha^2 (f_{k-1} + f_k), with f = 0 beyond the outermost edges. Information is in 1 / theta^2.

Expectations over theta, log alpha and the cell effect e are taken by Gauss-Hermite quadrature. Thresholds have their
posterior means.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from irt_engine.arrays import FloatArray, IntArray
from irt_engine.models.graded_response import item_information
from irt_engine.posterior.prediction import pairs_of_board, slopes_of_tiers, theta_of_pairs, tiers_of_pairs

if TYPE_CHECKING:
    from irt_engine.posterior.posterior import Posterior
from irt_engine.quadrature import NODES, normal_nodes

_CELL_NODES = 15
_CHUNK = 1 << 15  # numbers at a time, few enough for the cache


def category_information(theta: FloatArray, discrimination: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return the information of each category, I_k = -d^2 log P_k / dtheta^2.

    Parameters
    ----------
    theta : ndarray of float, shape (...,)
        Ability differences, in logits.
    discrimination : ndarray of float, shape (...,)
        Discriminations.
    thresholds : ndarray of float, shape (..., E)
        Thresholds in logits, ascending.

    Returns
    -------
    ndarray of float, shape (..., E + 1)
        Information about theta from an answer in each category.

    References
    ----------
    F. Samejima (1969), Estimation of latent ability using a response pattern of graded scores, Psychometrika Monograph
    17.
    """
    x = discrimination[..., None] * (theta[..., None] - thresholds)
    f = expit(x) * expit(-x)
    none = np.zeros((*f.shape[:-1], 1))
    information: FloatArray = discrimination[..., None] ** 2 * (
        np.concatenate([none, f], axis=-1) + np.concatenate([f, none], axis=-1)
    )
    return information


def total_information(theta: FloatArray, discrimination: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return the test information of a set of prompts.

    Answers on different prompts are independent given theta, so that their information adds up.

    Parameters
    ----------
    theta : ndarray of float, shape (...,)
        Ability differences, in logits.
    discrimination : ndarray of float, shape (J,)
        Discriminations of the prompts.
    thresholds : ndarray of float, shape (J, E)
        Thresholds of the prompts.

    Returns
    -------
    ndarray of float, shape (...,)
        The sum of the item information.
    """
    theta = np.asarray(theta, np.float64)
    of_each = item_information(theta[..., None], discrimination, thresholds)
    total: FloatArray = of_each.sum(axis=-1)
    return total


def vote_information(
    theta: FloatArray, discrimination: FloatArray, thresholds: FloatArray, cell_sd: float = 0.0
) -> FloatArray:
    """Return the item information of a cell's first judgment, with the cell effect integrated out.

    The cell effect e ~ N(0, cell_sd^2) is not observed. P_k and dP_k / dtheta are averaged over e before they enter
    (dP_k)^2 / P_k. With cell_sd = 0 this is `item_information`.

    Parameters
    ----------
    theta, discrimination : ndarray of float, shape (...,)
        As in `category_information`.
    thresholds : ndarray of float, shape (..., E)
        As in `category_information`.
    cell_sd : float
        SD of the cell effect, in logits.

    Returns
    -------
    ndarray of float, shape (...,)
        Information about theta.
    """
    if cell_sd == 0.0:
        return item_information(theta, discrimination, thresholds)
    at, slope = 0.0, 0.0
    edge = discrimination[..., None] * (theta[..., None] - thresholds)
    for node, weight in zip(*normal_nodes(_CELL_NODES), strict=True):
        above, below = expit(edge + cell_sd * node), expit(-edge - cell_sd * node)
        one = np.ones((*above.shape[:-1], 1))
        upper, lower = np.concatenate([one, above], axis=-1), np.concatenate([above, 0.0 * one], axis=-1)
        other_upper, other_lower = np.concatenate([0.0 * one, below], axis=-1), np.concatenate([below, one], axis=-1)
        f = above * below
        # P_k = F_{k-1} - F_k, between the smaller of F and 1 - F, so that no digit is lost far out.
        at = at + weight * np.where(upper < 0.5, upper - lower, other_lower - other_upper)
        slope = slope + weight * (np.concatenate([0.0 * one, f], axis=-1) - np.concatenate([f, 0.0 * one], axis=-1))
    squares = np.divide(slope**2, at, out=np.zeros_like(at), where=at > 0)
    information: FloatArray = discrimination**2 * squares.sum(axis=-1)
    return information


def _slopes(
    discrimination: FloatArray, discrimination_se: FloatArray | None
) -> list[tuple[FloatArray | float, FloatArray]]:
    """Weights and discriminations (J,) at the nodes of log alpha ~ N(log discrimination, (se / discrimination)^2)."""
    if discrimination_se is None:
        return [(1.0, discrimination)]
    log_se = discrimination_se / discrimination
    return [(weight, discrimination * np.exp(log_se * node)) for node, weight in zip(*normal_nodes(), strict=True)]


def expected_information(
    mean: FloatArray,
    se: FloatArray,
    discrimination: FloatArray,
    thresholds: FloatArray,
    *,
    discrimination_se: FloatArray | None = None,
    cell_sd: float = 0.0,
) -> FloatArray:
    """Return the expected information E[I_j(theta)] for theta ~ N(mean, se^2).

    The costs grow with n J NODES^2 E; for many pairs, use `InformationTable`.

    Parameters
    ----------
    mean, se : ndarray of float, shape (n,)
        Mean and SD of theta.
    discrimination : ndarray of float, shape (J,)
        Discriminations of the prompts.
    thresholds : ndarray of float, shape (J, E)
        Thresholds of the prompts.
    discrimination_se : ndarray of float, shape (J,), optional
        Standard errors of the discriminations, which are then lognormal.
    cell_sd : float
        SD of the cell effect, in logits.

    Returns
    -------
    ndarray of float, shape (n, J)
        Expected information.
    """
    nodes, weights = normal_nodes()
    expected = np.zeros((len(mean), len(discrimination)))
    at_once = max(1, _CHUNK // max(1, NODES * thresholds.size))
    for start in range(0, len(mean), at_once):
        rows = slice(start, start + at_once)
        theta = mean[rows, None, None] + se[rows, None, None] * nodes[:, None]
        for weight, alpha in _slopes(discrimination, discrimination_se):
            at = vote_information(theta, np.asarray(alpha), thresholds, cell_sd)
            expected[rows] += weight * np.einsum("k,nkj->nj", weights, at)
    return expected


def pair_information(posterior: Posterior, a: IntArray, b: IntArray) -> FloatArray:
    """Return the expected information of one more judgment on each pair and prompt.

    theta includes the pair effect. The judgment is the first of its cell.

    Parameters
    ----------
    posterior : Posterior
        The posterior of a board.
    a, b : ndarray of int, shape (n,)
        Indices of the chatbots.

    Returns
    -------
    ndarray of float, shape (n, J)
        Expected information under the posterior.

    Raises
    ------
    InvalidResponses
        If an index is invalid, or a chatbot is compared with itself.
    NotIdentified
        For model pair.
    """
    a, b = pairs_of_board(posterior, a, b)
    mean, variance = theta_of_pairs(posterior, a, b)
    se, tiers = np.sqrt(variance), tiers_of_pairs(posterior, a, b)
    expected = np.zeros((len(mean), len(posterior.prompts)))
    for both in np.unique(tiers):
        rows, (slope, slope_se) = tiers == both, slopes_of_tiers(posterior, both)
        expected[rows] = expected_information(
            mean[rows],
            se[rows],
            slope,
            posterior.thresholds,
            discrimination_se=slope_se,
            cell_sd=posterior.scales.fresh,
        )
    return expected


@dataclass(frozen=True, slots=True, eq=False)
class InformationTable:
    """Tabulate the item information on a grid of theta, for plans over many pairs.

    Values are interpolated linearly. Outside the grid the last value holds.

    Parameters
    ----------
    grid : ndarray of float, shape (G,)
        Values of theta.
    values : ndarray of float, shape (G, J)
        Information of the prompts.
    """

    grid: FloatArray
    values: FloatArray

    @classmethod
    def of(
        cls,
        discrimination: FloatArray,
        thresholds: FloatArray,
        *,
        discrimination_se: FloatArray | None = None,
        cell_sd: float = 0.0,
        reach: float = 8.0,
        points: int = 97,
    ) -> InformationTable:
        """Return the table of a set of prompts.

        Parameters
        ----------
        discrimination : ndarray of float, shape (J,)
            Discriminations.
        thresholds : ndarray of float, shape (J, E)
            Thresholds.
        discrimination_se : ndarray of float, shape (J,), optional
            Standard errors; without them the discriminations count as known.
        cell_sd : float
            SD of the cell effect, in logits.
        reach : float
            The grid covers -reach..reach.
        points : int
            Number of grid points.

        Returns
        -------
        InformationTable
            The table.
        """
        grid = np.linspace(-reach, reach, points)
        values = np.zeros((points, len(discrimination)))
        at_once = max(1, _CHUNK // max(1, thresholds.size))
        for weight, alpha in _slopes(discrimination, discrimination_se):
            for start in range(0, points, at_once):
                rows = slice(start, start + at_once)
                values[rows] += weight * vote_information(grid[rows, None], np.asarray(alpha), thresholds, cell_sd)
        return cls(grid, values)

    def of_pair(self, mean: float, se: float) -> FloatArray:
        """Return the expected information of each prompt for theta ~ N(mean, se^2).

        Parameters
        ----------
        mean, se : float
            Mean and SD of theta.

        Returns
        -------
        ndarray of float, shape (J,)
            Expected information.
        """
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
        """Return the expected information of the average prompt for each pair.

        Parameters
        ----------
        mean, se : ndarray of float, shape (n,)
            Mean and SD of theta.

        Returns
        -------
        ndarray of float, shape (n,)
            Expected information, before the prompt is chosen.
        """
        nodes, weights = normal_nodes()
        average = self.values.mean(axis=1)
        at = mean[:, None] + se[:, None] * nodes
        expected: FloatArray = np.interp(at, self.grid, average) @ weights
        return expected
