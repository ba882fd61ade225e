"""plan: which judgments to collect next. decide: whether to collect any more. Both are pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from scheduler.errors import InvalidRequest, is_count
from scheduler.policies.design import DEFAULT_DESIGN, AdaptiveDesign, PolicyFactory
from scheduler.policies.item_sampling import Draw, ItemSampler
from scheduler.policies.registry import POLICIES
from scheduler.policies.retirement import with_retired
from scheduler.pool import Pool
from scheduler.reasons import Reason
from scheduler.state import Ask, CampaignState, Plan, StoppingDecision
from scheduler.stopping.limits import Budget
from scheduler.stopping.rules import StoppingRule


def plan(
    state: CampaignState,
    *,
    policy: str,
    count: int,
    seed: int,
    design: AdaptiveDesign = DEFAULT_DESIGN,
    policies: Mapping[str, PolicyFactory] = POLICIES,
) -> Plan:
    """Up to `count` asks; fewer only where fewer items are open, and then the reason says so.

    Equal arguments give equal plans. Asks count on each other: every one is expected to be answered before the next
    is chosen. `design` is for the policy `adaptive`: what is worth learning, and its safeguards. `policies` are for who
    tries one that campaigns do not have.
    Raises InvalidRequest on an unknown policy, a count that is no whole number of at least 0, or a target that the
    state's chatbots do not have.
    """
    if policy not in policies:
        raise InvalidRequest(
            f"unknown policy {policy!r}", code="unknown_policy", hint=f"use one of {', '.join(sorted(policies))}"
        )
    if not (is_count(count) and is_count(seed)):
        raise InvalidRequest(
            f"count {count}, seed {seed}", code="bad_count", hint="give whole numbers of 0 or more for both"
        )
    empty = _why_empty(state, count)
    if empty:
        return Plan((), policy, seed, empty)
    state = with_retired(state, design.retirement, design.placement)
    pool = Pool(state)
    if pool.total == 0:
        return Plan((), policy, seed, _why_closed(state))
    chooser = policies[policy](state, pool, design)
    asks = _draw(chooser, pool, count, np.random.default_rng(seed))
    reason = chooser.reason
    if len(asks) < count:
        reason = reason.and_also(Reason("fewer_asks_open", {"asks": len(asks)}))
    return Plan(asks, policy, seed, reason)


def _why_empty(state: CampaignState, count: int) -> Reason | None:
    if count == 0:
        return Reason("no_asks_requested")
    if len(state.chatbots) < 2:
        return Reason("too_few_chatbots")
    return None if state.prompts else Reason("no_prompts")


def _why_closed(state: CampaignState) -> Reason:
    if len(state.retired) == len(state.prompts):
        return Reason("all_prompts_retired")
    return Reason("all_items_closed_or_retired" if len(state.retired) else "all_items_closed")


def _draw(chooser: ItemSampler, pool: Pool, count: int, rng: np.random.Generator) -> tuple[Ask, ...]:
    asks: list[Ask] = []
    while len(asks) < count and pool.total > 0:
        begun = pool.begun()
        draw = Draw(*begun, 1.0, chooser.expect(pool, *begun)) if begun else chooser.draw(pool, rng)
        pool.take(draw.pair, draw.prompt)
        a, b = int(pool.low[draw.pair]), int(pool.high[draw.pair])
        asks.append(Ask(a, b, draw.prompt, draw.value, draw.probability))
    return tuple(asks)


def decide(state: CampaignState, *, rules: Sequence[StoppingRule]) -> StoppingDecision:
    """Ask the rules in this order; the first that stops gives the reason:

    1. TargetSE: the board, or its neighbours, are as precise as was wanted;
    2. RankingResolved: neighbours, or the best k and the others, are told apart;
    3. SampleSize: the judgments are in that a power calculation asked for;
    4. Equivalence: every pair is told apart or shown to differ by less than what matters;
    5. Budget: none of these aims is reached, and the money is spent;
    6. Deadline: nor the money, but the time;
    7. NothingLeft: there is money and time, but nothing to ask;
    8. Futility: there is something to ask, but no use in it.

    What is reached comes before what is spent, and facts before an outlook. Where an end comes before what was wanted,
    the reason says what is missing, too. The evidence of all rules is returned whichever decides; where two have a
    number of one name, the first one's stands. Without a rule that stops, the reason is the first's. Equal arguments
    give equal decisions. Raises what a rule says that it raises.
    """
    ordered = sorted(rules, key=lambda rule: rule.order)
    found = [rule.decide(state) for rule in ordered]
    evidence: dict[str, float] = {}
    for decision in reversed(found):
        evidence.update(decision.evidence)
    if not found:
        return StoppingDecision(False, Reason("no_stopping_rule"), evidence)
    at = next((row for row, decision in enumerate(found) if decision.stop), 0)
    unreached = found[at].stop and ordered[0].order < Budget.order <= ordered[at].order
    reason = found[at].reason.and_also(found[0].reason) if unreached else found[at].reason
    return StoppingDecision(found[at].stop, reason, evidence)
