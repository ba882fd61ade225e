"""Pair policies: with which probability each open pair comes next."""

from __future__ import annotations

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray
from scheduler.belief import Belief
from scheduler.policies.design import AdaptiveDesign
from scheduler.policies.item_sampling import shortlisted, uniform_over
from scheduler.pool import Pool


class UniformPairs:
    """Draw pairs in proportion to their open items, so that every open item is equally likely."""

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        """Return the probability of each pair; see `PairPolicy.probabilities`."""
        p: FloatArray = pool.open_per_pair / pool.open_per_pair.sum()
        return p


class BalancedPairs:
    """Draw a balanced design before the first fit.

    Separate components are connected first; then votes per chatbot and pair are balanced.
    """

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        """Return the probability of each pair; see `PairPolicy.probabilities`."""
        joining = joining_pairs(pool)
        candidates = joining if joining.any() else pool.open_per_pair > 0
        degree = pool.degrees()
        load = np.stack([pool.pair_votes, degree[pool.low] + degree[pool.high]])
        for row in load if not joining.any() else load[1:]:
            candidates = candidates & (row == row[candidates].min())
        return uniform_over(candidates)


class LeastCertainPairs:
    """Draw the pairs with the largest expected information gain, log(1 + I Var(s_b - s_a)) in nats.

    A pair of very different chatbots is uncertain too, but its outcome is nearly known: its I is near 0.

    Parameters
    ----------
    belief : Belief
        The beliefs about the board.
    """

    def __init__(self, belief: Belief) -> None:
        self.belief = belief

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        """Return the probability of each pair; see `PairPolicy.probabilities`."""
        gain = np.log1p(self.belief.typical * self.belief.variance)
        return shortlisted(np.where(pool.open_per_pair > 0, gain, -np.inf))


class AdaptivePairs:
    """Draw the pairs whose next judgment decreases the target's expected variance most, with a floor and a cap.

    While the comparison graph (judged or pending) has separate components, only pairs that connect two of them are
    drawn.

    Parameters
    ----------
    belief : Belief
        The beliefs about the board.
    design : AdaptiveDesign
        Floor, cap and shortlist of the draws.
    """

    def __init__(self, belief: Belief, design: AdaptiveDesign) -> None:
        self.belief, self.design = belief, design

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        """Return the probability of each pair; see `PairPolicy.probabilities`."""
        joining = joining_pairs(pool)
        allowed = joining if joining.any() else pool.below_cap(self.design.cap)
        value = np.where(allowed, self.belief.falls(), -np.inf)
        return shortlisted(value, self.design.floor, self.design.best)


def joining_pairs(pool: Pool) -> BoolArray:
    """Return the open pairs between separate components of the comparison graph.

    Parameters
    ----------
    pool : Pool
        The open items.

    Returns
    -------
    ndarray of bool, shape (N,)
        The pairs; none if the graph is connected.
    """
    group = pool.groups()
    joining: BoolArray = (pool.open_per_pair > 0) & (group[pool.low] != group[pool.high])
    return joining
