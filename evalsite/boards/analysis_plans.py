"""Analysis plans of live campaigns: sample size and tests, frozen and hashed at the launch.

Web processes load this module.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.boards.models import AnalysisPlan
from evalsite.campaigns.models import Campaign, LiveSettings
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput

LARGEST = 1_000_000  # Turns.
_SHARES = ("difference", "alpha", "power", "baseline", "discordance")
_TESTS = {
    "pm-soba": ("exact binomial",),
    "pm-sata": ("McNemar",),
    "mm-soba": ("Pearson's chi-square", "exact binomial"),
    "mm-sata": ("Cochran's Q", "McNemar"),
}
_USES = {"sm": ("baseline",), "pm-sata": ("discordance",)}


def size_setting(live: LiveSettings) -> str:
    """Return the name of the setting in `manage.py sample_size`."""
    k = live.chatbots_per_conversation
    return "sm" if k == 1 else f"{'pm' if k == 2 else 'mm'}-{live.selection}"


def plan_of(campaign: Campaign) -> AnalysisPlan:
    """Return the plan of a live campaign; an unsaved one with the defaults if there is none."""
    return AnalysisPlan.objects.filter(campaign=campaign).first() or AnalysisPlan(campaign=campaign)


def plan_values(plan: AnalysisPlan) -> dict[str, Any]:
    """Return the values that an owner chooses (`plan_set`)."""
    return {name: getattr(plan, name) for name in (*_SHARES, "turns", "stops")}


def plan_content(plan: AnalysisPlan) -> dict[str, Any]:
    """Return what the launch freezes."""
    setting = size_setting(plan.campaign.live)
    tests = _TESTS.get(setting, (f"exact binomial against {plan.baseline:g}",))
    used = {name: getattr(plan, name) for name in _USES.get(setting, ())}
    return {
        "setting": setting,
        "tests": list(tests),
        "adjustment": "Holm",
        "interval": "Wilson",
        "difference": plan.difference,
        "alpha": plan.alpha,
        "power": plan.power,
        **used,
        "turns": plan.turns,
        "stops": plan.stops,
        "first_turn_counts": plan.campaign.live.count_first_turn,
    }


def plan_hash(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the content as JSON with sorted keys and no spaces."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def plan_set(*, campaign: Campaign, values: Mapping[str, Any], by: User | None = None) -> AnalysisPlan:
    """Change the plan of a draft. Missing values stay.

    Raises Conflict after the launch, and InvalidInput for values outside their range (`field` names the value).
    """
    with write_transaction():
        locked = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        plan = plan_of(locked)
        if plan.frozen_at or locked.state != Campaign.State.DRAFT:
            raise Conflict(
                _("The analysis plan was frozen at the launch."),
                hint=_("Other tests appear in the report as exploratory."),
            )
        for name, value in values.items():
            setattr(plan, name, value)
        _check(plan)
        plan.save()
        audit_record(act="analysis_plan", subject=locked.public_id, by=by, after=plan_content(plan))
    return plan


def plan_freeze(campaign: Campaign) -> None:
    """Freeze the plan of a live campaign at its launch. Runs in the caller's transaction; a resume changes nothing."""
    if not campaign.is_live:
        return
    plan = plan_of(campaign)
    if plan.frozen_at:
        return
    plan.content = plan_content(plan)
    plan.sha256, plan.frozen_at = plan_hash(plan.content), timezone.now()
    plan.save()


def planned_tests(plan: AnalysisPlan | None) -> frozenset[str]:
    """Return the names of the planned tests; empty without a frozen plan."""
    return frozenset(plan.content["tests"]) if plan is not None and plan.content else frozenset()


def sample_size_of(campaign: Campaign) -> int | None:
    """Return the number of judged turns at which the campaign ends; None without such a rule."""
    plan = AnalysisPlan.objects.filter(campaign=campaign, stops=True).first()
    return plan.turns if plan else None


def _check(plan: AnalysisPlan) -> None:
    for name in _SHARES:
        value = getattr(plan, name)
        if not isinstance(value, (int, float)) or not 0 < value < 1:
            raise InvalidInput(
                _("%(name)s is not between 0 and 1.") % {"name": name}, hint=_("Enter 0.05 for 5 %."), field=name
            )
    if plan.turns is not None and not 1 <= plan.turns <= LARGEST:
        raise InvalidInput(
            _("The sample size is not a number of turns."),
            hint=_("Enter a number from 1 to %(largest)s.") % {"largest": LARGEST},
            field="turns",
        )
    if plan.stops and plan.turns is None:
        raise InvalidInput(
            _("The campaign cannot end at a sample size that is not known."),
            hint=_("Enter the sample size, or clear the stopping rule."),
            field="turns",
        )
