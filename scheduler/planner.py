"""Choose the next judgments (`plan`) and whether to collect more (`decide`). Both are pure functions."""

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
    """Choose up to `count` judgments to collect next.

    Asks count on each other: each is expected to be answered before the next is chosen. Equal arguments give equal
    plans.

    Parameters
    ----------
    state : CampaignState
        What has been judged, and the posterior of it.
    policy : str
        A name in `policies`.
    count : int
        Judgments wanted. A plan has fewer only where fewer items are open, and its reason then says so.
    seed : int
        Seed of all random choices, 0 or more.
    design : AdaptiveDesign
        What the policy `adaptive` learns, and the constraints that it keeps to. Other policies ignore it.
    policies : mapping of str to PolicyFactory
        The policies to choose from. Pass `ALL_POLICIES` to include the published baselines.

    Returns
    -------
    Plan
        The asks, best used in their order, and why these.

    Raises
    ------
    InvalidRequest
        For an unknown policy, a count or seed that is no whole number of at least 0, or a target that the state's
        chatbots do not have.
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
    """Decide whether to stop collecting judgments.

    The rules are asked in this order; the first that stops gives the reason:

    1. TargetSE: the board, or its neighbours, are as precise as wanted.
    2. RankingResolved: neighbours, or the best k and the others, are told apart.
    3. SampleSize: as many judgments are in as a power calculation asked for.
    4. Equivalence: every pair is told apart or shown to differ by less than a margin.
    5. Budget: the budget is spent.
    6. Deadline: the deadline is reached.
    7. NothingLeft: no item is left to ask about.
    8. Futility: what is left to ask cannot reach the goal.

    Goals come before limits, and facts before forecasts. Where a limit stops a campaign that has not reached its goal,
    the reason adds what is missing.

    Parameters
    ----------
    state : CampaignState
        What has been judged, and the posterior of it.
    rules : sequence of StoppingRule
        In any order.

    Returns
    -------
    StoppingDecision
        Whether to stop, with the evidence of all rules. Where two rules report a number of the same name, the first
        one's stands. Without a rule that stops, the reason is the first rule's.

    Raises
    ------
    InvalidState, InvalidRequest
        What a rule raises.
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
