"""Allocation: where a policy puts the votes of many campaigns at once, without drawing asks."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from irt_engine.arrays import FloatArray
from irt_engine.variance_reduction import variance_fall
from scheduler.forecasting.expected_precision import CampaignEnsemble
from scheduler.policies.design import DEFAULT_DESIGN, AdaptiveDesign
from scheduler.policies.item_sampling import FLOOR, SHORTLIST

_SHARPNESS = 8.0  # of a pair's share in its value: about what a draw among the best five comes to in the long run
_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class EvenAllocation:
    """Allocate votes evenly to open items: policies `random` and `balanced`, and all others before the first fit."""

    @property
    def selected_share(self) -> float:
        """Return the share of votes whose prompt is chosen."""
        return 0.0

    def votes(self, ensemble: CampaignEnsemble, count: float) -> FloatArray:
        """Return the next votes; see `Allocation.votes`."""
        left = ensemble.room - ensemble.votes
        spread: FloatArray = left * (count / left.sum(axis=(1, 2), keepdims=True))
        return spread


@dataclass(frozen=True, slots=True)
class AdaptiveAllocation:
    """Allocate votes to the pairs that decrease the target's variance most, on the most informative prompts.

    Parameters
    ----------
    design : AdaptiveDesign
        Design of policy `adaptive`.
    """

    design: AdaptiveDesign = field(default=DEFAULT_DESIGN)

    @property
    def selected_share(self) -> float:
        """Return the share of votes whose prompt is chosen."""
        return 1.0 - self.design.floor

    def votes(self, ensemble: CampaignEnsemble, count: float) -> FloatArray:
        """Return the next votes; see `Allocation.votes`."""
        if ensemble.unfitted:
            return EvenAllocation().votes(ensemble, count)
        value = self._values(ensemble)
        value[self._capped(ensemble, count)] = 0.0
        return _spread(ensemble, value, count, self.design.floor, self.design.best)

    def _values(self, ensemble: CampaignEnsemble) -> FloatArray:
        """(D, N) `Belief.falls` of every campaign."""
        target = self.design.target
        W = np.stack([target.weight(s, C) for s, C in zip(ensemble.estimate, ensemble.covariance, strict=True)])
        projected = _across(ensemble, ensemble.covariance @ W @ ensemble.covariance)
        typical, before = ensemble.typical, 1.0 + ensemble.known * ensemble.pair_variance
        about = typical / (before * (before + typical * ensemble.pair_variance))
        return variance_fall(about, np.maximum(projected, 0.0), _across(ensemble, ensemble.covariance))

    def _capped(self, ensemble: CampaignEnsemble, count: float) -> FloatArray:
        """(D, N) pairs that have had their share of all votes."""
        votes = ensemble.pair_votes
        most = max(self.design.cap, 4.0 / votes.shape[1]) * (votes.sum(axis=1, keepdims=True) + count)
        over: FloatArray = votes + 1.0 > np.maximum(most, 1.0)
        return over


@dataclass(frozen=True, slots=True)
class LeastCertainAllocation:
    """Allocate votes to the least certain pairs that a vote can inform, on the most informative prompts."""

    @property
    def selected_share(self) -> float:
        """Return the share of votes whose prompt is chosen."""
        return 1.0 - FLOOR

    def votes(self, ensemble: CampaignEnsemble, count: float) -> FloatArray:
        """Return the next votes; see `Allocation.votes`."""
        if ensemble.unfitted:
            return EvenAllocation().votes(ensemble, count)
        value = np.log1p(ensemble.typical * _across(ensemble, ensemble.covariance))
        return _spread(ensemble, value, count, FLOOR, SHORTLIST)


def _across(ensemble: CampaignEnsemble, Q: FloatArray) -> FloatArray:
    """(D, N) x' Q x of every pair."""
    v = np.einsum("dmm->dm", Q)
    across: FloatArray = v[:, ensemble.low] + v[:, ensemble.high] - 2.0 * Q[:, ensemble.low, ensemble.high]
    return across


def _spread(ensemble: CampaignEnsemble, value: FloatArray, count: float, floor: float, shortlist: int) -> FloatArray:
    """(D, N, K): a share `floor` at random over open items, the others by value, on the best prompts first."""
    of_pair = np.maximum(ensemble.places - ensemble.pair_votes, 0.0)  # sums of classes, which rounding may take below
    value = np.where(of_pair < 1.0, 0.0, value)
    best = np.maximum(value.max(axis=1, keepdims=True), _TINY)
    weight = (value / best) ** _SHARPNESS + _TINY * of_pair
    chosen = (1.0 - floor) * _shared(weight / weight.sum(axis=1, keepdims=True), shortlist)
    wanted = count * (chosen + floor * of_pair / of_pair.sum(axis=1, keepdims=True))
    given = np.minimum(wanted, of_pair)
    spare = of_pair - given
    given += spare * (wanted - given).sum(axis=1, keepdims=True) / np.maximum(spare.sum(axis=1, keepdims=True), _TINY)
    return _on_prompts(ensemble, given, (1.0 - floor) * ensemble.reliability)


def _shared(share: FloatArray, shortlist: int) -> FloatArray:
    """Shares (D, N) of draws that the best few pairs have alike: none has more than its part, and what is over goes on.

    Where fewer pairs than that are open, these have all.
    """
    most = 1.0 / np.clip((share > 0.0).sum(axis=1, keepdims=True), 1, shortlist)
    full = np.zeros(share.shape, bool)
    for _ in range(shortlist):
        full |= share >= most
        rest = np.where(full, 0.0, share)
        left = np.maximum(1.0 - most * full.sum(axis=1, keepdims=True), 0.0)
        share = np.where(full, most, rest * (left / np.maximum(rest.sum(axis=1, keepdims=True), _TINY)))
    return share


def _on_prompts(ensemble: CampaignEnsemble, votes: FloatArray, picked: float) -> FloatArray:
    """Votes (D, N) on classes: a share `picked` on the most informative open prompts, the others on any open one.

    The best prompts are picked only as well as they are known, and none again before a pair's others had their turn.
    """
    votes_of = ensemble.kernels.spread_over_classes
    given: FloatArray = votes_of(votes, picked, ensemble.theta, ensemble.votes, ensemble.room, ensemble.size)
    return given
