"""plan: which judgments to collect next. decide: whether to collect any more. Both are pure functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from .belief import Belief
from .errors import InvalidRequest
from .pairs import BalancedPairs, LeastCertainPairs, PairPolicy, UniformPairs
from .pool import Pool
from .prompts import LeastUsedPrompts, MostInformativePrompts, PromptPolicy, UniformPrompts
from .state import Ask, CampaignState, Decision, Plan
from .stopping import StoppingRule


@dataclass(frozen=True, slots=True)
class Chooser:
    """One policy made ready for one state: how pairs and prompts are drawn, and the belief that values them."""

    pairs: PairPolicy
    prompts: PromptPolicy
    belief: Belief | None
    reason: str


def _least_certain(state: CampaignState, pool: Pool) -> Chooser:
    """Least certain pair, most informative prompt; a connected balanced design while there is no posterior."""
    if state.posterior is None:
        return Chooser(BalancedPairs(), LeastUsedPrompts(), None, "a balanced design at random before the first fit")
    belief = Belief(state, state.posterior, pool)
    reason = f"the least certain pairs after {state.posterior.judgments} judgments"
    return Chooser(LeastCertainPairs(belief), MostInformativePrompts(belief), belief, reason)


def _random(state: CampaignState, pool: Pool) -> Chooser:
    """Every open item alike."""
    return Chooser(UniformPairs(), UniformPrompts(), None, "open items at random")


POLICIES: Mapping[str, Callable[[CampaignState, Pool], Chooser]] = MappingProxyType(
    {"least_certain": _least_certain, "random": _random}
)


def plan(state: CampaignState, *, policy: str, count: int, seed: int) -> Plan:
    """Up to `count` asks; fewer only where fewer items are open, and then the reason says so.

    Equal arguments give equal plans. Asks count on each other: every one is expected to be answered before the next
    is chosen. Raises InvalidRequest on an unknown policy or a negative count.
    """
    if policy not in POLICIES:
        raise InvalidRequest(
            f"unknown policy {policy!r}", code="unknown_policy", hint=f"use one of {', '.join(sorted(POLICIES))}"
        )
    if count < 0 or seed < 0:
        raise InvalidRequest(f"count {count}, seed {seed}", code="bad_count", hint="give 0 or more of both")
    empty = _why_empty(state, count)
    if empty:
        return Plan((), policy, seed, empty)
    pool = Pool(state)
    if pool.total == 0:
        return Plan((), policy, seed, "every item is judged, pending or closed")
    chooser = POLICIES[policy](state, pool)
    asks = _draw(chooser, pool, count, np.random.default_rng(seed))
    short = "" if len(asks) == count else f"; only {len(asks)} judgments could still be asked"
    return Plan(asks, policy, seed, chooser.reason + short)


def _why_empty(state: CampaignState, count: int) -> str:
    if count == 0:
        return "no asks were requested"
    if len(state.chatbots) < 2:
        return "a comparison needs two chatbots"
    return "" if state.prompts else "there are no prompts"


def _draw(chooser: Chooser, pool: Pool, count: int, rng: np.random.Generator) -> tuple[Ask, ...]:
    asks: list[Ask] = []
    while len(asks) < count and pool.total > 0:
        of_pair = chooser.pairs.probabilities(pool)
        pair = _pick(of_pair, rng)
        prompts = pool.open_prompts(pair)
        of_prompt = chooser.prompts.probabilities(pool, pair, prompts)
        chosen = _pick(of_prompt, rng)
        prompt = int(prompts[chosen])
        value = 0.0
        if chooser.belief is not None:
            value = chooser.belief.expect(pair, float(chooser.belief.information(pair)[prompt]))
        pool.take(pair, prompt)
        probability = float(of_pair[pair] * of_prompt[chosen])
        asks.append(Ask(int(pool.low[pair]), int(pool.high[pair]), prompt, value, probability))
    return tuple(asks)


def _pick(probabilities: np.ndarray[tuple[int, ...], np.dtype[np.float64]], rng: np.random.Generator) -> int:
    """An index with these probabilities; never one whose probability is 0."""
    cumulative = np.cumsum(probabilities)
    return int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))


def decide(state: CampaignState, *, rules: Sequence[StoppingRule]) -> Decision:
    """Ask the rules in this order; the first that stops gives the reason:

    1. TargetSE: the aim is reached, the best reason there is;
    2. Budget: the aim is not reached, and the money is spent;
    3. NothingLeft: neither, but there is nothing to ask.

    The evidence of all rules is returned whichever decides. Without a rule that stops, the reason is the first's.
    """
    found = [rule.decide(state) for rule in sorted(rules, key=lambda rule: rule.order)]
    evidence: dict[str, float] = {}
    for decision in found:
        evidence.update(decision.evidence)
    if not found:
        return Decision(False, "there is no stopping rule", evidence)
    first = next((decision for decision in found if decision.stop), found[0])
    return Decision(first.stop, first.reason, evidence)
