"""The judging page's stages: what an annotator sees next, and why."""

from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from evalsite.campaigns.models import Aspect, Campaign
from evalsite.campaigns.selectors import aspect_primary
from evalsite.judgments.models import Annotator, Assignment
from evalsite.judgments.selectors import assignments_open, judgments_given


@dataclass(frozen=True, slots=True)
class Choice:
    value: str
    label: str
    letter: str
    arrow: str
    shortcuts: str


def stage_context(campaign: Campaign, key: str, annotator: Annotator | None, *, notice: str = "") -> dict[str, Any]:
    """Everything that judge.html and its stage show."""
    aspect = aspect_primary(campaign)
    return {
        "key": key,
        "campaign": {
            "name": campaign.name,
            "question": aspect.question,
            "url": reverse("judge", args=[key]),
            "board_url": reverse("board", args=[key]),
        },
        "stage": _stage(campaign, annotator),
        "item": _item(campaign, annotator, aspect, notice) if annotator else None,
    }


def _stage(campaign: Campaign, annotator: Annotator | None) -> dict[str, str]:
    if annotator is None:
        return _welcome(campaign)
    if assignments_open(campaign=campaign, annotator=annotator).exists():
        return _words("item")
    if campaign.state == Campaign.State.STOPPED:
        reason = campaign.stop_reason or _("its owner ended it")
        return _words("stopped", _("Thank you. It stopped because %(reason)s.") % {"reason": reason})
    if campaign.state == Campaign.State.PAUSED:
        return _words("paused")
    if campaign.quota is not None and judgments_given(campaign=campaign, annotator=annotator) >= campaign.quota:
        return _words("quota")
    return _words("waiting")


def _welcome(campaign: Campaign) -> dict[str, str]:
    if campaign.collecting:
        return _words("welcome")
    return _words("closed", _("It is not collecting judgments now. The leaderboard shows what it has found."))


def _words(state: str, message: str = "") -> dict[str, str]:
    """The state, and what is to be said beyond the template's own words for it."""
    return {"state": state, "message": message, "hint": ""}


def _item(campaign: Campaign, annotator: Annotator, aspect: Aspect, notice: str) -> dict[str, Any] | None:
    rows = list(assignments_open(campaign=campaign, annotator=annotator))
    if not rows:
        return None
    row = rows[0]
    size = Assignment.objects.filter(annotator=annotator, block=row.block).count()
    number = size - len(rows) + 1
    return {
        "assignment": str(row.public_id),
        "turns": row.place.prompt.turns or [],
        "candidates": [
            {
                "label": candidate.label,
                "text": candidate.reply.text or "",
                "unknown": candidate.reply.text is None,
            }
            for candidate in row.candidates.all()
        ],
        "aspect": {"key": aspect.key, "question": aspect.question},
        "choices": [choice for choice in _choices() if choice.value in aspect.choices],
        "number": number,
        "of": size,
        "percent": round(100 * (number - 1) / size),
        "done_total": judgments_given(campaign=campaign, annotator=annotator),
        "notice": notice,
    }


def _choices() -> list[Choice]:
    return [
        Choice("A", _("A is better"), "A", "←", "A ArrowLeft"),
        Choice("tie", _("Tie"), "T", "↓", "T ArrowDown"),
        Choice("B", _("B is better"), "B", "→", "B ArrowRight"),
        Choice("both_bad", _("Both are bad"), "N", "↑", "N ArrowUp"),
    ]
