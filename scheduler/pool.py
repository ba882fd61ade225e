"""The items that may still be asked, while one plan is made. Sparse: it holds used items, never all M^2 J of them."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from irt_engine.arrays import BoolArray, IntArray

from .state import CampaignState


class Pool:
    """Open items of a state. Pairs are numbered as `low`, `high` (N,) list them. Lives for one call."""

    def __init__(self, state: CampaignState) -> None:
        self.chatbots, self.prompts = len(state.chatbots), len(state.prompts)
        self.votes_per_item = state.votes_per_item
        self.low, self.high = (x.astype(np.int64) for x in np.triu_indices(self.chatbots, 1))
        self.pair_votes = np.zeros(len(self.low), np.int64)
        self.prompt_votes = np.zeros(self.prompts, np.int64)
        self._open = np.full(len(self.low), self.prompts, np.int64)
        self._votes: defaultdict[int, dict[int, int]] = defaultdict(dict)
        self._close(state.closed)
        self._count(np.concatenate([state.judged, state.pending]))

    @property
    def open_per_pair(self) -> IntArray:
        """(N,) number of prompts that each pair may still be asked on."""
        return self._open

    @property
    def total(self) -> int:
        """Number of open items."""
        return int(self._open.sum())

    def pair(self, a: int, b: int) -> int:
        """The number of the pair a < b."""
        return a * self.chatbots - a * (a + 1) // 2 + b - a - 1

    def pairs_of(self, items: IntArray) -> IntArray:
        """(n, 3) items -> (n,) pair numbers."""
        a, b = items[:, 0], items[:, 1]
        number: IntArray = a * self.chatbots - a * (a + 1) // 2 + b - a - 1
        return number

    def open_prompts(self, pair: int) -> IntArray:
        """The prompts that a pair may still be asked on, increasing."""
        free = np.ones(self.prompts, bool)
        votes = self._votes.get(pair, {})
        free[[j for j, n in votes.items() if n >= self.votes_per_item]] = False
        return np.flatnonzero(free)

    def take(self, pair: int, prompt: int) -> None:
        """One more vote is on its way to this item."""
        self._set(pair, prompt, self._votes[pair].get(prompt, 0) + 1)
        self.pair_votes[pair] += 1
        self.prompt_votes[prompt] += 1

    def degrees(self) -> IntArray:
        """(M,) votes that touch each chatbot."""
        degree = np.bincount(self.low, self.pair_votes, self.chatbots)
        degree += np.bincount(self.high, self.pair_votes, self.chatbots)
        return degree.astype(np.int64)

    def seen(self) -> BoolArray:
        """(N,) which pairs have a vote, judged or on its way."""
        return self.pair_votes > 0

    def _count(self, items: IntArray) -> None:
        if len(items) == 0:
            return
        pairs = self.pairs_of(items)
        self.pair_votes += np.bincount(pairs, minlength=len(self.low))
        self.prompt_votes += np.bincount(items[:, 2], minlength=self.prompts)
        codes, votes = np.unique(pairs * self.prompts + items[:, 2], return_counts=True)
        for code, n in zip(codes.tolist(), votes.tolist(), strict=True):
            pair, prompt = divmod(code, self.prompts)
            self._set(pair, prompt, self._votes[pair].get(prompt, 0) + n)

    def _close(self, items: IntArray) -> None:
        for pair, prompt in zip(self.pairs_of(items).tolist(), items[:, 2].tolist(), strict=True):
            self._set(pair, prompt, self.votes_per_item)

    def _set(self, pair: int, prompt: int, votes: int) -> None:
        before = self._votes[pair].get(prompt, 0)
        self._votes[pair][prompt] = votes
        if before < self.votes_per_item <= votes:
            self._open[pair] -= 1
