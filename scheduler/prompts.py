"""PromptPolicies: with which probability each open prompt of a chosen pair is asked."""

from __future__ import annotations

import numpy as np

from irt_engine.arrays import FloatArray, IntArray

from .belief import Belief
from .draws import even, shortlisted
from .pool import Pool


class UniformPrompts:
    """All open prompts alike."""

    def probabilities(self, pool: Pool, pair: int, prompts: IntArray) -> FloatArray:
        return np.full(len(prompts), 1.0 / len(prompts))


class LeastUsedPrompts:
    """The prompts with the fewest votes so far, so that an early plan sees all of them."""

    def probabilities(self, pool: Pool, pair: int, prompts: IntArray) -> FloatArray:
        votes = pool.prompt_votes[prompts]
        return even(votes == votes.min())


class MostInformativePrompts:
    """The prompts with the highest expected information about the pair; equal ones in favour of the less used.

    Votes of one cell share an effect of variance c^2 on the logit scale, so a cell's next vote teaches less: with i the
    information of a first one about the logit, n votes are worth i n / (1 + n i c^2) of what n cells would be (the same
    algebra as for a pair's own effect, see `belief`).
    """

    def __init__(self, belief: Belief, floor: float, best: int) -> None:
        self.belief, self.floor, self.best = belief, floor, best

    def probabilities(self, pool: Pool, pair: int, prompts: IntArray) -> FloatArray:
        information = self.belief.information(pair)[prompts]
        overlap = information * self.belief.cell_variance
        information = information / (1.0 + pool.votes(pair)[prompts] * overlap) ** 2
        # A relative 1e-9 per vote: enough to order equals, too little to reorder anything else.
        score = information * (1.0 - 1e-9 * np.minimum(pool.prompt_votes[prompts], 10_000))
        return shortlisted(score, self.floor, self.best)
