"""The plan and stopping rules of a campaign as values of the scheduler.

Plans and forecasts share one design.
"""

import math
from collections.abc import Sequence
from datetime import datetime

from django.utils import timezone

from evalsite.boards.analysis_plans import sample_size_of
from evalsite.campaigns.limits import Limits, budget_of, limits_of
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
    SampleSize,
    Separated,
    StoppingRule,
    Target,
    TargetSE,
)

RESOLVED = 0.8  # Share of pairs to separate in a forecast without an aim.


def design_of(options: PlanOptions, limits: Limits, entrants: Sequence[int]) -> AdaptiveDesign:
    """Return the scheduler's design of a campaign.

    The target follows from the aim of the limits, unless the owner has chosen another one.

    entrants: IDs of the active entrants, in the order of the state's chatbots.
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
    """Return the target to estimate.

    If withdrawals have left nothing of the target, the campaign ranks the remaining chatbots.
    """
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
    """Return which items get several votes. The sample depends on the campaign's seed only."""
    return Overlap(options.overlap_share, options.overlap_votes, seed)


def rules_of(campaign: Campaign, *, withheld: int = 0) -> list[StoppingRule]:
    """Return the stopping rules of the campaign; `scheduler.decide` defines their order.

    A target that the prompts cannot reach does not stop the campaign. The owner is notified (`boards.feasibility`), and
    the remaining precision is still useful. Forecasts say what the budget allows.

    withheld: number of items that skips have closed. While there are any, an empty queue does not stop the campaign.
    """
    limits = limits_of(campaign.stopping)
    aim = aim_of(limits)
    rules: list[StoppingRule] = [] if aim is None else [aim, Futility(aim, stops=False)]
    if (size := sample_size_of(campaign)) is not None:
        rules.append(SampleSize(size))
    return [*rules, *limit_rules(campaign), NothingLeft(withheld)]


def limit_rules(campaign: Campaign) -> list[StoppingRule]:
    """Return the rules of the campaign's budget and deadline."""
    limits, budget = limits_of(campaign.stopping), budget_of(campaign)
    rules: list[StoppingRule] = [] if budget is None else [Budget(budget)]
    return rules if limits.deadline is None else [*rules, Deadline(limits.deadline)]


def aim_of(limits: Limits) -> TargetSE | None:
    """Return the target SE. For a minimum difference, return the SE at which it is detected with the required power."""
    if limits.target_se is not None:
        return TargetSE(limits.target_se)
    if limits.min_difference is not None:
        return TargetSE.for_difference(limits.min_difference, power=limits.power, alpha=limits.alpha)
    return None


def goal_of(limits: Limits) -> ForecastGoal:
    """Return the goal of a forecast: the aim, or without one that most pairs are separated."""
    aim = aim_of(limits)
    if aim is None:
        return Separated(RESOLVED)
    return AllAbilities(aim.value) if aim.over == "all" else Neighbours(aim.value)


def most_judgments(limits: Limits, *, now: datetime, judgments: int, per_day: float | None) -> int | None:
    """Return the budget, or less if the deadline comes first.

    judgments: number received so far.
    per_day: number expected per day.
    """
    if limits.deadline is None or per_day is None:
        return limits.budget
    days = max((limits.deadline - now).total_seconds() / 86_400.0, 0.0)
    by_then = judgments + math.floor(days * per_day)
    return by_then if limits.budget is None else min(limits.budget, by_then)


def terms_of(
    campaign: Campaign, design: AdaptiveDesign, *, judgments: int, per_day: float | None = None
) -> ForecastTerms:
    """Return the inputs of a forecast: the campaign's own design, goal, limits and pay.

    judgments: number received so far.
    """
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
