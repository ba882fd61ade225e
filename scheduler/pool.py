"""The items that may still be asked, while one plan is made. Sparse: it holds used items, never all M^2 J of them."""

from __future__ import annotations

import numpy as np

from irt_engine.arrays import BoolArray, IntArray
from irt_engine.graph import groups_of

from .state import CampaignState


class Pool:
    """Open items of a state. Pairs are numbered as `low`, `high` (N,) list them. Lives for one call."""

    def __init__(self, state: CampaignState) -> None:
        self.chatbots, self.prompts = len(state.chatbots), len(state.prompts)
        self.votes_per_item, self.votes_per_pair = state.votes_per_item, state.votes_per_pair
        self.low, self.high = (x.astype(np.int64) for x in np.triu_indices(self.chatbots, 1))
        used = np.concatenate([state.judged, state.pending])
        self.pair_votes = np.bincount(self.pairs_of(used), minlength=len(self.low))
        self.prompt_votes = np.bincount(used[:, 2], minlength=self.prompts)
        self._codes, self._counts, self._shut = self._used_items(used, state.closed)
        self._open = np.full(len(self.low), self.prompts, np.int64)
        full = self._codes[self._shut | (self._counts >= self.votes_per_item)] // max(self.prompts, 1)
        self._open -= np.bincount(full, minlength=len(self.low))
        self._connected, self._group = False, np.ones(self.chatbots, np.int64)
        self._rows: dict[int, tuple[IntArray, BoolArray]] = {}
        if self.votes_per_pair is not None:
            self._open[self.pair_votes >= self.votes_per_pair] = 0

    @property
    def open_per_pair(self) -> IntArray:
        """(N,) number of prompts that each pair may still be asked on; 0 for a pair that has all its votes."""
        return self._open

    @property
    def total(self) -> int:
        """Number of open items."""
        return int(self._open.sum())

    def pairs_of(self, items: IntArray) -> IntArray:
        """(n, 3) items -> (n,) pair numbers."""
        a, b = items[:, 0], items[:, 1]
        number: IntArray = a * self.chatbots - a * (a + 1) // 2 + b - a - 1
        return number

    def votes(self, pair: int) -> IntArray:
        """(J,) votes of the pair on every prompt, judged or on their way."""
        return self._row(pair)[0]

    def open_prompts(self, pair: int) -> IntArray:
        """The prompts that a pair may still be asked on, increasing."""
        votes, shut = self._row(pair)
        if self._open[pair] == 0:
            return np.empty(0, np.int64)
        return np.flatnonzero(~shut & (votes < self.votes_per_item))

    def open_pairs(self, prompt: int) -> IntArray:
        """The pairs that may still be asked on a prompt, increasing. O(N) look-ups."""
        at = np.arange(len(self.low)) * self.prompts + prompt
        place = np.minimum(np.searchsorted(self._codes, at), max(len(self._codes) - 1, 0))
        free = self._open > 0
        if len(self._codes):
            there = self._codes[place] == at
            free &= ~(there & (self._shut[place] | (self._counts[place] >= self.votes_per_item)))
        for pair, (votes, shut) in self._rows.items():
            free[pair] = self._open[pair] > 0 and not shut[prompt] and votes[prompt] < self.votes_per_item
        return np.flatnonzero(free)

    def take(self, pair: int, prompt: int) -> None:
        """One more vote is on its way to this item."""
        votes, shut = self._row(pair)
        votes[prompt] += 1
        self.pair_votes[pair] += 1
        self.prompt_votes[prompt] += 1
        if self.votes_per_pair is not None and self.pair_votes[pair] >= self.votes_per_pair:
            self._open[pair] = 0
        elif votes[prompt] == self.votes_per_item and not shut[prompt]:
            self._open[pair] -= 1

    def degrees(self) -> IntArray:
        """(M,) votes that touch each chatbot."""
        degree = np.bincount(self.low, self.pair_votes, self.chatbots)
        degree += np.bincount(self.high, self.pair_votes, self.chatbots)
        return degree.astype(np.int64)

    def groups(self) -> IntArray:
        """(M,) part of the graph of judged and pending pairs that each chatbot is in; 1 the largest.

        Votes are only ever added, so a graph that was found connected stays so.
        """
        if not self._connected:
            seen = self.pair_votes > 0
            self._group = groups_of(self.chatbots, self.low[seen], self.high[seen])
            self._connected = bool(self._group.max(initial=1) == 1)
        return self._group

    def _used_items(self, used: IntArray, closed: IntArray) -> tuple[IntArray, IntArray, BoolArray]:
        """Code (pair times J plus prompt) of every item with votes or closed, its votes, and whether it is closed."""
        of_used, of_closed = (self.pairs_of(x) * self.prompts + x[:, 2] for x in (used, closed))
        codes, index = np.unique(np.concatenate([of_used, of_closed]), return_inverse=True)
        counts = np.bincount(index[: len(of_used)], minlength=len(codes))
        shut = np.zeros(len(codes), bool)
        shut[index[len(of_used) :]] = True
        return codes, counts, shut

    def _row(self, pair: int) -> tuple[IntArray, BoolArray]:
        """Votes (J,) and closed (J,) of a pair, made when it is first looked at."""
        if pair not in self._rows:
            part = slice(*np.searchsorted(self._codes, [pair * self.prompts, (pair + 1) * self.prompts]))
            votes, shut = np.zeros(self.prompts, np.int64), np.zeros(self.prompts, bool)
            at = self._codes[part] - pair * self.prompts
            votes[at], shut[at] = self._counts[part], self._shut[part]
            self._rows[pair] = votes, shut
        return self._rows[pair]
