"""Read queries of claims: the campaign, the open block, and the content to show."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db.models import QuerySet

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.selectors import as_uuid
from evalsite.core.composed import composed
from evalsite.judgments.models import AnnotatorToken, Assignment, Candidate


@composed
def tokens_in_force(sha256: str, now: datetime) -> QuerySet[AnnotatorToken, AnnotatorToken]:
    """Return the token with this hash, with its annotator, if it is in force."""
    return AnnotatorToken.objects.filter(sha256=sha256, expires_at__gt=now).select_related("annotator")


def campaign_joined(annotator: int, key: str) -> Campaign | None:
    """Return the campaign at this address (its slug or its public id) if the annotator has joined it."""
    public_id = as_uuid(key)
    found = _joined_by_slug(annotator, key) if public_id is None else _joined_by_id(annotator, public_id)
    return found[0] if found else None


@composed
def _joined_by_slug(annotator: int, slug: str) -> QuerySet[Campaign, Campaign]:
    return Campaign.objects.filter(enrolments__annotator=annotator, slug=slug)


@composed
def _joined_by_id(annotator: int, public_id: uuid.UUID) -> QuerySet[Campaign, Campaign]:
    return Campaign.objects.filter(enrolments__annotator=annotator, public_id=public_id)


@composed
def assignments_open(campaign: int, annotator: int) -> QuerySet[Assignment, Assignment]:
    """Return the annotator's issued, unanswered assignments in the order of the block."""
    issued = Assignment.objects.filter(annotator=annotator, state=Assignment.State.ISSUED, campaign=campaign)
    return issued.order_by("block_position", "pk")


@dataclass(frozen=True, slots=True)
class AssignmentContent:
    """The content of an assignment: the prompt, and the candidates' texts in their order.

    replies: keys of the candidates' replies; None for a text of gold.
    transcripts: the turns of each candidate where whole conversations are judged; else empty.
    """

    prompt: str
    category: str
    turns: Any
    texts: tuple[str | None, ...]
    replies: tuple[int | None, ...] = ()
    transcripts: tuple[Sequence[Mapping[str, str]], ...] = ()


def contents_of(assignments: Sequence[Assignment]) -> dict[int, AssignmentContent]:
    """Return the content of each assignment by key."""
    if not assignments:
        return {}
    shown = {}
    for key, group in groupby(_candidates_of([one.pk for one in assignments]), key=itemgetter(0)):
        rows = list(group)
        (_, prompt, category, turns, *_), texts = rows[0], tuple(_text(*row[4:]) for row in rows)
        shown[key] = AssignmentContent(prompt, category, turns, texts, tuple(row[4] for row in rows))
    return shown


@composed
def _candidates_of(assignments: list[int]) -> QuerySet[Candidate, tuple[Any, ...]]:
    candidates = Candidate.objects.filter(assignment__in=assignments).order_by("assignment", "position")
    prompt, gold = "assignment__place__prompt", "assignment__gold"
    return candidates.values_list(
        *("assignment", f"{prompt}__key", f"{prompt}__category", f"{prompt}__turns", "reply"),
        *("reply__text", "gold_side", f"{gold}__text_a", f"{gold}__text_b"),
    )


def _text(reply: int | None, text: str | None, side: str, text_a: str | None, text_b: str | None) -> str | None:
    """Return the text of a candidate: of its reply, or of its side of a gold item."""
    if reply is not None:
        return text
    return text_a if side == "A" else text_b
