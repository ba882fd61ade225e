"""Onboarding of annotators in a campaign file: export and import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign, Onboarding
from evalsite.campaigns.onboarding import NewQualificationItem, onboarding_set, qualification_of, qualification_set
from evalsite.campaigns.selectors import onboarding_of
from evalsite.exchange.campaign_file.models import OnboardingPart


def onboarding_written(campaign: Campaign) -> dict[str, Any]:
    """Return the parts of the file; none for a campaign without settings for onboarding."""
    onboarding, items = onboarding_of(campaign), qualification_of(campaign)
    if not items and not Onboarding.objects.filter(campaign=campaign).exists():
        return {}
    written = {name: getattr(onboarding, name) for name in OnboardingPart.model_fields}
    return {"reception": written, "qualification": [_item(item) for item in items]}


def _item(item: NewQualificationItem) -> dict[str, Any]:
    single = len(item.turns) == 1
    asked = {"text": item.turns[0]["text"]} if single else {"turns": [dict(turn) for turn in item.turns]}
    answers = {"reply_a": item.reply_a, "reply_b": item.reply_b, "right": item.right}
    return {**asked, **answers, "explanation": item.explanation}


def onboarding_take(
    campaign: Campaign,
    onboarding: Mapping[str, Any],
    items: Sequence[NewQualificationItem],
    by: User | None,
) -> None:
    """Set the onboarding of a new campaign. Raises InvalidInput where its parts contradict each other."""
    if items:
        qualification_set(campaign=campaign, items=items, pass_mark=onboarding.get("pass_mark", len(items)), by=by)
    if onboarding:
        onboarding_set(campaign=campaign, by=by, **onboarding)
