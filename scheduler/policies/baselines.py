"""Published pair policies as baselines for benchmarks, replays and simulations. No new campaign may use one.

All read the same posterior. Where a publication keeps an estimate of its own (win rates, TrueSkill), the board's
posterior replaces it, so that comparisons are of the choice and not of the estimator. Prompts are drawn at random,
because none of the publications chooses prompts, except for policy `paper` (Sedoc & Ungar 2020).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.special import expit, log_ndtr, ndtr

from irt_engine.arrays import BoolArray, FloatArray, IntArray
from scheduler.belief import Belief
from scheduler.policies.design import AdaptiveDesign, PolicyFactory
from scheduler.policies.item_sampling import (
    BEFORE_FIRST_FIT,
    Draw,
    ItemSampler,
    PairPolicy,
    PairThenPromptSampler,
    sample_index,
    uniform_over,
)
from scheduler.policies.pair_selection import BalancedPairs
from scheduler.policies.prompt_selection import UniformPrompts
from scheduler.pool import Pool
from scheduler.prompt_information import discriminations
from scheduler.reasons import Reason
from scheduler.state import CampaignState

_SAMPLES = 512  # posterior draws of `ThompsonPairs`
_PROBIT = 1.702  # sigma(x) is within .01 of Phi(x / 1.702)


class ArenaPairs:
    """In proportion to the fall of the interval's width, sqrt(S_aa / n) - sqrt(S_aa / (n + 1)) (Chiang et al. 2024, 5).

    S_aa is the variance of one vote on pair a, p (1 - p); n its votes. A pair without votes has no width yet: such
    pairs come first.
    """

    def __init__(self, belief: Belief) -> None:
        p = _win_probability(belief)
        self.deviation = np.sqrt(p * (1.0 - p))

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        open_, n = pool.open_per_pair > 0, pool.pair_votes
        unseen = open_ & (n == 0)
        if unseen.any():
            return uniform_over(unseen)
        at = np.maximum(n, 1)
        fall = np.where(open_, self.deviation * (1.0 / np.sqrt(at) - 1.0 / np.sqrt(at + 1)), 0.0)
        p: FloatArray = fall / fall.sum()
        return p


class SwissPairs:
    """A Swiss tournament: in each round everybody meets the nearest in the standings that he has met least often.

    The next to play is the best placed of those with the fewest games; his opponent has also played least, if possible.
    """

    def __init__(self, belief: Belief) -> None:
        self.place = np.empty(len(belief.mean), np.int64)
        self.place[np.argsort(-belief.mean, kind="stable")] = np.arange(len(belief.mean))

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        games = pool.degrees()
        candidates = pool.open_per_pair > 0
        fewest = np.minimum(games[pool.low], games[pool.high])
        apart = np.abs(self.place[pool.low] - self.place[pool.high])
        first = np.minimum(self.place[pool.low], self.place[pool.high])
        for load in (fewest, games[pool.low] + games[pool.high], pool.pair_votes, apart, first):
            candidates = candidates & (load == load[candidates].min())
        return uniform_over(candidates)


class EntropyPairs:
    """The pair whose next outcome is least certain: entropy of P(B better), abilities integrated out (uncertainty
    sampling, Lewis & Gale 1994)."""

    def __init__(self, belief: Belief) -> None:
        self.belief = belief

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        p = _win_probability(self.belief)
        entropy = -(p * np.log(p) + (1.0 - p) * np.log1p(-p))
        open_ = pool.open_per_pair > 0
        best = open_ & (entropy >= entropy[open_].max() * (1.0 - 1e-12))
        return uniform_over(best)


class ThompsonPairs:
    """Double Thompson sampling (Wu & Liu 2016): the best chatbot of one posterior draw against that of another.

    If both are the same, the second of the second draw. The probabilities are the shares among a fixed set of draws,
    made once a plan; pairs that are not open are left out.
    """

    def __init__(self, belief: Belief) -> None:
        self.belief = belief
        self.shares: FloatArray | None = None

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
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
    """Expected information gain of a Gaussian posterior per chatbot, in batches (ASAP, Mikhailiuk et al. 2021).

    The gain of a pair is the expected KL divergence of both marginals after the answer from those before, by moment
    matching under a probit vote (TrueSkill). A batch is the minimum spanning tree of the inverse gains; its edges are
    asked in random order, then the next tree is made from the belief with these answers expected.
    """

    def __init__(self, belief: Belief) -> None:
        self.belief = belief
        self.batch: IntArray = np.empty(0, np.int64)

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
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
    """RMED1, a dueling bandit that looks for the best chatbot (Komiyama et al. 2015, algorithm 1).

    I_i = sum over j with p_ij <= 1/2 of N_ij d(p_ij, 1/2) is the evidence against i as the best; who has at most
    log t + f(M) more of it than the least suspect i* is still a candidate, f(M) = .3 M^1.01. Each draw takes one
    candidate; it meets i* if i* beats it (or nobody does), otherwise whoever beats it most clearly. p_ij is the
    posterior's. The paper goes through the candidates in turn; here the one with fewest votes is next.
    """

    def __init__(self, belief: Belief) -> None:
        self.beats = np.full((len(belief.mean), len(belief.mean)), 0.5)
        p = _win_probability(belief)
        self.beats[belief.high, belief.low], self.beats[belief.low, belief.high] = p, 1.0 - p

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
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


class StaticDesignSampler:
    """Every pair on the same prompts, one prompt after the other (Sedoc & Ungar 2020): policy `paper`.

    Prompts come at random until the first fit, then by discrimination. A prompt that was begun is finished on all
    pairs, with all votes of an item (three in the paper), before the next one begins.
    """

    def __init__(self, state: CampaignState) -> None:
        posterior = state.posterior
        self.discrimination = discriminations(state, posterior) if posterior else np.zeros(len(state.prompts))
        self.reason = Reason("paper_by_discrimination" if posterior else "paper_at_random")
        self._prompt = -1
        self._of_prompt = 1.0

    def draw(self, pool: Pool, rng: np.random.Generator) -> Draw:
        pairs = pool.open_pairs(self._prompt) if self._prompt >= 0 else np.empty(0, np.int64)
        of_prompt = 1.0
        if len(pairs) == 0:
            of_prompt, pairs = self._next_prompt(pool, rng)
        begun = np.array([pool.votes(pair)[self._prompt] for pair in pairs.tolist()])
        of_pair = uniform_over(begun == begun.max())
        chosen = sample_index(of_pair, rng)
        return Draw(int(pairs[chosen]), self._prompt, float(of_prompt * of_pair[chosen]))

    def expect(self, pool: Pool, pair: int, prompt: int) -> float:
        return 0.0

    def _next_prompt(self, pool: Pool, rng: np.random.Generator) -> tuple[float, IntArray]:
        """The prompt under way, or else the next best one: its probability and its open pairs."""
        score = np.where(pool.prompt_votes > 0, np.inf, self.discrimination)
        left = np.ones(pool.prompts, bool)
        while True:  # ends: a pool has an open item, so some prompt has one
            p = uniform_over(left & (score == score[left].max()))
            self._prompt = sample_index(p, rng)
            pairs = pool.open_pairs(self._prompt)
            if len(pairs):
                return float(p[self._prompt]), pairs
            left[self._prompt] = False


def _published(pairs: Callable[[Belief], PairPolicy], reason: str) -> PolicyFactory:
    """A published pair policy on prompts at random; the balanced design while there is no posterior."""

    def make(state: CampaignState, pool: Pool, design: AdaptiveDesign) -> ItemSampler:
        if state.posterior is None:
            return PairThenPromptSampler(BalancedPairs(), UniformPrompts(), None, BEFORE_FIRST_FIT)
        belief = Belief(state, state.posterior, pool)
        return PairThenPromptSampler(pairs(belief), UniformPrompts(), belief, Reason(reason))

    return make


def _paper(state: CampaignState, pool: Pool, design: AdaptiveDesign) -> ItemSampler:
    """The static design of the first paper."""
    return StaticDesignSampler(state)


BASELINES: Mapping[str, PolicyFactory] = MappingProxyType(
    {
        "arena": _published(ArenaPairs, "arena_pairs"),
        "asap": _published(AsapPairs, "asap_pairs"),
        "entropy": _published(EntropyPairs, "entropy_pairs"),
        "paper": _paper,
        "rmed": _published(RmedPairs, "rmed_pairs"),
        "swiss": _published(SwissPairs, "swiss_pairs"),
        "thompson": _published(ThompsonPairs, "thompson_pairs"),
    }
)
