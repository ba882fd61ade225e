"""PromptPolicy and its kinds: with which probability each open prompt of a chosen pair is asked."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from irt_engine.arrays import FloatArray, IntArray

from .belief import Belief
from .pairs import shortlisted
from .pool import Pool


class PromptPolicy(Protocol):
    """Probabilities of the next prompt, given the pair."""

    def probabilities(self, pool: Pool, pair: int, prompts: IntArray) -> FloatArray:
        """(len(prompts),) summing to 1; `prompts` are the pair's open ones, at least one."""
        ...


class UniformPrompts:
    """All open prompts alike."""

    def probabilities(self, pool: Pool, pair: int, prompts: IntArray) -> FloatArray:
        return np.full(len(prompts), 1.0 / len(prompts))


class LeastUsedPrompts:
    """The prompts with the fewest votes so far, so that an early plan sees all of them."""

    def probabilities(self, pool: Pool, pair: int, prompts: IntArray) -> FloatArray:
        votes = pool.prompt_votes[prompts]
        least = votes == votes.min()
        p: FloatArray = least / least.sum()
        return p


class MostInformativePrompts:
    """The prompts with the highest expected information about the pair; equal ones in favour of the less used."""

    def __init__(self, belief: Belief) -> None:
        self.belief = belief

    def probabilities(self, pool: Pool, pair: int, prompts: IntArray) -> FloatArray:
        information = self.belief.information(pair)[prompts]
        # A relative 1e-9 per vote: enough to order equals, too little to reorder anything else.
        return shortlisted(information * (1.0 - 1e-9 * np.minimum(pool.prompt_votes[prompts], 10_000)))
