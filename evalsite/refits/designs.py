"""A campaign's plan and stopping rules as the scheduler's values: one design for its plans and its forecasts."""

import math
from collections.abc import Sequence
from datetime import datetime

from django.utils import timezone

from evalsite.campaigns.limits import Limits, limits_of
from evalsite.campaigns.models import Campaign, PlanSpec
from evalsite.campaigns.plans import PlanOptions
from scheduler import (
    DEFAULT_DESIGN,
    AdaptiveDesign,
    AllAbilities,
    Balance,
    Budget,
    Deadline,
    ForecastGoal,
    ForecastTerms,
    Futility,
    Neighbours,
    NewEntrantTarget,
    NothingLeft,
    Overlap,
    PrecisionTarget,
    RankingResolved,
    RetirementRule,
    Separated,
    StoppingRule,
    Target,
    TargetSE,
)

RESOLVED = 0.8  # share of pairs that a forecast without an aim looks for


def design_of(options: PlanOptions, limits: Limits, entrants: Sequence[int]) -> AdaptiveDesign:
    """The scheduler's design; `entrants` are the ids of the active ones, in the order of the state's chatbots.

    What is to be learnt is what the limits' aim waits for, unless the owner has chosen something else.
    """
    return AdaptiveDesign(
        target=_target(options, limits, entrants),
        floor=options.floor,
        cap=options.pair_share,
        exposure=options.exposure,
        balance=None if options.balance is None else Balance(tuple(sorted(options.balance.items())) or None),
        retirement=RetirementRule(options.retire_after, options.retire_below) if options.retire_after else None,
    )


def _target(options: PlanOptions, limits: Limits, entrants: Sequence[int]) -> Target:
    """What is to be learnt. Where withdrawals have left nothing of it, a campaign goes on to rank who is there."""
    aim = aim_of(limits) if options.target == PlanSpec.Target.AIM else None
    if aim is not None:
        return aim.target
    if options.target == PlanSpec.Target.PRECISION:
        return PrecisionTarget()
    if options.newcomer is not None and options.newcomer in entrants:
        return NewEntrantTarget(entrants.index(options.newcomer))
    if options.top is not None and options.top < len(entrants):
        return RankingResolved(top=options.top).target
    return DEFAULT_DESIGN.target


def overlap_of(options: PlanOptions, seed: int) -> Overlap:
    """Which items get several votes: the same ones as long as the campaign's seed is the same."""
    return Overlap(options.overlap_share, options.overlap_votes, seed)


def rules_of(campaign: Campaign, *, withheld: int = 0) -> list[StoppingRule]:
    """What stops the campaign; `scheduler.decide` says in which order they are asked.

    A target that the prompts cannot reach stops nothing: the owner is told (`boards.feasibility`), and the rest is
    still worth having. Forecasts tell what the budget allows. withheld: the number of items that skips have closed; as
    long as there are any, an empty queue is no reason to stop.
    """
    limits = limits_of(campaign.stopping)
    aim = aim_of(limits)
    rules: list[StoppingRule] = [] if aim is None else [aim, Futility(aim, stops=False)]
    if limits.budget is not None:
        rules.append(Budget(limits.budget))
    if limits.deadline is not None:
        rules.append(Deadline(limits.deadline))
    return [*rules, NothingLeft(withheld)]


def aim_of(limits: Limits) -> TargetSE | None:
    """What is to be reached: a target SE, or the SE at which such a pair is told apart with the power wanted."""
    if limits.target_se is not None:
        return TargetSE(limits.target_se)
    if limits.min_difference is not None:
        return TargetSE.for_difference(limits.min_difference, power=limits.power, alpha=limits.alpha)
    return None


def goal_of(limits: Limits) -> ForecastGoal:
    """What a forecast looks for: the aim, or where there is none that most pairs are told apart."""
    aim = aim_of(limits)
    if aim is None:
        return Separated(RESOLVED)
    return AllAbilities(aim.value) if aim.over == "all" else Neighbours(aim.value)


def most_judgments(limits: Limits, *, now: datetime, judgments: int, per_day: float | None) -> int | None:
    """The budget, or less where the deadline comes first: `judgments` are in, and `per_day` come in a day."""
    if limits.deadline is None or per_day is None:
        return limits.budget
    days = max((limits.deadline - now).total_seconds() / 86_400.0, 0.0)
    by_then = judgments + math.floor(days * per_day)
    return by_then if limits.budget is None else min(limits.budget, by_then)


def terms_of(
    campaign: Campaign, design: AdaptiveDesign, *, judgments: int, per_day: float | None = None
) -> ForecastTerms:
    """What a forecast of the campaign goes by: its own design, goal, limits and pay; so many `judgments` are in."""
    limits = limits_of(campaign.stopping)
    return ForecastTerms(
        goal=goal_of(limits),
        budget=most_judgments(limits, now=timezone.now(), judgments=judgments, per_day=per_day),
        policy=campaign.policy,
        design=design,
        batch=campaign.batch_size,
        price=float(campaign.judgment_price) or None,
        per_day=per_day,
    )
