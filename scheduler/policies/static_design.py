"""The static design of Sedoc & Ungar (2020): every pair on the same prompts, one prompt after the other.

Prompts come at random until the first fit, then by discrimination. A prompt that was begun is finished on all pairs,
with all votes of an item (`votes_per_item`; three in the paper), before the next one begins.
"""

from __future__ import annotations

import numpy as np

from irt_engine.arrays import IntArray
from scheduler.policies.item_sampling import Draw, even, pick
from scheduler.pool import Pool
from scheduler.prompt_information import discriminations
from scheduler.state import CampaignState


class StaticDesign:
    """The chooser of policy `paper`."""

    def __init__(self, state: CampaignState) -> None:
        posterior = state.posterior
        self.discrimination = discriminations(state, posterior) if posterior else np.zeros(len(state.prompts))
        by = "by their discrimination" if posterior else "at random before the first fit"
        self.reason = f"every pair on the same prompts, {by}"
        self._prompt = -1
        self._of_prompt = 1.0

    def draw(self, pool: Pool, rng: np.random.Generator) -> Draw:
        pairs = pool.open_pairs(self._prompt) if self._prompt >= 0 else np.empty(0, np.int64)
        of_prompt = 1.0
        if len(pairs) == 0:
            of_prompt, pairs = self._next_prompt(pool, rng)
        begun = np.array([pool.votes(pair)[self._prompt] for pair in pairs.tolist()])
        of_pair = even(begun == begun.max())
        chosen = pick(of_pair, rng)
        return Draw(int(pairs[chosen]), self._prompt, float(of_prompt * of_pair[chosen]))

    def expect(self, pool: Pool, pair: int, prompt: int) -> float:
        return 0.0

    def _next_prompt(self, pool: Pool, rng: np.random.Generator) -> tuple[float, IntArray]:
        """The prompt under way, or else the next best one: its probability and its open pairs."""
        score = np.where(pool.prompt_votes > 0, np.inf, self.discrimination)
        left = np.ones(pool.prompts, bool)
        while True:  # ends: a pool has an open item, so some prompt has one
            p = even(left & (score == score[left].max()))
            self._prompt = pick(p, rng)
            pairs = pool.open_pairs(self._prompt)
            if len(pairs):
                return float(p[self._prompt]), pairs
            left[self._prompt] = False
