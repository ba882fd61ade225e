"""Feasibility of the target SE: progress of the last board, and whether the prompts suffice.

Web processes load this module.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.formats import number_format
from django.utils.translation import ngettext

from evalsite.campaigns.limits import Limits
from scheduler.power import difference_se

MARGIN = 1.05  # Margin above the reachable SE, so that the target is reached before the last question is used.


@dataclass(frozen=True, slots=True)
class OutOfReach:
    """A target that the prompts cannot reach.

    se: the approximate SE with all `prompts` judged.
    enough: a target SE that can be reached, or a difference if `difference` is set.
    """

    prompts: int
    se: float
    enough: float
    difference: bool


def out_of_reach(limits: Limits, evidence: Mapping[str, float]) -> OutOfReach | None:
    """Return the feasibility result in a decision's evidence (`scheduler.Futility`).

    Returns None if the target may be reached. Also returns None if the target has changed, because the next decision
    evaluates the new one.
    """
    wanted = required_se(limits)
    if not evidence.get("out_of_reach") or "reachable_se" not in evidence or wanted is None:
        return None
    if not math.isclose(evidence.get("target", math.nan), wanted):
        return None
    prompts, se = round(evidence["prompts"]), evidence["reachable_se"]
    if limits.target_se is not None:
        return OutOfReach(prompts, se, rounded_up(MARGIN * se), difference=False)
    difference = MARGIN * se * (limits.min_difference or 0.0) / wanted  # The two are proportional.
    return OutOfReach(prompts, se, rounded_up(difference), difference=True)


def evidence_now(limits: Limits, evidence: Mapping[str, float], judgments: int) -> Mapping[str, float]:
    """Return the evidence of the last decision, adjusted to the current limits.

    The limits may have changed since the decision. Progress and remaining judgments are computed as in
    `scheduler.TargetSE`, for the new target. The reachable SE was computed for the old limits. So the remaining
    judgments are omitted where that SE may not be enough.

    judgments: number of judgments on the decision's board.
    """
    found = dict(evidence)
    if "budget" in found and limits.budget is not None:
        found["budget"] = float(limits.budget)
    wanted = required_se(limits)
    if wanted is None or "target" not in found or math.isclose(found["target"], wanted):
        return found
    for name in ("progress", "judgments_to_go", "out_of_reach", "chance"):
        found.pop(name, None)
    found["target"] = wanted
    se = found.get("se", math.inf)
    found["progress"] = min(1.0, (wanted / se) ** 2) if se > 0.0 else 1.0
    if found["progress"] > 0.0 and found.get("reachable_se", 0.0) <= wanted:
        found["judgments_to_go"] = float(math.ceil(judgments * (1.0 / found["progress"] - 1.0)))
    return found


def required_se(limits: Limits) -> float | None:
    """Return the SE that the aim requires, as `designs.aim_of` does; None without an aim."""
    if limits.target_se is not None:
        return limits.target_se
    if limits.min_difference is not None:
        return difference_se(limits.min_difference, power=limits.power, alpha=limits.alpha)
    return None


def infeasibility_text(found: OutOfReach) -> str:
    """Say in one sentence what can be reached and what to do."""
    words = (
        ngettext(
            "With this %(prompts)s prompt, judged as often as the plan allows, the standard error between neighbours "
            "cannot fall below about %(se)s: add prompts, or settle for differences of %(enough)s and more.",
            "With these %(prompts)s prompts, judged as often as the plan allows, the standard error between "
            "neighbours cannot fall below about %(se)s: add prompts, or settle for differences of %(enough)s and more.",
            found.prompts,
        )
        if found.difference
        else ngettext(
            "With this %(prompts)s prompt, judged as often as the plan allows, the standard error cannot fall below "
            "about %(se)s: add prompts, or settle for %(enough)s.",
            "With these %(prompts)s prompts, judged as often as the plan allows, the standard error cannot fall below "
            "about %(se)s: add prompts, or settle for %(enough)s.",
            found.prompts,
        )
    )
    prompts = number_format(found.prompts, force_grouping=True)
    return words % {"prompts": prompts, "se": _formatted(found.se), "enough": _formatted(found.enough)}


def rounded_up(value: float) -> float:
    """Round up to the number of decimals that is displayed."""
    unit = 10.0 ** _decimals(value)
    return math.ceil(value * unit - 1e-9) / unit


def _decimals(value: float) -> int:
    """Return two, or more where two decimals would show fewer than two digits."""
    return 2 if value >= 0.1 or value <= 0.0 else 1 - math.floor(math.log10(value))


def _formatted(value: float) -> str:
    decimals = _decimals(value)
    return str(number_format(f"{value:.{decimals}f}", decimal_pos=decimals))
