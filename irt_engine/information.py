"""How much one more judgment is expected to teach, under the posterior of the ability difference and of the prompt.

Notation: E edges b_c make E + 1 categories (net ratings 6, votes 2); x_c = alpha (theta - b_c) + e, F_c = sigma(x_c),
f_c = F_c (1 - F_c); P_k the category's probability as in `grm`. Samejima (1969): category information I_k = -d^2 log
P_k / dtheta^2, item information I = sum_k P_k I_k = sum_k (dP_k / dtheta)^2 / P_k. In the graded model I_k = alpha^2
(f_{k-1} + f_k), with f = 0 beyond the outermost edges: never negative. Information is in 1 / theta^2.

Expectations over theta, log alpha and the cell effect e are taken by Gauss-Hermite quadrature, not at the means: a
difference that is not known yet may lie where the prompt says nothing. Thresholds stand at their means.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from irt_engine.arrays import FloatArray, IntArray
from irt_engine.models.graded_response import category_probabilities, item_information
from irt_engine.posterior.prediction import pairs_of_board, slopes_of_tiers, theta_of_pairs, tiers_of_pairs

if TYPE_CHECKING:
    from irt_engine.posterior.posterior import Posterior
from irt_engine.quadrature import NODES, normal_nodes

_CELL_NODES = 15
_CHUNK = 1 << 15  # numbers at a time, few enough for the cache


def category_information(theta: FloatArray, discrimination: FloatArray, thresholds: FloatArray) -> FloatArray:
    """I_k = -d^2 log P_k / dtheta^2, (..., E + 1), of theta (...,), discrimination (...,), thresholds (..., E).

    Samejima (1969). What an answer in category k tells about theta; see `information_shares` for its part in the
    item's.
    """
    x = discrimination[..., None] * (theta[..., None] - thresholds)
    f = expit(x) * expit(-x)
    none = np.zeros((*f.shape[:-1], 1))
    information: FloatArray = discrimination[..., None] ** 2 * (
        np.concatenate([none, f], axis=-1) + np.concatenate([f, none], axis=-1)
    )
    return information


def information_shares(theta: FloatArray, discrimination: FloatArray, thresholds: FloatArray) -> FloatArray:
    """P_k I_k, (..., E + 1): the category's share of the item's information, which is their sum (Samejima 1969)."""
    p = category_probabilities(theta, discrimination, thresholds)
    return p * category_information(theta, discrimination, thresholds)


def total_information(theta: FloatArray, discrimination: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Test information of a set of J prompts at theta (...,): the sum of theirs, (...,).

    discrimination (J,), thresholds (J, E). Answers on different prompts are independent given theta, so information
    adds up.
    """
    theta = np.asarray(theta, np.float64)
    of_each = item_information(theta[..., None], discrimination, thresholds)
    total: FloatArray = of_each.sum(axis=-1)
    return total


def vote_information(
    theta: FloatArray, discrimination: FloatArray, thresholds: FloatArray, cell_sd: float = 0.0
) -> FloatArray:
    """Item information (...,) of a cell's first judgment, the effect of the cell e ~ N(0, cell_sd^2) integrated out.

    P_k and dP_k / dtheta are averaged over e before they are put into (dP_k)^2 / P_k: nobody sees the effect. With
    cell_sd 0 this is `grm.item_information`. Shapes as in `category_information`.
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
    """E[I_j(theta)] for theta ~ N(mean, se^2), (n, J); mean and se (n,), prompts (J,) and (J, E).

    With discrimination_se (J,) the prompt's discrimination is lognormal about its posterior median, by the product
    rule; cell_sd as in `vote_information`. Costs n x J x NODES^2 x E steps: for many pairs use `InformationTable`.
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
    """E[I] (n, J) of one more judgment on the pairs a, b (n,) with every prompt, under the posterior of both.

    theta has the pair's own effect in it, as `predict.theta_of_pairs` has it; a judgment is a cell's first. a, b
    index a board's chatbots; where discriminations differ by tier, the prompts' are those of the pair's two tiers.
    Raises InvalidResponses (indices, a chatbot with itself), NotIdentified (model pair).
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
    """I_j on a grid of theta, so that a plan looks information up instead of computing it pair by pair.

    grid (G,), values (G, J). Between grid points it is interpolated linearly; beyond the grid the last value holds.
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
        """The table of prompts (J,) and (J, E), out to |theta| = reach; the prompts' uncertainty is integrated once.

        discrimination_se and cell_sd as in `expected_information`; without them the prompts count as known.
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
    """Fall of trace(W Sigma) by one judgment: I x' Sigma W Sigma x / (1 + I x' Sigma x) (rank-one update).

    projected = x' Sigma W Sigma x (W the identity: |Sigma x|^2), variance = x' Sigma x, any equal shapes.
    """
    fall: FloatArray = information * projected / (1.0 + information * variance)
    return fall


def projections(
    covariance: FloatArray, low: IntArray, high: IntArray, weight: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """x' Sigma W Sigma x and x' Sigma x, (n,) each, for x = e_high - e_low; covariance Sigma (M, M), low and high (n,).

    weight is the target: None for all abilities alike (W = 1), a matrix W (M, M), or a contrast c (M,), whose
    variance c' Sigma c is W = c c'. All pairs come from one product Sigma W Sigma.
    """
    if weight is None:
        target = covariance @ covariance
    elif weight.ndim == 1:
        toward = covariance @ weight
        target = np.outer(toward, toward)
    else:
        target = covariance @ weight @ covariance
    return _across(target, low, high), _across(covariance, low, high)


def _across(Q: FloatArray, low: IntArray, high: IntArray) -> FloatArray:
    """x' Q x for x = e_high - e_low."""
    value: FloatArray = Q[low, low] + Q[high, high] - Q[low, high] - Q[high, low]
    return value


def expected_fall(
    information: FloatArray | float,
    covariance: FloatArray,
    low: IntArray,
    high: IntArray,
    *,
    weight: FloatArray | None = None,
    pair_variance: FloatArray | float = 0.0,
) -> FloatArray:
    """By how much one more judgment on each pair is expected to lower the target variance, (n,).

    information (n,) about theta; covariance, low, high, weight as in `projections`. pair_variance is that of the
    pair's own effect beside the abilities: theta = s_high - s_low + effect, so the judgment tells less about the
    abilities. It is exact for an effect that is independent of them (a pair not compared before: the effect's prior
    variance).
    """
    projected, variance = projections(covariance, low, high, weight)
    return variance_fall(information, projected, variance + pair_variance)
