"""Published pair policies as baselines for benchmarks, replays and simulations. No new campaign may use one.

All read the same posterior. Where a publication keeps an estimate of its own (win rates, TrueSkill), the board's
posterior replaces it, so that comparisons are of the choice and not of the estimator. Prompts are drawn at random,
because none of the publications chooses prompts, except for policy `paper` (Sedoc & Ungar 2020).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from irt_engine.arrays import IntArray
from scheduler.belief import Belief
from scheduler.policies.baseline_pairs import ArenaPairs, AsapPairs, EntropyPairs, RmedPairs, SwissPairs, ThompsonPairs
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


class StaticDesignSampler:
    """Ask every pair on the same prompts, one prompt after the other: policy `paper`.

    Prompts come at random until the first fit, then by discrimination. A prompt is finished on all pairs, with all
    votes of an item (three in the paper), before the next one begins.

    Parameters
    ----------
    state : CampaignState
        The state of the campaign.

    References
    ----------
    J. Sedoc and L. Ungar (2020), Item response theory for efficient human evaluation of chatbots, Eval4NLP, 21-33.
    """

    def __init__(self, state: CampaignState) -> None:
        posterior = state.posterior
        self.discrimination = discriminations(state, posterior) if posterior else np.zeros(len(state.prompts))
        self.reason = Reason("paper_by_discrimination" if posterior else "paper_at_random")
        self._prompt = -1

    def draw(self, pool: Pool, rng: np.random.Generator) -> Draw:
        """Return an open item; see `ItemSampler.draw`."""
        pairs = pool.open_pairs(self._prompt) if self._prompt >= 0 else np.empty(0, np.int64)
        of_prompt = 1.0
        if len(pairs) == 0:
            of_prompt, pairs = self._next_prompt(pool, rng)
        begun = np.array([pool.votes(pair)[self._prompt] for pair in pairs.tolist()])
        of_pair = uniform_over(begun == begun.max())
        chosen = sample_index(of_pair, rng)
        return Draw(int(pairs[chosen]), self._prompt, float(of_prompt * of_pair[chosen]))

    def expect(self, pool: Pool, pair: int, prompt: int) -> float:
        """Return 0, because this design values no item; see `ItemSampler.expect`."""
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
