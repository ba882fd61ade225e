"""Stopping limits of a campaign, as plain values that are checked on creation.

The worker turns them into the scheduler's rules (`refits.designs.rules_of`). The rules are checked in this order: the
target, the budget, the deadline, and whether any items are left.
"""

from dataclasses import dataclass, fields, replace
from datetime import datetime

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from evalsite.campaigns.models import Campaign, StoppingSpec
from evalsite.core.errors import InvalidInput

ALPHA, POWER = 0.05, 0.8  # common values for sample sizes


# In logits. No prompt set reaches a smaller standard error. A larger one is met before the first judgment.
LEAST_AIM, MOST_AIM = 0.001, 1000.0
AIMS = ("target_se", "min_difference")


def is_aim(value: float) -> bool:
    """Return whether a standard error or difference of this size is a valid target. NaN is not. Every entry point calls
    this."""
    return LEAST_AIM <= value <= MOST_AIM


@dataclass(frozen=True, slots=True)
class Limits:
    """The options of `campaigns.models.StoppingSpec`, in its units. Raises InvalidInput with the invalid field.

    There is at most one target: a standard error, or a difference to detect with `power` at level `alpha`.
    """

    target_se: float | None = None
    min_difference: float | None = None
    alpha: float = ALPHA
    power: float = POWER
    budget: int | None = None
    deadline: datetime | None = None

    def __post_init__(self) -> None:
        for name in AIMS:
            value = getattr(self, name)
            if value is not None and not is_aim(value):
                raise InvalidInput(
                    _("%(name)s %(value)s is nothing to aim at.") % {"name": name, "value": f"{value:g}"},
                    hint=_("Give a number from %(least)s to %(most)s.")
                    % {"least": f"{LEAST_AIM:g}", "most": f"{MOST_AIM:g}"},
                    field=name,
                )
        if self.target_se is not None and self.min_difference is not None:
            raise InvalidInput(
                _("A campaign has one aim: a standard error, or a difference to be found."),
                hint=_("Leave one of the two empty."),
                field="min_difference",
                code="two_aims",
            )
        if not 0.0 < self.alpha < self.power < 1.0:  # false for NaN
            raise InvalidInput(
                _("A test with alpha %(alpha)s and power %(power)s there is not.")
                % {"alpha": f"{self.alpha:g}", "power": f"{self.power:g}"},
                hint=_("Give for example 0.05 and 0.8."),
                field="power" if 0.0 < self.alpha < 1.0 else "alpha",
            )
        if self.budget is not None and self.budget < 1:
            raise InvalidInput(
                _("A budget of %(budget)s asks nothing.") % {"budget": self.budget},
                hint=_("Give at least 1."),
                field="budget",
            )
        if self.deadline is not None and self.deadline.utcoffset() is None:
            raise InvalidInput(
                _("The deadline has no time zone."), hint=_("Add one: …Z, or …+02:00."), field="deadline"
            )

    @property
    def aims(self) -> bool:
        """Return whether there is a target besides the limits."""
        return self.target_se is not None or self.min_difference is not None

    @property
    def ends(self) -> bool:
        """Return whether anything except a lack of items stops the campaign."""
        return self.aims or self.budget is not None or self.deadline is not None


LIMITS = tuple(limit.name for limit in fields(Limits))


def limits_of(spec: StoppingSpec) -> Limits:
    """Return the row as checked values.

    A stored target from before the bounds existed is read as the nearest valid one: no campaign can distinguish the
    two.
    """
    values = {name: getattr(spec, name) for name in LIMITS}
    for name in AIMS:
        if values[name] is not None:
            values[name] = min(max(values[name], LEAST_AIM), MOST_AIM)
    return Limits(**values)


def limits_check(spec: StoppingSpec) -> None:
    """Raise InvalidInput if a row has inconsistent limits. Called before it is saved."""
    Limits(**{name: getattr(spec, name) for name in LIMITS})


def deadline_check(campaign: Campaign, now: datetime) -> None:
    """Raise InvalidInput if the campaign's deadline has passed before it starts or continues."""
    deadline = campaign.stopping.deadline
    if deadline is not None and deadline <= now:
        raise InvalidInput(
            _("The deadline %(deadline)s UTC has passed.") % {"deadline": date_format(deadline, "DATETIME_FORMAT")},
            hint=_("Set a later one, or none."),
            field="deadline",
        )


def judgments_allowed(campaign: Campaign, now: datetime) -> int | None:
    """Return the maximum number of judgments, including those recorded; None for no limit.

    After the deadline, no new ones are allowed.
    """
    limits = limits_of(campaign.stopping)
    if limits.deadline is not None and limits.deadline <= now:
        return 0
    budget = budget_of(campaign)
    if campaign.state != Campaign.State.PILOT:
        return budget
    most = campaign.pilot.judgments
    return most if budget is None else min(budget, most)


def limits_now(campaign: Campaign) -> Limits:
    """Return the limits in force: those of the row, with the budget since the campaign opened."""
    return replace(limits_of(campaign.stopping), budget=budget_of(campaign))


def budget_of(campaign: Campaign) -> int | None:
    """Return the judgments that may be spent since the campaign opened; None without a budget.

    In a standing campaign with a budget per newcomer, each chatbot that joins adds one. Once it has opened again, these
    are the whole budget.
    """
    budget: int | None = campaign.stopping.budget
    each = campaign.newcomer_budget
    if not campaign.standing or each is None or campaign.opened_at is None:
        return budget
    joined = campaign.entrants.filter(joined_at__gte=campaign.opened_at).count()
    if campaign.started_at is not None and campaign.opened_at > campaign.started_at:
        return each * max(1, joined)
    return None if budget is None else budget + each * joined
