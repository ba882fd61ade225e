"""Answers to gold items, and whether they pass."""

from dataclasses import dataclass

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.selectors import aspect_primary, gold_in_use
from evalsite.judgments.models import Answer, Assignment, Batch, Judgment, Skip
from evalsite.judgments.selectors import NOT_TAKEN_BACK


@dataclass(frozen=True, slots=True)
class GoldAnswer:
    """An answer to a gold item (both by key) in a closed batch."""

    annotator: int
    item: int
    passed: bool


def gold_answers(campaign: Campaign) -> list[GoldAnswer]:
    """Return the answers in force to the items in use, including late ones and those of excluded annotators; two
    queries."""
    right = {item.pk: set(item.right) for item in gold_in_use(campaign)}
    in_force = Judgment.objects.filter(
        NOT_TAKEN_BACK,
        batch__campaign=campaign,
        batch__state=Batch.State.CLOSED,
        assignment__purpose=Assignment.Purpose.GOLD,
        annotator__isnull=False,
    )
    answers = Answer.objects.filter(judgment__in=in_force, aspect=aspect_primary(campaign))
    rows = answers.order_by("pk").values_list(
        "judgment__annotator_id", "judgment__assignment__gold_id", "candidate__gold_side", "value"
    )
    return [
        GoldAnswer(annotator, item, (side or value) in right[item])
        for annotator, item, side, value in rows
        if item in right
    ]


def gold_given_back(campaign: Campaign) -> dict[int, int]:
    """Return how often each item was skipped with a reason, which suggests a problem with it."""
    # Filter by the campaign's gold items: a filter by campaign would read all of its assignments.
    skips = Skip.objects.filter(assignment__gold__campaign=campaign, assignment__state=Assignment.State.RETURNED)
    found: dict[int, int] = {}
    for item in skips.values_list("assignment__gold_id", flat=True):
        found[item or 0] = found.get(item or 0, 0) + 1
    return found
