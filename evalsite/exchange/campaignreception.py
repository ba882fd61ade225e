"""How a campaign receives its annotators, in its file: what may stand there, reading and writing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign, Reception
from evalsite.campaigns.onboarding import NewQualificationItem, qualification_of, qualification_set, reception_set
from evalsite.campaigns.selectors import reception_of

FIELDS = (
    *("platform", "code_complete", "code_screened_out", "code_failed", "instructions", "notice"),
    *("consent_required", "erasure", "pass_mark", "comments", "language", "secret_required", "study"),
)


def reception_written(campaign: Campaign) -> dict[str, Any]:
    """Of the file: nothing for a campaign that receives its annotators in the plain way."""
    reception, items = reception_of(campaign), qualification_of(campaign)
    if not items and not Reception.objects.filter(campaign=campaign).exists():
        return {}
    written = {**{name: getattr(reception, name) for name in FIELDS}, "reasons": list(reception.reasons)}
    return {"reception": written, "qualification": [_item(item) for item in items]}


def _item(item: NewQualificationItem) -> dict[str, Any]:
    single = len(item.turns) == 1
    asked = {"text": item.turns[0]["text"]} if single else {"turns": [dict(turn) for turn in item.turns]}
    answers = {"reply_a": item.reply_a, "reply_b": item.reply_b, "right": item.right}
    return {**asked, **answers, "explanation": item.explanation}


def reception_take(
    campaign: Campaign,
    reception: Mapping[str, Any],
    items: Sequence[NewQualificationItem],
    by: User | None,
) -> None:
    """As the file says. Raises InvalidInput for what contradicts itself."""
    if items:
        qualification_set(campaign=campaign, items=items, pass_mark=reception.get("pass_mark", len(items)), by=by)
    if reception:
        reception_set(campaign=campaign, by=by, **reception)
