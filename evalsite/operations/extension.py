"""Extension of a campaign: a smaller target SE or difference, more power, more judgments, more time.

The state of the campaign comes from its last decision, because web processes load no statistics.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from evalsite.accounts.models import User
from evalsite.boards.feasibility import evidence_now, required_se
from evalsite.boards.models import Decision
from evalsite.campaigns.limits import Limits, limits_of
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.selectors import stopped_by_hand
from evalsite.campaigns.services import campaign_extend
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.core.number_format import whole
from evalsite.judgments.selectors import judgments_spent


@dataclass(frozen=True, slots=True)
class NewLimits:
    """The requested limits. None keeps the current value."""

    target_se: float | None = None
    min_difference: float | None = None
    power: float | None = None
    alpha: float | None = None
    budget: int | None = None
    deadline: datetime | None = None

    @property
    def changes(self) -> Mapping[str, Any]:
        return {one.name: value for one in fields(self) if (value := getattr(self, one.name)) is not None}


def target_extend(*, campaign: Campaign, wish: NewLimits, by: User | None = None) -> None:
    """Continue with wider limits. A campaign that a rule stopped collects again.

    Raises Conflict for a draft and for a campaign that a person stopped. Raises InvalidInput, with the field, if a
    limit is not wider, is already reached, or leaves no work.
    """
    with write_transaction():
        locked = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        _check_state(locked)
        before = limits_of(locked.stopping)
        _check_wider(before, wish)
        after = replace(before, **wish.changes)
        _check_use(locked, after)
        campaign_extend(campaign=locked, limits=after, by=by)


def _check_state(campaign: Campaign) -> None:
    if campaign.state == Campaign.State.DRAFT:
        raise Conflict(_("A draft has no target yet that could be extended."), hint=_("Change it in the set-up."))
    if stopped_by_hand(campaign):
        raise Conflict(_("A person stopped this campaign, for good."), hint=_("Set up another one from its file."))


def _check_wider(before: Limits, wish: NewLimits) -> None:
    if not wish.changes:
        raise InvalidInput(
            _("Nothing is extended."), hint=_("Give a smaller target, more judgments or a later deadline.")
        )
    for name, value in wish.changes.items():
        now = None if name in OF_DIFFERENCE and before.min_difference is None else getattr(before, name)
        if now is None:
            raise InvalidInput(
                _("The campaign has no %(words)s, and would end sooner with one.") % {"words": _(WORDS[name])},
                hint=_("Extend a limit that it has."),
                field=name,
            )
        wider = value < now if name in SMALLER else value > now
        if not wider:
            raise InvalidInput(
                _("The %(words)s is %(now)s now, and %(value)s is no extension.")
                % {"words": _(WORDS[name]), "now": now, "value": value},
                hint=_("Give one that is %(how)s.")
                % {"how": _("smaller") if name in SMALLER else _("later") if name == "deadline" else _("larger")},
                field=name,
            )


SMALLER = {"target_se", "min_difference", "alpha"}
OF_DIFFERENCE = {"power", "alpha"}  # The difference to detect.
WORDS = {
    "target_se": gettext_noop("target SE"),
    "min_difference": gettext_noop("difference to be found"),
    "power": gettext_noop("power"),
    "alpha": gettext_noop("level alpha"),
    "budget": gettext_noop("budget"),
    "deadline": gettext_noop("deadline"),
}


def _check_use(campaign: Campaign, after: Limits) -> None:
    """Check that the campaign would continue: no stopping rule may hold under the new limits."""
    known = evidence_of(campaign)
    target = required_se(after)
    if target is not None and known.get("se", float("inf")) <= target:
        raise InvalidInput(
            _("The board is there already: its SE is %(known)s, and %(target)s would be enough.")
            % {"known": f"{known['se']:.3g}", "target": f"{target:.3g}"},
            hint=_("Ask for a smaller one."),
            field="target_se" if after.target_se is not None else "min_difference",
        )
    spent = judgments_spent(campaign)
    if after.budget is not None and after.budget <= spent:
        raise InvalidInput(
            _("%(spent)s judgments are in, and the budget is %(budget)s.")
            % {"spent": whole(spent), "budget": whole(after.budget)},
            hint=_("Give more."),
            field="budget",
        )
    if after.deadline is not None and after.deadline <= timezone.now():
        raise InvalidInput(_("The deadline has passed."), hint=_("Give a later one, too."), field="deadline")
    if campaign.state == Campaign.State.STOPPED and not known.get("open_items", 1.0) + known.get("pending", 1.0):
        raise InvalidInput(
            _("Nothing is left to ask."), hint=_("Add prompts or a chatbot: a wider limit asks nothing new.")
        )


def evidence_of(campaign: Campaign) -> Mapping[str, float]:
    """Return the evidence of the last decision, adjusted to the current limits; empty before the first."""
    last = Decision.objects.filter(snapshot__board__default_of=campaign).select_related("snapshot")
    found = last.defer("snapshot__posterior").order_by("-pk").first()
    if found is None:
        return {}
    return evidence_now(limits_of(campaign.stopping), found.evidence, found.snapshot.judgments)
