"""A campaign's plan and stopping rules as the scheduler's values: one design for its plans and its forecasts."""

from collections.abc import Sequence

from evalsite.campaigns.models import Campaign, PlanSpec
from evalsite.campaigns.plans import PlanOptions
from scheduler import (
    DEFAULT_DESIGN,
    AllAbilities,
    Balance,
    Both,
    Budget,
    Design,
    NewEntrant,
    NothingLeft,
    Overlap,
    Precision,
    Retirement,
    Separated,
    StoppingRule,
    Target,
    TargetSE,
    Terms,
    TopK,
)

PRECISION_TOO = 0.2  # of what is learnt beside the best few, as in the scheduler's own target for rankings
RESOLVED = 0.8  # share of pairs that a forecast without a target SE looks for


def design_of(options: PlanOptions, entrants: Sequence[int]) -> Design:
    """The scheduler's design; `entrants` are the ids of the active ones, in the order of the state's chatbots."""
    return Design(
        target=_target(options, entrants),
        floor=options.floor,
        cap=options.pair_share,
        exposure=options.exposure,
        balance=None if options.balance is None else Balance(tuple(sorted(options.balance.items())) or None),
        retirement=Retirement(options.retire_after, options.retire_below) if options.retire_after else None,
    )


def _target(options: PlanOptions, entrants: Sequence[int]) -> Target:
    """What is to be learnt. Where withdrawals have left nothing of it, a campaign goes on to rank who is there."""
    if options.target == PlanSpec.Target.PRECISION:
        return Precision()
    if options.newcomer is not None and options.newcomer in entrants:
        return NewEntrant(entrants.index(options.newcomer))
    if options.top is not None and options.top < len(entrants):
        return Both(TopK(options.top), Precision(), 1.0 - PRECISION_TOO)
    return DEFAULT_DESIGN.target


def overlap_of(options: PlanOptions, seed: int) -> Overlap:
    """Which items get several votes: the same ones as long as the campaign's seed is the same."""
    return Overlap(options.overlap_share, options.overlap_votes, seed)


def rules_of(campaign: Campaign) -> list[StoppingRule]:
    """What stops the campaign."""
    spec = campaign.stopping
    rules: list[StoppingRule] = []
    if spec.target_se is not None:
        rules.append(TargetSE(spec.target_se))
    if spec.budget is not None:
        rules.append(Budget(spec.budget))
    return [*rules, NothingLeft()]


def terms_of(campaign: Campaign, design: Design, *, per_day: float | None = None) -> Terms:
    """What a forecast of the campaign goes by: its own design, goal, budget and pay."""
    target_se = campaign.stopping.target_se
    return Terms(
        goal=Separated(RESOLVED) if target_se is None else AllAbilities(target_se),
        budget=campaign.stopping.budget,
        policy=campaign.policy,
        design=design,
        batch=campaign.batch_size,
        price=float(campaign.pay_rate) or None,
        per_day=per_day,
    )
