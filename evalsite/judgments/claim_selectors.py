"""Read queries of claims: the campaign, the open block, and the content to show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.selectors import as_uuid
from evalsite.judgments.models import Assignment, Candidate


def campaign_joined(annotator: int, key: str) -> Campaign | None:
    """Return the campaign at this address (its slug or its public id) if the annotator has joined it."""
    public_id = as_uuid(key)
    joined = Campaign.objects.filter(enrolments__annotator=annotator)
    return (joined.filter(slug=key) if public_id is None else joined.filter(public_id=public_id)).first()


def assignments_open(campaign: int, annotator: int) -> list[Assignment]:
    """Return the annotator's issued, unanswered assignments in the order of the block."""
    issued = Assignment.objects.filter(annotator=annotator, state=Assignment.State.ISSUED, campaign=campaign)
    return list(issued.order_by("block_position", "pk"))


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
    candidates = Candidate.objects.filter(assignment__in=[one.pk for one in assignments])
    prompt = "assignment__place__prompt"
    found = candidates.order_by("assignment", "position").values(
        *("assignment", "gold_side", "reply", "reply__text", "assignment__gold__text_a", "assignment__gold__text_b"),
        *(f"{prompt}__key", f"{prompt}__category", f"{prompt}__turns"),
    )
    shown = {}
    for key, group in groupby(found, key=itemgetter("assignment")):
        rows = list(group)
        first, texts = rows[0], tuple(_text(row) for row in rows)
        shown[key] = AssignmentContent(
            first[f"{prompt}__key"],
            first[f"{prompt}__category"],
            first[f"{prompt}__turns"],
            texts,
            tuple(row["reply"] for row in rows),
        )
    return shown


def _text(row: Mapping[str, Any]) -> str | None:
    if row["reply"] is not None:
        text: str | None = row["reply__text"]
    else:
        text = row[f"assignment__gold__text_{'a' if row['gold_side'] == 'A' else 'b'}"]
    return text
