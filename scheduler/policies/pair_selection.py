"""Pair policies: with which probability each open pair comes next."""

from __future__ import annotations

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray
from scheduler.belief import Belief
from scheduler.policies.design import AdaptiveDesign
from scheduler.policies.item_sampling import shortlisted, uniform_over
from scheduler.pool import Pool


class UniformPairs:
    """In proportion to open items, so that every open item is equally likely."""

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        """Return (N,) the probability of each pair."""
        p: FloatArray = pool.open_per_pair / pool.open_per_pair.sum()
        return p


class BalancedPairs:
    """A balanced design before the first fit: join separate parts, then level votes per chatbot and pair."""

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        """Return (N,) the probability of each pair."""
        joining = joining_pairs(pool)
        candidates = joining if joining.any() else pool.open_per_pair > 0
        degree = pool.degrees()
        load = np.stack([pool.pair_votes, degree[pool.low] + degree[pool.high]])
        for row in load if not joining.any() else load[1:]:
            candidates = candidates & (row == row[candidates].min())
        return uniform_over(candidates)


class LeastCertainPairs:
    """The pairs with the largest expected information gain of a typical judgment: log(1 + I Var(s_b - s_a)) in nats.

    A lopsided pair is uncertain too, but its outcome is nearly known beforehand: its I is near 0.
    """

    def __init__(self, belief: Belief) -> None:
        self.belief = belief

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        """Return (N,) the probability of each pair."""
        gain = np.log1p(self.belief.typical * self.belief.variance)
        return shortlisted(np.where(pool.open_per_pair > 0, gain, -np.inf))


class AdaptivePairs:
    """The pairs whose next judgment is expected to lower the target's variance most, with a floor and a cap.

    While the comparisons (judged or pending) fall into separate parts, only pairs that join two parts are drawn.
    """

    def __init__(self, belief: Belief, design: AdaptiveDesign) -> None:
        self.belief, self.design = belief, design

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        """Return (N,) the probability of each pair."""
        joining = joining_pairs(pool)
        allowed = joining if joining.any() else pool.below_cap(self.design.cap)
        value = np.where(allowed, self.belief.falls(), -np.inf)
        return shortlisted(value, self.design.floor, self.design.best)


def joining_pairs(pool: Pool) -> BoolArray:
    """Return (N,) open pairs between separate parts of the comparison graph; none if it is connected."""
    group = pool.groups()
    joining: BoolArray = (pool.open_per_pair > 0) & (group[pool.low] != group[pool.high])
    return joining
