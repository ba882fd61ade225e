"""Prompt policies: with which probability each open prompt of a chosen pair comes next."""

from __future__ import annotations

import numpy as np

from irt_engine.arrays import FloatArray, IntArray
from scheduler.belief import Belief
from scheduler.policies.item_sampling import shortlisted, uniform_over
from scheduler.pool import Pool


class UniformPrompts:
    """Draw all open prompts with equal probability."""

    def probabilities(self, pool: Pool, pair: int, prompts: IntArray) -> FloatArray:
        """Return the probability of each open prompt; see `PromptPolicy.probabilities`."""
        return np.full(len(prompts), 1.0 / len(prompts))


class LeastUsedPrompts:
    """Draw the prompts with the fewest votes, so that an early plan uses all of them."""

    def probabilities(self, pool: Pool, pair: int, prompts: IntArray) -> FloatArray:
        """Return the probability of each open prompt; see `PromptPolicy.probabilities`."""
        votes = pool.prompt_votes[prompts]
        return uniform_over(votes == votes.min())


class MostInformativePrompts:
    """Draw the prompts with the highest expected information about the pair; of equal ones, the less used.

    The expected information grows with the uncertainty of the prompt, so that prompts with few votes are tried.

    Parameters
    ----------
    belief : Belief
        The beliefs about the board.
    floor : float
        Share of the draws that is uniform over all open prompts.
    best : int
        Number of prompts to draw from.
    """

    def __init__(self, belief: Belief, floor: float, best: int) -> None:
        self.belief, self.floor, self.best = belief, floor, best

    def probabilities(self, pool: Pool, pair: int, prompts: IntArray) -> FloatArray:
        """Return the probability of each open prompt; see `PromptPolicy.probabilities`."""
        information = self.belief.information(pair, pool.votes(pair))[prompts]
        # A relative 1e-9 per vote: enough to order equals, too little to reorder anything else.
        score = information * (1.0 - 1e-9 * np.minimum(pool.prompt_votes[prompts], 10_000))
        return shortlisted(score, self.floor, self.best)
