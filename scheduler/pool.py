"""The pool of items that may still be asked, while one plan is made. It is sparse: it stores used items only."""

from __future__ import annotations

from collections import deque

import numpy as np

from irt_engine.arrays import BoolArray, IntArray
from irt_engine.models.comparison_graph import groups_of
from scheduler.overlap import OverlapSample
from scheduler.state import CampaignState


class Pool:
    """Store the open items of a state during one plan.

    Pairs are numbered in the order of `low` and `high` (N,).

    Parameters
    ----------
    state : CampaignState
        The state.
    """

    def __init__(self, state: CampaignState) -> None:
        self.chatbots, self.prompts = len(state.chatbots), len(state.prompts)
        self.votes_per_item, self.votes_per_pair = state.votes_per_item, state.votes_per_pair
        self.low, self.high = (x.astype(np.int64) for x in np.triu_indices(self.chatbots, 1))
        self.retired = np.zeros(self.prompts, bool)
        self.retired[state.retired] = True
        used = np.concatenate([state.judged, state.pending])
        self.pair_votes = np.bincount(self.pairs_of(used), minlength=len(self.low))
        self.prompt_votes = np.bincount(used[:, 2], minlength=self.prompts)
        self._lots = OverlapSample(state.overlap, state.chatbots, state.prompts)
        self._overlap, self._most = state.overlap.votes, state.most_votes
        self._codes, self._counts, self._shut = self._used_items(used, state.closed)
        self._open = self._count_open()
        self._connected, self._group = False, np.ones(self.chatbots, np.int64)
        self._rows: dict[int, tuple[IntArray, BoolArray, IntArray]] = {}
        self._begun = self._begun_items()

    @property
    def open_per_pair(self) -> IntArray:
        """Return the number (N,) of open prompts of each pair; 0 for a pair with all its votes."""
        return self._open

    @property
    def total(self) -> int:
        """Return the number of open items."""
        return int(self._open.sum())

    def pairs_of(self, items: IntArray) -> IntArray:
        """Return the pair of each item.

        Parameters
        ----------
        items : ndarray of int, shape (n, 3)
            Items (a, b, prompt).

        Returns
        -------
        ndarray of int, shape (n,)
            Numbers of the pairs.
        """
        a, b = items[:, 0], items[:, 1]
        number: IntArray = a * self.chatbots - a * (a + 1) // 2 + b - a - 1
        return number

    def votes(self, pair: int) -> IntArray:
        """Return a pair's votes on each prompt, judged or pending.

        Parameters
        ----------
        pair : int
            Number of the pair.

        Returns
        -------
        ndarray of int, shape (J,)
            Votes.
        """
        return self._row(pair)[0]

    def open_prompts(self, pair: int) -> IntArray:
        """Return a pair's open prompts.

        Parameters
        ----------
        pair : int
            Number of the pair.

        Returns
        -------
        ndarray of int
            Prompts in ascending order.
        """
        votes, shut, wanted = self._row(pair)
        if self._open[pair] == 0:
            return np.empty(0, np.int64)
        return np.flatnonzero(~shut & (votes < wanted))

    def open_pairs(self, prompt: int) -> IntArray:
        """Return a prompt's open pairs.

        Parameters
        ----------
        prompt : int
            The prompt.

        Returns
        -------
        ndarray of int
            Pairs in ascending order.
        """
        free = self._open_at_first(np.arange(len(self.low)), np.full(len(self.low), prompt))
        for pair, (votes, shut, wanted) in self._rows.items():
            free[pair] = self._open[pair] > 0 and not shut[prompt] and votes[prompt] < wanted[prompt]
        return np.flatnonzero(free)

    def open_items(self, items: IntArray) -> BoolArray:
        """Return which items may still be asked.

        Parameters
        ----------
        items : ndarray of int, shape (n, 3)
            The items.

        Returns
        -------
        ndarray of bool, shape (n,)
            Whether each is open. Votes that were taken since are not counted.
        """
        return self._open_at_first(self.pairs_of(items), items[:, 2])

    def begun(self) -> tuple[int, int] | None:
        """Return the oldest item of the overlap that needs its next vote.

        Returns
        -------
        (int, int) or None
            Pair and prompt; None if there is none.
        """
        while self._begun:
            pair, prompt = self._begun[0]
            votes, shut, _ = self._row(pair)
            if self._open[pair] > 0 and not shut[prompt] and votes[prompt] < self._overlap:
                return pair, prompt
            self._begun.popleft()
        return None

    def below_cap(self, cap: float) -> BoolArray:
        """Return the open pairs that one more vote keeps within a share of all votes.

        Parameters
        ----------
        cap : float
            Largest share; at least four even shares are allowed.

        Returns
        -------
        ndarray of bool, shape (N,)
            Allowed pairs; all open pairs if none would be left.
        """
        open_ = self._open > 0
        share = max(cap, 4.0 / max(len(self.low), 1))
        below: BoolArray = open_ & (self.pair_votes + 1 <= max(1.0, share * (self.pair_votes.sum() + 1)))
        return below if below.any() else open_

    def take(self, pair: int, prompt: int) -> None:
        """Count one more pending vote on an item.

        Parameters
        ----------
        pair, prompt : int
            The item.
        """
        votes, shut, wanted = self._row(pair)
        votes[prompt] += 1
        self.pair_votes[pair] += 1
        self.prompt_votes[prompt] += 1
        if self.votes_per_pair is not None and self.pair_votes[pair] >= self.votes_per_pair:
            self._open[pair] = 0
        elif votes[prompt] == wanted[prompt] and not shut[prompt]:
            self._open[pair] -= 1
        if votes[prompt] == 1 and self._chosen(pair, np.array([prompt]))[0]:
            self._begun.append((pair, prompt))

    def degrees(self) -> IntArray:
        """Return the number of votes about each chatbot.

        Returns
        -------
        ndarray of int, shape (M,)
            Votes, judged or pending.
        """
        degree = np.bincount(self.low, self.pair_votes, self.chatbots)
        degree += np.bincount(self.high, self.pair_votes, self.chatbots)
        return degree.astype(np.int64)

    def groups(self) -> IntArray:
        """Return the connected component of each chatbot.

        Votes are only added, so that a connected graph stays connected.

        Returns
        -------
        ndarray of int, shape (M,)
            Components, judged or pending; 1 is the largest.
        """
        if not self._connected:
            seen = self.pair_votes > 0
            self._group = groups_of(self.chatbots, self.low[seen], self.high[seen])
            self._connected = bool(self._group.max(initial=1) == 1)
        return self._group

    def _used_items(self, used: IntArray, closed: IntArray) -> tuple[IntArray, IntArray, BoolArray]:
        """Code (pair times J plus prompt) of every item with votes or closed, its votes, and whether it is shut."""
        of_used, of_closed = (self.pairs_of(x) * self.prompts + x[:, 2] for x in (used, closed))
        codes, index = np.unique(np.concatenate([of_used, of_closed]), return_inverse=True)
        counts = np.bincount(index[: len(of_used)], minlength=len(codes))
        shut = self.retired[codes % max(self.prompts, 1)]
        shut[index[len(of_used) :]] = True
        return codes, counts, shut

    def _count_open(self) -> IntArray:
        """(N,) prompts that are not retired, minus the pair's items among them that are closed or full."""
        J = max(self.prompts, 1)
        out = (self._shut | (self._counts >= self._wanted(self._codes))) & ~self.retired[self._codes % J]
        count = np.full(len(self.low), self.prompts - self.retired.sum(), np.int64)
        count -= np.bincount(self._codes[out] // J, minlength=len(self.low))
        if self.votes_per_pair is not None:
            count[self.pair_votes >= self.votes_per_pair] = 0
        return count

    def _open_at_first(self, pair: IntArray, prompt: IntArray) -> BoolArray:
        """(n,) whether these items were open before any vote was taken."""
        free: BoolArray = (self._open[pair] > 0) & ~self.retired[prompt]
        at = pair * self.prompts + prompt
        place = np.minimum(np.searchsorted(self._codes, at), max(len(self._codes) - 1, 0))
        if len(self._codes):
            there = self._codes[place] == at
            free &= ~(there & (self._shut[place] | (self._counts[place] >= self._wanted(at))))
        return free

    def _begun_items(self) -> deque[tuple[int, int]]:
        """Items of the overlap that have some of their votes: they are finished before others are begun."""
        under_way = (self._counts > 0) & (self._counts < self._overlap) & ~self._shut
        codes = self._codes[under_way]
        pairs, prompts = codes // max(self.prompts, 1), codes % max(self.prompts, 1)
        mine = self._chosen(pairs, prompts)
        return deque(zip(pairs[mine].tolist(), prompts[mine].tolist(), strict=True))

    def _chosen(self, pair: IntArray | int, prompt: IntArray) -> BoolArray:
        """(n,) whether the overlap wants more votes of these items."""
        return self._lots.chosen(self.low[pair], self.high[pair], prompt)

    def _wanted(self, codes: IntArray) -> IntArray:
        """(n,) votes wanted of each item."""
        J = max(self.prompts, 1)
        return np.where(self._chosen(codes // J, codes % J), self._most, self.votes_per_item)

    def _row(self, pair: int) -> tuple[IntArray, BoolArray, IntArray]:
        """Votes (J,), shut (J,) and votes wanted (J,) of a pair's items, made when it is first looked at."""
        if pair not in self._rows:
            start = pair * self.prompts
            part = slice(*np.searchsorted(self._codes, [start, start + self.prompts]))
            votes, shut = np.zeros(self.prompts, np.int64), self.retired.copy()
            at = self._codes[part] - start
            votes[at], shut[at] = self._counts[part], self._shut[part]
            self._rows[pair] = votes, shut, self._wanted(start + np.arange(self.prompts))
        return self._rows[pair]
