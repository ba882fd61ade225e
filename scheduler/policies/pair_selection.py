"""Pair policies: with which probability each open pair comes next."""

from __future__ import annotations

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray
from scheduler.belief import Belief
from scheduler.policies.design import AdaptiveDesign
from scheduler.policies.item_sampling import shortlisted, uniform_over
from scheduler.pool import Pool


class UniformPairs:
    """In proportion to open items: every open item is equally likely."""

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        p: FloatArray = pool.open_per_pair / pool.open_per_pair.sum()
        return p


class BalancedPairs:
    """Before the first fit: first join separate parts of the graph, then level the votes per chatbot and pair."""

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        joining = joining_pairs(pool)
        candidates = joining if joining.any() else pool.open_per_pair > 0
        degree = pool.degrees()
        load = np.stack([pool.pair_votes, degree[pool.low] + degree[pool.high]])
        for row in load if not joining.any() else load[1:]:
            candidates = candidates & (row == row[candidates].min())
        return uniform_over(candidates)


class LeastCertainPairs:
    """The pairs about which one typical judgment is expected to tell most: log(1 + I Var(s_b - s_a)) in nats.

    That is the least certain pair among those that a judgment can inform: a lopsided pair is uncertain too, but its
    outcome is known beforehand and its I is near 0.
    """

    def __init__(self, belief: Belief) -> None:
        self.belief = belief

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        gain = np.log1p(self.belief.typical * self.belief.variance)
        return shortlisted(np.where(pool.open_per_pair > 0, gain, -np.inf))


class AdaptivePairs:
    """The pairs whose next judgment is expected to lower the target's variance most, with a floor and a cap.

    While the comparisons (judged or on their way) fall into separate parts, only pairs that join two of them are drawn:
    what a board cannot compare is worth more than what it knows too roughly.
    """

    def __init__(self, belief: Belief, design: AdaptiveDesign) -> None:
        self.belief, self.design = belief, design

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        joining = joining_pairs(pool)
        allowed = joining if joining.any() else pool.below_cap(self.design.cap)
        value = np.where(allowed, self.belief.falls(), -np.inf)
        return shortlisted(value, self.design.floor, self.design.best)


def joining_pairs(pool: Pool) -> BoolArray:
    """(N,) open pairs between separate parts of the graph of judged and pending pairs; none once it is connected."""
    group = pool.groups()
    joining: BoolArray = (pool.open_per_pair > 0) & (group[pool.low] != group[pool.high])
    return joining
