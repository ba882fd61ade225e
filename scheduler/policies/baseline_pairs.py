"""Published pair policies, as baselines: all read the board's posterior instead of estimates of their own."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.special import expit, log_ndtr, ndtr

from irt_engine.arrays import BoolArray, FloatArray, IntArray
from scheduler.belief import Belief
from scheduler.policies.item_sampling import uniform_over
from scheduler.policies.pair_selection import BalancedPairs
from scheduler.pool import Pool

_SAMPLES = 512  # posterior draws of `ThompsonPairs`
_PROBIT = 1.702  # sigma(x) is within .01 of Phi(x / 1.702)


class ArenaPairs:
    """Draw pairs in proportion to the decrease of the interval's width, sqrt(S_aa / n) - sqrt(S_aa / (n + 1)).

    S_aa is the variance p (1 - p) of one vote on pair a, and n the number of its votes. Pairs without votes come first.

    Parameters
    ----------
    belief : Belief
        The beliefs about the board.

    References
    ----------
    W.-L. Chiang et al. (2024), Chatbot Arena: an open platform for evaluating LLMs by human preference, section 5.
    """

    def __init__(self, belief: Belief) -> None:
        p = _win_probability(belief)
        self.deviation = np.sqrt(p * (1.0 - p))

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        """Return the probability of each pair; see `PairPolicy.probabilities`."""
        open_, n = pool.open_per_pair > 0, pool.pair_votes
        unseen = open_ & (n == 0)
        if unseen.any():
            return uniform_over(unseen)
        at = np.maximum(n, 1)
        fall = np.where(open_, self.deviation * (1.0 / np.sqrt(at) - 1.0 / np.sqrt(at + 1)), 0.0)
        p: FloatArray = fall / fall.sum()
        return p


class SwissPairs:
    """Draw pairs as a Swiss tournament.

    In each round, every chatbot meets the nearest one in the standings that it has met least often. The next to play is
    the best placed of those with the fewest games. Its opponent has also played least, if possible.

    Parameters
    ----------
    belief : Belief
        The beliefs about the board.
    """

    def __init__(self, belief: Belief) -> None:
        self.place = np.empty(len(belief.mean), np.int64)
        self.place[np.argsort(-belief.mean, kind="stable")] = np.arange(len(belief.mean))

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        """Return the probability of each pair; see `PairPolicy.probabilities`."""
        games = pool.degrees()
        candidates = pool.open_per_pair > 0
        fewest = np.minimum(games[pool.low], games[pool.high])
        apart = np.abs(self.place[pool.low] - self.place[pool.high])
        first = np.minimum(self.place[pool.low], self.place[pool.high])
        for load in (fewest, games[pool.low] + games[pool.high], pool.pair_votes, apart, first):
            candidates = candidates & (load == load[candidates].min())
        return uniform_over(candidates)


class EntropyPairs:
    """Draw the pair whose outcome has the largest entropy, with abilities integrated out (uncertainty sampling).

    Parameters
    ----------
    belief : Belief
        The beliefs about the board.

    References
    ----------
    D. D. Lewis and W. A. Gale (1994), A sequential algorithm for training text classifiers, SIGIR 1994, 3-12.
    """

    def __init__(self, belief: Belief) -> None:
        self.belief = belief

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        """Return the probability of each pair; see `PairPolicy.probabilities`."""
        p = _win_probability(self.belief)
        entropy = -(p * np.log(p) + (1.0 - p) * np.log1p(-p))
        open_ = pool.open_per_pair > 0
        best = open_ & (entropy >= entropy[open_].max() * (1.0 - 1e-12))
        return uniform_over(best)


class ThompsonPairs:
    """Draw pairs by double Thompson sampling: the best chatbot of one posterior draw against that of another.

    If both are the same, the second best of the second draw is taken. The probabilities are shares among a fixed set of
    draws; pairs that are not open are excluded.

    Parameters
    ----------
    belief : Belief
        The beliefs about the board.

    References
    ----------
    H. Wu and X. Liu (2016), Double Thompson sampling for dueling bandits, NIPS 2016.
    """

    def __init__(self, belief: Belief) -> None:
        self.belief = belief
        self.shares: FloatArray | None = None

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        """Return the probability of each pair; see `PairPolicy.probabilities`."""
        if self.shares is None:
            self.shares = self._sample(pool, rng)
        p = np.where(pool.open_per_pair > 0, self.shares, 0.0)
        if p.sum() == 0.0:
            return uniform_over(pool.open_per_pair > 0)
        total: FloatArray = p / p.sum()
        return total

    def _sample(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        values, vectors = np.linalg.eigh(self.belief.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        one, two = (self.belief.mean + rng.standard_normal((_SAMPLES, len(root))) @ root.T for _ in range(2))
        first = one.argmax(axis=1)
        two[np.arange(_SAMPLES), first] = -np.inf
        second = two.argmax(axis=1)
        ends = np.column_stack([np.minimum(first, second), np.maximum(first, second)])
        return np.bincount(pool.pairs_of(ends), minlength=len(pool.low)) / _SAMPLES


class AsapPairs:
    """Draw pairs by the expected information gain of a Gaussian posterior per chatbot, in batches.

    The gain of a pair is the expected KL divergence of both marginals after the answer from those before, by moment
    matching under a probit vote (TrueSkill). A batch is the minimum spanning tree of the inverse gains. Its edges are
    asked in random order. The next tree uses the posterior with these answers expected.

    Parameters
    ----------
    belief : Belief
        The beliefs about the board.

    References
    ----------
    A. Mikhailiuk et al. (2021), Active sampling for pairwise comparisons via approximate message passing and
    information gain maximization, ICPR 2020.
    """

    def __init__(self, belief: Belief) -> None:
        self.belief = belief
        self.batch: IntArray = np.empty(0, np.int64)

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        """Return the probability of each pair; see `PairPolicy.probabilities`."""
        left = np.zeros(len(pool.low), bool)
        left[self.batch] = True
        left &= (pool.open_per_pair > 0) & (pool.pair_votes == self._votes_then(pool))
        if not left.any():
            left = self._tree(pool)
            self.batch, self.then = np.flatnonzero(left), pool.pair_votes.copy()
        return uniform_over(left)

    def _votes_then(self, pool: Pool) -> IntArray:
        return self.then if len(self.batch) else pool.pair_votes

    def _tree(self, pool: Pool) -> BoolArray:
        gain = self._gains()
        open_ = np.flatnonzero(pool.open_per_pair > 0)
        M = pool.chatbots
        weights = csr_array((1.0 / np.maximum(gain[open_], 1e-300), (pool.low[open_], pool.high[open_])), shape=(M, M))
        rows, columns = minimum_spanning_tree(weights).nonzero()
        ends = np.column_stack([np.minimum(rows, columns), np.maximum(rows, columns)]).astype(np.int64)
        tree = np.zeros(len(pool.low), bool)
        tree[pool.pairs_of(ends)] = True
        return tree

    def _gains(self) -> FloatArray:
        """(N,) sum over both answers of P(answer) times the KL divergence of both chatbots' marginals."""
        low, high = self.belief.low, self.belief.high
        variance = np.maximum(np.diag(self.belief.covariance), 1e-12)
        total = variance[low] + variance[high] + _PROBIT**2
        difference = (self.belief.mean[high] - self.belief.mean[low]) / np.sqrt(total)
        gain = np.zeros(len(low))
        for sign in (1.0, -1.0):
            t = sign * difference
            v = np.exp(-0.5 * t**2 - 0.5 * np.log(2.0 * np.pi) - log_ndtr(t))
            w = v * (v + t)
            for of in (variance[low], variance[high]):
                kept = 1.0 - of / total * w  # the variance after over that before
                gain += ndtr(t) * 0.5 * (kept - 1.0 - np.log(kept) + of / total * v**2)
        return gain


