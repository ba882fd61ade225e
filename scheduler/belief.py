"""What a plan believes about the abilities while it is made: the last posterior, with work in flight counted in.

One judgment on (a, b) with information I adds I x x^T to the precision, x = e_b - e_a; the covariance falls by the
rank-one update Sigma - I (Sigma x)(Sigma x)^T / (1 + I x^T Sigma x). The mean stays: nobody knows the answers yet.
"""

from __future__ import annotations

import numpy as np

from irt_engine.arrays import FloatArray, IntArray
from irt_engine.information import InformationTable, variance_fall
from irt_engine.posterior import Posterior
from irt_engine.priors import DEFAULT_PRIORS

from .pool import Pool
from .state import CampaignState


class Belief:
    """Mean and covariance of all of a campaign's chatbots, and what prompts tell about a pair; local to one plan."""

    def __init__(self, state: CampaignState, posterior: Posterior, pool: Pool) -> None:
        self.mean, self.covariance = _abilities(state, posterior)
        self.low, self.high = pool.low, pool.high
        self.table = InformationTable.of(*_prompts(state, posterior))
        self.variance = self._variances()
        self.typical = self.table.typical(self.mean[self.high] - self.mean[self.low], np.sqrt(self.variance))
        for pair, prompt in zip(pool.pairs_of(state.pending).tolist(), state.pending[:, 2].tolist(), strict=True):
            self.expect(pair, float(self.information(pair)[prompt]))

    def information(self, pair: int) -> FloatArray:
        """(J,) expected information of each prompt about this pair."""
        mean = self.mean[self.high[pair]] - self.mean[self.low[pair]]
        return self.table.of_pair(float(mean), float(np.sqrt(self.variance[pair])))

    def expect(self, pair: int, information: float) -> float:
        """Count a judgment in; returns by how much the summed variance of the abilities is expected to fall."""
        a, b = self.low[pair], self.high[pair]
        toward = self.covariance[:, b] - self.covariance[:, a]
        variance = float(toward[b] - toward[a])
        fall = float(variance_fall(information, np.asarray(toward @ toward), np.asarray(variance)))
        factor = information / (1.0 + information * variance)
        self.covariance -= factor * np.outer(toward, toward)
        self.variance = np.maximum(self.variance - factor * (toward[self.high] - toward[self.low]) ** 2, 1e-12)
        return fall

    def _variances(self) -> FloatArray:
        v = np.diag(self.covariance)
        total: FloatArray = v[self.low] + v[self.high] - 2.0 * self.covariance[self.low, self.high]
        return np.maximum(total, 1e-12)


def _abilities(state: CampaignState, posterior: Posterior) -> tuple[FloatArray, FloatArray]:
    """(M,), (M, M) in the state's order. What the posterior cannot know gets the prior's variance:

    a chatbot that it has not seen, and the offset between separate parts of the graph.
    """
    number = {name: i for i, name in enumerate(posterior.chatbots)}
    rows = np.array([number.get(name, -1) for name in state.chatbots], np.int64)
    known = np.flatnonzero(rows >= 0)
    M, prior = len(rows), DEFAULT_PRIORS.ability_sd**2
    mean, covariance = np.zeros(M), prior * np.eye(M)
    mean[known] = posterior.ability[rows[known]]
    covariance[np.ix_(known, known)] = posterior.covariance[np.ix_(rows[known], rows[known])]
    if len(known) and posterior.group.max() > 1:
        group = posterior.group[rows[known]]
        covariance[np.ix_(known, known)] += prior * (group[:, None] == group[None, :])
    return mean, covariance


def _prompts(state: CampaignState, posterior: Posterior) -> tuple[FloatArray, FloatArray]:
    """(J,), (J, 6) in the state's order; a prompt without votes counts as the typical one."""
    number = {name: j for j, name in enumerate(posterior.prompts)}
    rows: IntArray = np.array([number.get(name, -1) for name in state.prompts], np.int64)
    slope = np.exp(np.log(posterior.discrimination).mean())
    typical = np.median(posterior.thresholds, axis=0)
    known = rows >= 0
    discrimination = np.where(known, posterior.discrimination[rows], slope)
    thresholds = np.where(known[:, None], posterior.thresholds[rows], typical)
    return discrimination, thresholds
