"""The judging page's stages: what an annotator sees next, and why."""

import math
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.campaigns.models import Aspect, Campaign
from evalsite.campaigns.selectors import aspect_primary
from evalsite.judgments.rounds import Block, Item, block_newest, pace_s
from evalsite.judgments.models import Annotator
from evalsite.judgments.selectors import judgments_given

UNDO_S = 10  # how long the last answer can be taken back by one press


@dataclass(frozen=True, slots=True)
class Choice:
    value: str
    label: str
    letter: str
    arrow: str
    shortcuts: str


@dataclass(frozen=True, slots=True)
class Happened:
    """What was done just before this stage: an answer that may be undone, a claim, something to be told."""

    answered: str = ""
    claimed: bool = False
    notice: str = ""


NOTHING = Happened()


def stage_context(
    campaign: Campaign, key: str, annotator: Annotator | None, *, revisit: str = "", happened: Happened = NOTHING
) -> dict[str, Any]:
    """Everything that judge.html and its stage show. `revisit`: the answered assignment that is looked at again."""
    aspect = aspect_primary(campaign)
    block = block_newest(campaign=campaign, annotator=annotator) if annotator else Block(())
    current = _current(block, revisit)
    url = reverse("judge", args=[key])
    return {
        "key": key,
        "campaign": {
            "name": campaign.name,
            "question": aspect.question,
            "url": url,
            "board_url": reverse("board", args=[key]),
        },
        "stage": _stage(campaign, annotator, block, current, happened),
        "item": _item(campaign, annotator, aspect, block, current) if annotator and current else None,
        "round": _round(block, aspect, url),
        "saved": _saved(block, aspect, url, happened.answered),
        "back_url": _back_url(block, current, url),
        "notice": happened.notice,
    }


def _current(block: Block, revisit: str) -> Item | None:
    """What is judged now: an answered one that may still be changed, if asked for; else the first open one."""
    again = block.find(revisit) if revisit else None
    if again is not None and again.changeable:
        return again
    return next(iter(block.open), None)


def _stage(
    campaign: Campaign, annotator: Annotator | None, block: Block, current: Item | None, happened: Happened
) -> dict[str, str]:
    if annotator is None:
        return _welcome(campaign)
    if current is not None:
        return _words("item")
    if campaign.state == Campaign.State.STOPPED:
        reason = campaign.stop_reason or _("its owner ended it")
        return _words("stopped", _("Thank you. It stopped because %(reason)s.") % {"reason": reason})
    if campaign.state == Campaign.State.PAUSED:
        return _words("paused")
    if campaign.quota is not None and judgments_given(campaign=campaign, annotator=annotator) >= campaign.quota:
        return _words("quota")
    if block.items and not happened.claimed:
        return _words("expired") if block.unanswered else _words("round")
    return _words("waiting")


def _welcome(campaign: Campaign) -> dict[str, str]:
    if campaign.collecting:
        return _words("welcome")
    return _words("closed", _("It is not collecting judgments now. The leaderboard shows what it has found."))


def _words(state: str, message: str = "") -> dict[str, str]:
    """The state, and what is to be said beyond the template's own words for it."""
    return {"state": state, "message": message, "hint": ""}


def _item(campaign: Campaign, annotator: Annotator, aspect: Aspect, block: Block, current: Item) -> dict[str, Any]:
    row, size = current.assignment, len(block.items)
    closed = size - len(block.open)
    return {
        "assignment": str(row.public_id),
        "supersedes": str(current.given.public_id) if current.given else "",
        "given": current.choices.get(aspect.key, ""),
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
        "number": current.number,
        "of": size,
        "percent": round(100 * closed / size),
        "minutes": _minutes_left(campaign, annotator, len(block.open)),
        "lease_s": _seconds_left(current),
        "done_total": judgments_given(campaign=campaign, annotator=annotator),
    }


def _minutes_left(campaign: Campaign, annotator: Annotator, items: int) -> int | None:
    pace = pace_s(campaign=campaign, annotator=annotator)
    return None if pace is None else max(1, math.ceil(items * pace / 60))


def _seconds_left(current: Item) -> int:
    until = current.assignment.lease_until
    return max(0, math.ceil((until - timezone.now()).total_seconds())) if until else 0


def _round(block: Block, aspect: Aspect, url: str) -> dict[str, Any]:
    """The block as its last page lists it: every answer, and the way back to those that may be changed."""
    return {
        "rows": [
            {
                "number": item.number,
                "said": _said(item, aspect),
                "url": f"{url}?item={item.assignment.public_id}" if item.changeable else "",
            }
            for item in block.items
        ],
        "answered": sum(item.given is not None for item in block.items),
        "of": len(block.items),
        "changeable": bool(block.changeable),
        "unanswered": block.unanswered,
    }


def _said(item: Item, aspect: Aspect) -> str:
    labels = {choice.value: choice.label for choice in _choices()}
    return labels.get(item.choices.get(aspect.key, ""), _("Skipped"))


def _saved(block: Block, aspect: Aspect, url: str, answered: str) -> dict[str, Any] | None:
    """The answer that was just given, for as long as one press takes it back."""
    item = block.find(answered) if answered else None
    if item is None or not item.changeable:
        return None
    return {"said": _said(item, aspect), "url": f"{url}?item={answered}", "for_s": UNDO_S}


def _back_url(block: Block, current: Item | None, url: str) -> str:
    before = block.before(current.number if current else len(block.items) + 1)
    return f"{url}?item={before.assignment.public_id}" if before else ""


def _choices() -> list[Choice]:
    return [
        Choice("A", _("A is better"), "A", "←", "A ArrowLeft"),
        Choice("tie", _("Tie"), "T", "↓", "T ArrowDown"),
        Choice("B", _("B is better"), "B", "→", "B ArrowRight"),
        Choice("both_bad", _("Both are bad"), "N", "↑", "N ArrowUp"),
    ]
