"""Policy `adaptive` with one of its parts taken out: what `decide --policies` compares it with, by these names."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from scheduler.belief import Belief
from scheduler.overlap import Overlap
from scheduler.policies.design import AdaptiveDesign, PolicyFactory
from scheduler.policies.exposure import ConstrainedPrompts
from scheduler.policies.item_sampling import PairPolicy, PairThenPromptSampler, PromptPolicy
from scheduler.policies.pair_selection import AdaptivePairs, UniformPairs
from scheduler.policies.prompt_selection import MostInformativePrompts, UniformPrompts
from scheduler.policies.registry import ALL_POLICIES
from scheduler.pool import Pool
from scheduler.reasons import Reason
from scheduler.state import CampaignState

PROMPTS, PAIRS, THREE_VOTES = (
    "adaptive, prompts at random",
    "adaptive, pairs at random",
    "adaptive, three votes an item",
)
OVERLAPS: Mapping[str, Overlap] = MappingProxyType({THREE_VOTES: Overlap(1.0, 3)})


def _without(*, pairs_at_random: bool = False, prompts_at_random: bool = False) -> PolicyFactory:
    """Newcomers are left out: in a replay nobody joins a board that stands."""

    def make(state: CampaignState, pool: Pool, design: AdaptiveDesign) -> PairThenPromptSampler:
        whole = ALL_POLICIES["adaptive"](state, pool, design)
        if state.posterior is None:
            assert isinstance(whole, PairThenPromptSampler)
            return whole
        belief = Belief(state, state.posterior, pool, design.target)
        pairs: PairPolicy = UniformPairs() if pairs_at_random else AdaptivePairs(belief, design)
        best: PromptPolicy = MostInformativePrompts(belief, design.floor, design.best)
        prompts = ConstrainedPrompts(
            UniformPrompts() if prompts_at_random else best,
            state,
            exposure=design.exposure,
            balance=design.balance,
            depth=design.depth,
            repeats=design.repeats,
        )
        return PairThenPromptSampler(
            pairs, prompts, belief, Reason("adaptive_after_fit", {"judgments": state.posterior.judgments})
        )

    return make


VARIANTS: Mapping[str, PolicyFactory] = MappingProxyType(
    {
        PROMPTS: _without(prompts_at_random=True),
        PAIRS: _without(pairs_at_random=True),
        THREE_VOTES: ALL_POLICIES["adaptive"],
    }
)
EVERY: Mapping[str, PolicyFactory] = MappingProxyType({**ALL_POLICIES, **VARIANTS})
