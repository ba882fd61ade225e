"""Prompt policies: with which probability each open prompt of a chosen pair comes next."""

from __future__ import annotations

import numpy as np

from irt_engine.arrays import FloatArray, IntArray
from scheduler.belief import Belief
from scheduler.policies.item_sampling import shortlisted, uniform_over
from scheduler.pool import Pool


class UniformPrompts:
    """All open prompts alike."""

    def probabilities(self, pool: Pool, pair: int, prompts: IntArray) -> FloatArray:
        """Return the probability of each of the pair's open prompts."""
        return np.full(len(prompts), 1.0 / len(prompts))


class LeastUsedPrompts:
    """The prompts with the fewest votes, so that an early plan uses all of them."""

    def probabilities(self, pool: Pool, pair: int, prompts: IntArray) -> FloatArray:
        """Return the probability of each of the pair's open prompts."""
        votes = pool.prompt_votes[prompts]
        return uniform_over(votes == votes.min())


class MostInformativePrompts:
    """The prompts with the highest expected information about the pair; equal ones in favour of the less used.

    Information is expected under the uncertainty of the prompt and grows with it, so that prompts with few votes are
    tried.
    """

    def __init__(self, belief: Belief, floor: float, best: int) -> None:
        self.belief, self.floor, self.best = belief, floor, best

    def probabilities(self, pool: Pool, pair: int, prompts: IntArray) -> FloatArray:
        """Return the probability of each of the pair's open prompts."""
        information = self.belief.information(pair, pool.votes(pair))[prompts]
        # A relative 1e-9 per vote: enough to order equals, too little to reorder anything else.
        score = information * (1.0 - 1e-9 * np.minimum(pool.prompt_votes[prompts], 10_000))
        return shortlisted(score, self.floor, self.best)
