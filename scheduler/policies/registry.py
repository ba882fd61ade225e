"""The registry of policies: a name, and how it is made ready for a state. The contract test goes through it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from scheduler.belief import Belief
from scheduler.policies.baselines import ArenaPairs, AsapPairs, EntropyPairs, RmedPairs, SwissPairs, ThompsonPairs
from scheduler.policies.exposure import SteeredPrompts
from scheduler.policies.item_sampling import FLOOR, SHORTLIST, Chooser, PairPolicy, PairThenPrompt, PromptPolicy
from scheduler.policies.pair_selection import AdaptivePairs, BalancedPairs, Design, LeastCertainPairs, UniformPairs
from scheduler.policies.placement import EntrantPairs, EntrantPrompts, newcomers
from scheduler.policies.prompt_selection import LeastUsedPrompts, MostInformativePrompts, UniformPrompts
from scheduler.policies.static_design import StaticDesign
from scheduler.pool import Pool
from scheduler.state import CampaignState

Make = Callable[[CampaignState, Pool, Design], Chooser]

_FIRST = "a balanced design at random before the first fit"


def _random(state: CampaignState, pool: Pool, design: Design) -> Chooser:
    """Every open item alike."""
    return PairThenPrompt(UniformPairs(), UniformPrompts(), None, "open items at random")


def _balanced(state: CampaignState, pool: Pool, design: Design) -> Chooser:
    """As even as can be over chatbots, pairs and prompts."""
    return PairThenPrompt(BalancedPairs(), LeastUsedPrompts(), None, "level votes per chatbot, pair and prompt")


def _adaptive(state: CampaignState, pool: Pool, design: Design) -> Chooser:
    """The pair that lowers the target's variance most, then the prompt that tells most about it; newcomers first."""

    def steered(prompts: PromptPolicy) -> PromptPolicy:
        return SteeredPrompts(
            prompts,
            state,
            exposure=design.exposure,
            balance=design.balance,
            depth=design.depth,
            repeats=design.repeats,
        )

    if state.posterior is None:
        return PairThenPrompt(BalancedPairs(), steered(LeastUsedPrompts()), None, _FIRST)
    belief = Belief(state, state.posterior, pool, design.target)
    pairs: PairPolicy = AdaptivePairs(belief, design)
    prompts: PromptPolicy = MostInformativePrompts(belief, design.floor, design.best)
    reason = f"what teaches most after {state.posterior.judgments} judgments"
    new = newcomers(state, pool, design.welcome, design.target) if design.welcome else np.empty(0, np.int64)
    if design.welcome and len(new):
        meetings = EntrantPairs(pairs, belief, new, design.welcome, floor=design.floor, cap=design.cap)
        pairs, prompts = meetings, EntrantPrompts(prompts, meetings)
        reason += f"; {', '.join(state.chatbots[m] for m in new[:3])}{' and others' * (len(new) > 3)} placed first"
    return PairThenPrompt(pairs, steered(prompts), belief, reason)


def _least_certain(state: CampaignState, pool: Pool, design: Design) -> Chooser:
    """Least certain pair, most informative prompt; a connected balanced design while there is no posterior."""
    if state.posterior is None:
        return PairThenPrompt(BalancedPairs(), LeastUsedPrompts(), None, _FIRST)
    belief = Belief(state, state.posterior, pool)
    prompts = MostInformativePrompts(belief, FLOOR, SHORTLIST)
    reason = f"the least certain pairs after {state.posterior.judgments} judgments"
    return PairThenPrompt(LeastCertainPairs(belief), prompts, belief, reason)


def _rival(pairs: Callable[[Belief], PairPolicy], named: str) -> Make:
    """A published pair policy on prompts at random; the balanced design while there is no posterior."""

    def make(state: CampaignState, pool: Pool, design: Design) -> Chooser:
        if state.posterior is None:
            return PairThenPrompt(BalancedPairs(), UniformPrompts(), None, _FIRST)
        belief = Belief(state, state.posterior, pool)
        return PairThenPrompt(pairs(belief), UniformPrompts(), belief, f"{named}, prompts at random")

    return make


def _paper(state: CampaignState, pool: Pool, design: Design) -> Chooser:
    """The static design of the first paper."""
    return StaticDesign(state)


POLICIES: Mapping[str, Make] = MappingProxyType(
    {
        "adaptive": _adaptive,
        "arena": _rival(ArenaPairs, "pairs by the fall of their intervals' width"),
        "asap": _rival(AsapPairs, "pairs by expected KL, in spanning trees"),
        "balanced": _balanced,
        "entropy": _rival(EntropyPairs, "the pair of the least certain outcome"),
        "least_certain": _least_certain,
        "paper": _paper,
        "random": _random,
        "rmed": _rival(RmedPairs, "a dueling bandit for the best"),
        "swiss": _rival(SwissPairs, "neighbours in the standings"),
        "thompson": _rival(ThompsonPairs, "the best of posterior draws against each other"),
    }
)
