"""PairPolicy and its kinds: with which probability each pair is asked next."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from irt_engine.arrays import FloatArray
from irt_engine.graph import groups_of

from .belief import Belief
from .pool import Pool

SHORTLIST = 5  # randomesque: the best few share the draw, so that no pair or prompt is certain to come next
FLOOR = 0.2  # exploration: this share of draws ignores values; it keeps every open item possible


class PairPolicy(Protocol):
    """Probabilities of the next pair. Pairs without an open item get 0; the others need not get more."""

    def probabilities(self, pool: Pool) -> FloatArray:
        """(N,) summing to 1; the pool has at least one open item."""
        ...


def shortlisted(score: FloatArray, floor: float = FLOOR, best: int = SHORTLIST) -> FloatArray:
    """Uniform over the `best` highest scores with probability 1 - floor, uniform over all with `floor`.

    Scores of -inf are out. Equal scores are cut by position, so the result is deterministic.
    """
    allowed = np.isfinite(score)
    count = min(best, int(allowed.sum()))
    if len(score) > 4 * count:
        edge = np.partition(score, len(score) - count)[len(score) - count]
        near = np.flatnonzero(score >= edge)
    else:
        near = np.arange(len(score))
    top = near[np.argsort(-score[near], kind="stable")[:count]]
    p = np.where(allowed, floor / allowed.sum(), 0.0)
    p[top] += (1.0 - floor) / count
    total: FloatArray = p / p.sum()
    return total


class UniformPairs:
    """In proportion to open items: every open item is equally likely."""

    def probabilities(self, pool: Pool) -> FloatArray:
        p: FloatArray = pool.open_per_pair / pool.open_per_pair.sum()
        return p


class BalancedPairs:
    """Before the first fit: first join separate parts of the graph, then level the votes per chatbot and pair."""

    def probabilities(self, pool: Pool) -> FloatArray:
        open_ = pool.open_per_pair > 0
        seen = pool.seen()
        group = groups_of(pool.chatbots, pool.low[seen], pool.high[seen])
        joining = open_ & (group[pool.low] != group[pool.high])
        candidates = joining if joining.any() else open_
        degree = pool.degrees()
        load = np.stack([pool.pair_votes, degree[pool.low] + degree[pool.high]])
        for row in load if not joining.any() else load[1:]:
            candidates = candidates & (row == row[candidates].min())
        p: FloatArray = candidates / candidates.sum()
        return p


class LeastCertainPairs:
    """The pairs about which one typical judgment is expected to tell most: log(1 + I Var(s_b - s_a)) in nats.

    That is the least certain pair among those that a judgment can inform: a lopsided pair is uncertain too, but its
    outcome is known beforehand and its I is near 0.
    """

    def __init__(self, belief: Belief) -> None:
        self.belief = belief

    def probabilities(self, pool: Pool) -> FloatArray:
        gain = np.log1p(self.belief.typical * self.belief.variance)
        return shortlisted(np.where(pool.open_per_pair > 0, gain, -np.inf))
