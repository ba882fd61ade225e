"""The pilot on the overview: progress and results."""

from typing import Any

from django.utils.translation import gettext as _

from evalsite.campaigns.limits import limits_of
from evalsite.campaigns.models import Campaign, Pilot
from evalsite.console.formatting import duration, ranged
from evalsite.core.reasons import reason_text
from evalsite.judgments.selectors import judgments_spent
from evalsite.presentation.formatting import fixed, whole


def pilot_context(campaign: Campaign) -> dict[str, Any] | None:
    """Return the pilot's context; None without a pilot, or if it was long ago."""
    pilot = Pilot.objects.filter(campaign=campaign, went_on_at=None).first()
    if pilot is None or campaign.state == Campaign.State.STOPPED:
        return None
    return {
        "over": pilot.ended_at is not None,
        "judgments": pilot.judgments,
        "done": min(judgments_spent(campaign), pilot.judgments),
        "facts": _facts(campaign, pilot.summary) if pilot.summary else [],
    }


def _facts(campaign: Campaign, summary: dict[str, Any]) -> list[tuple[str, str]]:
    facts = [
        (
            _("Judged"),
            _("%(n)s, by %(people)s") % {"n": whole(summary["judgments"]), "people": whole(summary["annotators"])},
        ),
        (_("A judgment takes"), "–" if summary["seconds"] is None else _("%(n)s s") % {"n": round(summary["seconds"])}),
        (_("Ties"), f"{fixed(100 * summary['tie_share'], 0)} %"),
        (_("Agreement (alpha)"), _agreement(summary)),
    ]
    forecast, hours = summary["forecast"], summary["hours"]
    if forecast is None:
        return [*facts, (_("Still to come"), reason_text(summary["trouble"], summary.get("trouble_data")))]
    facts.append((_("Judgments to come"), ranged(forecast["judgments"], lambda value: fixed(value, 0))))
    if hours is not None:
        parts = dict(zip(("low", "middle", "high"), hours, strict=True))
        facts.append((_("Hours of judging to come"), ranged(parts, lambda value: fixed(value, 1))))
    if forecast["cost"] is not None:
        money = ranged(forecast["cost"], fixed)
        facts.append((_("Still to be spent"), f"{money} {campaign.currency}"))
    if forecast["days"] is not None:
        facts.append((_("Time to come"), ranged(forecast["days"], duration)))
    limits = limits_of(campaign.stopping)
    has_aim = limits.target_se is not None or limits.min_difference is not None
    goal = _("Reaches the target") if has_aim else _("Distinguishes 80 % of the pairs")
    return [*facts, (goal, f"{fixed(100 * forecast['reached'], 0)} %")]


def _agreement(summary: dict[str, Any]) -> str:
    if summary["agreement"] is None:
        return _("nobody judged the same comparison twice")
    return _("%(alpha)s on %(n)s comparisons") % {"alpha": fixed(summary["agreement"]), "n": whole(summary["shared"])}
