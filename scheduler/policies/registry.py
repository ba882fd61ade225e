"""The registries of policies: a name, and how it is made ready for a state. The contract test goes through them.

`POLICIES` are those that a new campaign may choose. `ALL_POLICIES` adds the published baselines (`baselines`) for
benchmarks, replays and simulations, and for campaigns whose stored policy is one of them, and the policies of plug-ins.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from scheduler.belief import Belief
from scheduler.plugins import WithPlugins
from scheduler.policies.baselines import BASELINES
from scheduler.policies.design import AdaptiveDesign, PolicyFactory
from scheduler.policies.exposure import ConstrainedPrompts
from scheduler.policies.item_sampling import (
    BEFORE_FIRST_FIT,
    FLOOR,
    SHORTLIST,
    ItemSampler,
    PairPolicy,
    PairThenPromptSampler,
    PromptPolicy,
)
from scheduler.policies.pair_selection import AdaptivePairs, BalancedPairs, LeastCertainPairs, UniformPairs
from scheduler.policies.placement import PlacementPairs, PlacementPrompts, newcomers
from scheduler.policies.prompt_selection import LeastUsedPrompts, MostInformativePrompts, UniformPrompts
from scheduler.pool import Pool
from scheduler.reasons import Reason
from scheduler.state import CampaignState


def _random(state: CampaignState, pool: Pool, design: AdaptiveDesign) -> ItemSampler:
    """Every open item alike."""
    return PairThenPromptSampler(UniformPairs(), UniformPrompts(), None, Reason("random_items"))


def _balanced(state: CampaignState, pool: Pool, design: AdaptiveDesign) -> ItemSampler:
    """As even as can be over chatbots, pairs and prompts."""
    return PairThenPromptSampler(BalancedPairs(), LeastUsedPrompts(), None, Reason("balanced_votes"))


def _adaptive(state: CampaignState, pool: Pool, design: AdaptiveDesign) -> ItemSampler:
    """The pair that lowers the target's variance most, then the prompt that tells most about it; newcomers first."""

    def steered(prompts: PromptPolicy) -> PromptPolicy:
        return ConstrainedPrompts(
            prompts,
            state,
            exposure=design.exposure,
            balance=design.balance,
            depth=design.depth,
            repeats=design.repeats,
        )

    if state.posterior is None:
        return PairThenPromptSampler(BalancedPairs(), steered(LeastUsedPrompts()), None, BEFORE_FIRST_FIT)
    belief = Belief(state, state.posterior, pool, design.target)
    pairs: PairPolicy = AdaptivePairs(belief, design)
    prompts: PromptPolicy = MostInformativePrompts(belief, design.floor, design.best)
    reason = Reason("adaptive_after_fit", {"judgments": state.posterior.judgments})
    new = newcomers(state, pool, design.placement, design.target) if design.placement else np.empty(0, np.int64)
    if design.placement and len(new):
        meetings = PlacementPairs(pairs, belief, new, design.placement, floor=design.floor, cap=design.cap)
        pairs, prompts = meetings, PlacementPrompts(prompts, meetings)
        code = "chatbots_placed_first" if len(new) <= 3 else "some_chatbots_placed_first"
        reason = reason.and_also(Reason(code, {"chatbots": ", ".join(state.chatbots[m] for m in new[:3])}))
    return PairThenPromptSampler(pairs, steered(prompts), belief, reason)


def _least_certain(state: CampaignState, pool: Pool, design: AdaptiveDesign) -> ItemSampler:
    """Least certain pair, most informative prompt; a connected balanced design while there is no posterior."""
    if state.posterior is None:
        return PairThenPromptSampler(BalancedPairs(), LeastUsedPrompts(), None, BEFORE_FIRST_FIT)
    belief = Belief(state, state.posterior, pool)
    prompts = MostInformativePrompts(belief, FLOOR, SHORTLIST)
    reason = Reason("least_certain_after_fit", {"judgments": state.posterior.judgments})
    return PairThenPromptSampler(LeastCertainPairs(belief), prompts, belief, reason)


POLICIES: Mapping[str, PolicyFactory] = MappingProxyType(
    {
        "adaptive": _adaptive,
        "balanced": _balanced,
        "least_certain": _least_certain,
        "random": _random,
    }
)
ALL_POLICIES: Mapping[str, PolicyFactory] = WithPlugins({**POLICIES, **BASELINES}, "touchstone.policies")