class RmedPairs:
    """Draw pairs by RMED1, a dueling bandit that looks for the best chatbot.

    I_i = sum over j with p_ij <= 1/2 of N_ij d(p_ij, 1/2) is the evidence against i as the best. Candidates have at
    most log t + f(M) more of it than the chatbot i* with the least, f(M) = .3 M^1.01. A candidate meets i* if i* beats
    it, or no chatbot does; otherwise it meets the chatbot that beats it most clearly. p_ij is the posterior's. The
    candidate with the fewest votes is next, while the publication takes them in turn.

    Parameters
    ----------
    belief : Belief
        The beliefs about the board.

    References
    ----------
    J. Komiyama, J. Honda, H. Kashima and H. Nakagawa (2015), Regret lower bound and optimal algorithm in dueling bandit
    problem, COLT 2015, algorithm 1.
    """

    def __init__(self, belief: Belief) -> None:
        self.beats = np.full((len(belief.mean), len(belief.mean)), 0.5)
        p = _win_probability(belief)
        self.beats[belief.high, belief.low], self.beats[belief.low, belief.high] = p, 1.0 - p

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        """Return the probability of each pair; see `PairPolicy.probabilities`."""
        open_ = pool.open_per_pair > 0
        unseen = open_ & (pool.pair_votes == 0)
        if unseen.any():
            return uniform_over(unseen)
        chosen = self._opponents(pool)
        return uniform_over(chosen) if chosen.any() else BalancedPairs().probabilities(pool, rng)

    def _opponents(self, pool: Pool) -> BoolArray:
        """(N,) the pair of the next candidate, or of the next one whose pair is open."""
        M, p = pool.chatbots, self.beats
        N = np.zeros((M, M))
        N[pool.low, pool.high] = N[pool.high, pool.low] = pool.pair_votes
        against = np.where(p <= 0.5, N * (np.log(2.0) + _negative_entropy(p)), 0.0).sum(axis=1)
        best = int(against.argmin())
        reach = np.log(max(pool.pair_votes.sum(), 1)) + 0.3 * M**1.01
        candidates = np.flatnonzero(against - against[best] <= reach)
        found = np.zeros(len(pool.low), bool)
        for i in candidates[np.argsort(pool.degrees()[candidates], kind="stable")]:
            other = p[i].copy()
            other[i] = 1.0
            rival = best if i != best and (p[i, best] <= 0.5 or (other > 0.5).all()) else int(other.argmin())
            pair = pool.pairs_of(np.array([[min(i, rival), max(i, rival), 0]]))[0]
            if pool.open_per_pair[pair] > 0:
                found[pair] = True
                return found
        return found


def _win_probability(belief: Belief) -> FloatArray:
    """(N,) P(`high` beats `low`) at a typical prompt, the difference of their abilities integrated out (probit)."""
    shrunk = (belief.mean[belief.high] - belief.mean[belief.low]) / np.sqrt(1.0 + belief.variance / _PROBIT**2)
    p: FloatArray = np.clip(expit(shrunk), 1e-9, 1.0 - 1e-9)
    return p


def _negative_entropy(p: FloatArray) -> FloatArray:
    value: FloatArray = p * np.log(p) + (1.0 - p) * np.log1p(-p)
    return value
