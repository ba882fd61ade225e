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
    """Describe a policy that is ready for one plan."""

    @property
    def reason(self) -> Reason:
        """Return the reason for its draws."""
        ...

    def draw(self, pool: Pool, rng: np.random.Generator) -> Draw:
        """Return an open item.

        Parameters
        ----------
        pool : Pool
            The open items, at least one; the caller takes the item from the pool.
        rng : Generator
            Source of random numbers.

        Returns
        -------
        Draw
            The item.
        """
        ...

    def expect(self, pool: Pool, pair: int, prompt: int) -> float:
        """Expect an answer on an item that was not drawn here.

        Parameters
        ----------
        pool : Pool
            The open items.
        pair, prompt : int
            The item.

        Returns
        -------
        float
            Its value; 0 if items have no values.
        """
        ...


class PairPolicy(Protocol):
    """Describe the choice of the next pair."""

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        """Return the probability of each pair.

        Parameters
        ----------
        pool : Pool
            The open items, at least one.
        rng : Generator
            Source of random numbers.

        Returns
        -------
        ndarray of float, shape (N,)
            Probabilities that sum to 1; 0 for pairs without an open item.
        """
        ...


class PromptPolicy(Protocol):
    """Describe the choice of the next prompt, given the pair."""

    def probabilities(self, pool: Pool, pair: int, prompts: IntArray) -> FloatArray:
        """Return the probability of each open prompt.

        Parameters
        ----------
        pool : Pool
            The open items.
        pair : int
            The pair.
        prompts : ndarray of int, shape (n,)
            The pair's open prompts, at least one.

        Returns
        -------
        ndarray of float, shape (n,)
            Probabilities that sum to 1.
        """
        ...


@dataclass(frozen=True, slots=True)
class PairThenPromptSampler:
    """Draw a pair, then a prompt for it.

    Parameters
    ----------
    pairs : PairPolicy
        The choice of the pair.
    prompts : PromptPolicy
        The choice of the prompt.
    belief : Belief or None
        Values the draw, and expects its answer.
    reason : Reason
        The reason for its draws.
    """

    pairs: PairPolicy
    prompts: PromptPolicy
    belief: Belief | None
    reason: Reason

    def draw(self, pool: Pool, rng: np.random.Generator) -> Draw:
        """Return an open item; see `ItemSampler.draw`."""
        of_pair = self.pairs.probabilities(pool, rng)
        pair = sample_index(of_pair, rng)
        prompts = pool.open_prompts(pair)
        of_prompt = self.prompts.probabilities(pool, pair, prompts)
        chosen = sample_index(of_prompt, rng)
        prompt = int(prompts[chosen])
        return Draw(pair, prompt, float(of_pair[pair] * of_prompt[chosen]), self.expect(pool, pair, prompt))

    def expect(self, pool: Pool, pair: int, prompt: int) -> float:
        """Expect an answer, and return its value; see `ItemSampler.expect`."""
        if self.belief is None:
            return 0.0
        return self.belief.expect(pair, float(self.belief.information(pair, pool.votes(pair))[prompt]))


def sample_index(probabilities: FloatArray, rng: np.random.Generator) -> int:
    """Return a random index.

    Parameters
    ----------
    probabilities : ndarray of float, shape (n,)
        Probabilities.
    rng : Generator
        Source of random numbers.

    Returns
    -------
    int
        The index; its probability is positive.
    """
    cumulative = np.cumsum(probabilities)
    return int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))


def uniform_over(allowed: BoolArray) -> FloatArray:
    """Return equal probabilities over what is allowed.

    Parameters
    ----------
    allowed : ndarray of bool, shape (n,)
        What is allowed, at least one.

    Returns
    -------
    ndarray of float, shape (n,)
        Probabilities.
    """
    p: FloatArray = allowed / allowed.sum()
    return p


def shortlisted(score: FloatArray, floor: float = FLOOR, best: int = SHORTLIST) -> FloatArray:
    """Return probabilities that are uniform over the highest scores, mixed with a share over all.

    This is the randomesque method of exposure control. Equal scores are cut by position, so that the result is
    deterministic.

    Parameters
    ----------
    score : ndarray of float, shape (n,)
        Scores; -inf excludes.
    floor : float
        Share that is uniform over all.
    best : int
        Number of highest scores.

    Returns
    -------
    ndarray of float, shape (n,)
        Probabilities.

    References
    ----------
    G. G. Kingsbury and A. R. Zara (1989), Procedures for selecting items for computerized adaptive tests, Applied
    Measurement in Education 2, 359-375.
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
