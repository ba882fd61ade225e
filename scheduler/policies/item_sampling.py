"""Sampling of the next item: the protocols of policies, and a sampler that draws a pair and then a prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray, IntArray
from scheduler.belief import Belief
from scheduler.pool import Pool
from scheduler.reasons import Reason

BEFORE_FIRST_FIT = Reason("before_first_fit")
SHORTLIST = 5  # randomesque: the best few share the draw, so that no pair or prompt is certain to come next
FLOOR = 0.2  # exploration: this share of draws ignores values; it keeps every open item possible


@dataclass(frozen=True, slots=True)
class Draw:
    """One sampled item.

    Parameters
    ----------
    pair, prompt : int
        The item.
    probability : float
        Of this draw, given the earlier draws of the plan.
    value : float
        Expected fall of the target's variance; 0 if the policy does not value items.
    """

    pair: int
    prompt: int
    probability: float
    value: float = 0.0


class ItemSampler(Protocol):
    """A policy made ready for one plan. `reason` says what its draws rest on."""

    @property
    def reason(self) -> Reason: ...

    def draw(self, pool: Pool, rng: np.random.Generator) -> Draw:
        """Return an open item of a pool that has one; the caller takes it from the pool."""
        ...

    def expect(self, pool: Pool, pair: int, prompt: int) -> float:
        """Expect an answer on an item that was not drawn here; return its value (0 if not valued)."""
        ...


class PairPolicy(Protocol):
    """Probabilities of the next pair. Pairs without an open item have probability 0."""

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        """Return (N,) probabilities that sum to 1, of a pool with at least one open item."""
        ...


class PromptPolicy(Protocol):
    """Probabilities of the next prompt, given the pair."""

    def probabilities(self, pool: Pool, pair: int, prompts: IntArray) -> FloatArray:
        """Return (len(prompts),) probabilities that sum to 1; `prompts` are the pair's open ones, at least one."""
        ...


@dataclass(frozen=True, slots=True)
class PairThenPromptSampler:
    """Draw a pair, then a prompt for it. `belief` values the draw and expects it to be answered."""

    pairs: PairPolicy
    prompts: PromptPolicy
    belief: Belief | None
    reason: Reason

    def draw(self, pool: Pool, rng: np.random.Generator) -> Draw:
        """Return an open item."""
        of_pair = self.pairs.probabilities(pool, rng)
        pair = sample_index(of_pair, rng)
        prompts = pool.open_prompts(pair)
        of_prompt = self.prompts.probabilities(pool, pair, prompts)
        chosen = sample_index(of_prompt, rng)
        prompt = int(prompts[chosen])
        return Draw(pair, prompt, float(of_pair[pair] * of_prompt[chosen]), self.expect(pool, pair, prompt))

    def expect(self, pool: Pool, pair: int, prompt: int) -> float:
        """Expect an answer; return its value."""
        if self.belief is None:
            return 0.0
        return self.belief.expect(pair, float(self.belief.information(pair, pool.votes(pair))[prompt]))


def sample_index(probabilities: FloatArray, rng: np.random.Generator) -> int:
    """Return an index with these probabilities; never one whose probability is 0."""
    cumulative = np.cumsum(probabilities)
    return int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))


def uniform_over(allowed: BoolArray) -> FloatArray:
    """Return equal probabilities over what is allowed, of which there is at least one."""
    p: FloatArray = allowed / allowed.sum()
    return p


def shortlisted(score: FloatArray, floor: float = FLOOR, best: int = SHORTLIST) -> FloatArray:
    """Return probabilities uniform over the `best` highest scores, mixed with `floor` uniform over all.

    This is the randomesque method of exposure control (Kingsbury & Zara 1989). Scores of -inf are excluded. Equal
    scores are cut by position, so that the result is deterministic.
    """
    allowed = np.isfinite(score)
    count = min(best, int(allowed.sum()))
    if len(score) > 4 * count:
        edge = np.partition(score, len(score) - count)[len(score) - count]
        near = np.flatnonzero(score >= edge)
    else:
        near = np.arange(len(score))
    top = near[np.argsort(-score[near], kind="stable")[:count]]
    p = np.where(allowed, floor / allowed.sum(), 0.0)
    p[top] += (1.0 - floor) / count
    total: FloatArray = p / p.sum()
    return total
