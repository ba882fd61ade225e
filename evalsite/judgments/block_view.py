"""An annotator's block for its page: open items, answers, and answers that may still be changed."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

from django.db.models import Prefetch, QuerySet, prefetch_related_objects
from django.utils import timezone

from evalsite.campaigns.models import Campaign
from evalsite.core.composed import composed
from evalsite.judgments.models import Annotator, Answer, Assignment, Judgment

PACE_OF_LAST = 20
PACE_FROM = 3
LONGEST_PACE_S = 600.0  # a break is not pace


@dataclass(frozen=True, slots=True)
class Item:
    """One assignment of a block. `given` is the judgment in force; `choices` maps aspect keys to its values."""

    assignment: Assignment
    number: int
    given: Judgment | None
    choices: Mapping[str, tuple[str, ...]]
    changeable: bool

    @property
    def open(self) -> bool:
        return self.assignment.state == Assignment.State.ISSUED

    @property
    def expired(self) -> bool:
        """Return whether the assignment was taken back because its lease ended before an answer."""
        return self.assignment.state == Assignment.State.EXPIRED and self.given is None


@dataclass(frozen=True, slots=True)
class NewestBlock:
    """An annotator's newest block in a campaign, in its order; empty before the first one."""

    items: tuple[Item, ...]

    @property
    def open(self) -> list[Item]:
        return [item for item in self.items if item.open]

    @property
    def changeable(self) -> list[Item]:
        return [item for item in self.items if item.changeable]

    @property
    def unanswered(self) -> int:
        return sum(item.expired for item in self.items)

    def find(self, public_id: str) -> Item | None:
        return next((item for item in self.items if str(item.assignment.public_id) == public_id), None)

    def before(self, number: int) -> Item | None:
        """Return the nearest earlier item whose answer may be changed."""
        return next((item for item in reversed(self.changeable) if item.number < number), None)


def block_newest(*, campaign: Campaign, annotator: Annotator) -> NewestBlock:
    """Return the annotator's newest block. Answers may be changed until the lease ends or the next block is claimed."""
    rows = [
        row
        for block in _newest_blocks(campaign.pk, annotator.pk)
        for row in _assignments_of(campaign.pk, annotator.pk, block)
    ]
    answers = Prefetch("judgments__answers", Answer.objects.select_related("aspect", "candidate"))
    prefetch_related_objects(rows, Prefetch("judgments", Judgment.objects.select_related("superseded_by")), answers)
    now = timezone.now()
    return NewestBlock(tuple(_item(row, number, now) for number, row in enumerate(rows, start=1)))


@composed
def _newest_blocks(campaign: int, annotator: int) -> QuerySet[Assignment, Any]:
    own = Assignment.objects.filter(campaign=campaign, annotator=annotator, block__isnull=False)
    return own.order_by("-issued_at", "-pk").values_list("block", flat=True)[:1]


@composed
def _assignments_of(campaign: int, annotator: int, block: uuid.UUID) -> QuerySet[Assignment, Assignment]:
    own = Assignment.objects.filter(campaign=campaign, annotator=annotator, block=block)
    return own.select_related("place__prompt", "gold").order_by("block_position", "pk")


def _item(assignment: Assignment, number: int, now: datetime) -> Item:
    given = next((one for one in assignment.judgments.all() if not hasattr(one, "superseded_by")), None)
    held = assignment.lease_until is not None and now <= assignment.lease_until
    return Item(assignment, number, given, choices_of(given), changeable=given is not None and held)


def choices_of(judgment: Judgment | None) -> dict[str, tuple[str, ...]]:
    """Return the choices of a judgment, from aspect key to "A", "B", "tie", "both_bad", a rating, or labels."""
    found: dict[str, tuple[str, ...]] = {}
    for answer in [] if judgment is None else judgment.answers.all():
        value = answer.candidate.label if answer.candidate else answer.value
        found[answer.aspect.key] = (*found.get(answer.aspect.key, ()), value)
    return found


def pace_s(*, campaign: Campaign, annotator: Annotator) -> float | None:
    """Return the median seconds of this annotator's latest judgments here; None if there are too few."""
    times = _latest_times(campaign.pk, annotator.pk)
    if len(times) < PACE_FROM:
        return None
    return float(min(LONGEST_PACE_S, median(times) / 1000))


@composed
def _latest_times(campaign: int, annotator: int) -> QuerySet[Judgment, Any]:
    own = Judgment.objects.filter(batch__campaign=campaign, annotator=annotator, client_ms__isnull=False)
    return own.order_by("-pk").values_list("client_ms", flat=True)[:PACE_OF_LAST]
